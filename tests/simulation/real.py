"""Plays plans of ``tests.faults`` (real processes, which mostly wait) beside the plans on virtual time."""

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_END = re.compile(r"^plans (\d+), violations (\d+)", re.MULTILINE)


@dataclass(slots=True)
class Real:
    """The counts, valid after the ``real`` block."""

    plans: int = 0
    violations: int = 0


@contextmanager
def real(runs: int, say: Callable[[str], None]) -> Iterator[Real]:
    """Play ``runs`` plans while the block runs, then report what is not ok. A run without an end is a violation."""
    came = Real()
    if not runs:
        yield came
        return
    with tempfile.TemporaryFile("w+") as output:
        child = subprocess.Popen(
            [sys.executable, "-m", "tests.faults", "--runs", str(runs)], stdout=output, stderr=subprocess.STDOUT
        )
        try:
            yield came
            child.wait()
        finally:
            child.terminate()
            child.wait()
        output.seek(0)
        text = output.read()
    for line in text.splitlines():
        if not line.startswith("ok "):
            say(f"  real: {line}")
    end = _END.search(text)
    came.plans, came.violations = (int(end[1]), int(end[2])) if end else (0, 1)
