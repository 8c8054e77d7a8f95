"""Ranks of jax that report and never wait for each other: rank 2 is slow, and process 0, which has the store, stops.

It is stopped for four seconds when the gate opens. Rank 1 writes how long its longest call of ``report`` was, and how
many there were while process 0 was stopped.
"""

import os
import subprocess
import time
from itertools import count

from muster.jax import initialize, report
from tests.hangs.programs import DONE, course

initialize()
longest, opened_at, called = 0.0, 0.0, 0
for step in count():
    began = time.monotonic()
    report(step, loss=1.0)
    longest = max(longest, time.monotonic() - began)
    course.step_ends(step)
    if course.RANK == 0 and course.opens():
        course.begins()
        subprocess.Popen(["sh", "-c", f"kill -STOP {os.getpid()}; sleep 4; kill -CONT {os.getpid()}"])
    if course.RANK == 1 and not opened_at and course.opens():
        opened_at = began
    called += bool(opened_at) and opened_at + 1 < began < opened_at + 3.5
    if course.RANK == 1 and opened_at and opened_at + 30 < began < opened_at + 31:
        (course.FOLDER / "calls").write_text(f"{called} {longest}")
        (course.FOLDER / DONE).touch()
    time.sleep(2.0 if course.RANK == 2 else 0.1)
