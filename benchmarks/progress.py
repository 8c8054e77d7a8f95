"""What reports of progress cost: the training program that calls ``report``, and the daemon that reads 512 ranks.

The program's share is that of 10 steps a second and of their writes. One write follows the other here, which costs a
tenth of one that finds the threads of gRPC at rest; ``beside_training`` measures those. They are made with jax's own
client against a coordination service in the same process, so the figure holds both ends.
"""

import json
import subprocess
import sys
import time

from benchmarks.harness.result import Result
from muster.assist.mounted.place_watch import GETS_ON, LOOK
from muster.state.view.progress import Progress, steps_progress
from muster.watchers.probes.jax.protobuf import bytes_field
from muster.watchers.probes.jax.task_list import read_entries
from muster.watchers.probes.reports import ReportReader

RANKS, LOOKS = 512, 20
STEPS_PER_SECOND = 10
PROGRAM = """
import json, sys, threading, time
import jax
from muster.assist.mounted.place_watch import PlaceWatch
from muster.cli.processes.stack import free_port
from muster.jax import report
from muster.jax.reporting import key_value_store
from muster.programs import reports
jax.distributed.initialize(f"127.0.0.1:{free_port()}", 1, 0)
report(0, loss=1.0)
reporter, store = reports.reporter, key_value_store()
began = time.process_time()
for step in range(100_000):
    report(step, loss=1.0)
call = (time.process_time() - began) / 100_000
began = time.process_time()
for step in range(1_000):
    reporter.take(step, {"loss": 1.0})
    reporter._write_newest(store, None)
write = (time.process_time() - began) / 1_000
watched = PlaceWatch(threading.get_ident())
began = time.process_time()
for look in range(1_000):
    watched.look(float(look))
looked = (time.process_time() - began) / 1_000
began = time.process_time()
for _ in range(1_000):
    store.client.key_value_set("muster/places/0", watched.value(), allow_overwrite=True)
placed = (time.process_time() - began) / 1_000
print(json.dumps([call, write, looked, placed]))
"""


def run() -> list[Result]:
    """Measure the program and the daemon."""
    said = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    call, write, looked, placed = json.loads(said.stdout.strip().splitlines()[-1])
    share = 100 * (STEPS_PER_SECOND * call + write / GETS_ON)
    watch = 100 * (looked / LOOK + placed / GETS_ON)
    return [
        Result.of("report(), a call", call * 1e6, "us", 10.0),
        Result.of("report() at 10 steps/s, with its write", share, "%", 0.1),
        Result.of("report() at 10 steps/s, with its write and the watch of its place", share + watch, "%", 0.1),
        Result.of(f"reading the steps of {RANKS} ranks, a look", _look() * 1e3, "ms", 15.0),
    ]


def _look() -> float:
    """Seconds of CPU for one look in which every rank has moved."""
    bodies = [_body(look) for look in range(LOOKS)]
    reader = ReportReader(RANKS, RANKS)
    progress: Progress | None = None
    began = time.process_time()
    for look, body in enumerate(bodies):
        progress = steps_progress(reader.read(read_entries(body, 2)), 0, 3.0 * look, progress)
    assert progress is not None
    assert progress.reporting == RANKS
    return (time.process_time() - began) / LOOKS


def _body(look: int) -> bytes:
    entries = []
    for rank in range(RANKS):
        value = (
            f'{{"step":{30 * look},"calls":{30 * look + 1},"at":{3.0 * look},"longest":1.5,"scalars":{{"loss":2.5}}}}'
        )
        entry = bytes_field(1, f"muster/progress/{rank}".encode()) + bytes_field(2, value.encode())
        entries.append(bytes_field(2, entry))
    return b"".join(entries)
