"""Makes pods find the stand-in for Ray where they look for ``ray`` and for its Python package."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from muster.local.home import Caller, write_caller
from tests.e2e.environment import ROOT

_HERE = Path(__file__).parent


@contextmanager
def stand_ins(callers: Path, folder: Path, namespace: str, runs: Mapping[str, Mapping[str, str]]) -> Iterator[None]:
    """For the pods of these experiments, each with variables of its own; a file that one names is in ``folder``."""
    folder.mkdir()
    program = folder / "ray"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -u {_HERE / "node.py"} "$@"\n')
    program.chmod(0o755)
    found = {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(_HERE / "client")}
    with ExitStack() as stack:
        for name, own in runs.items():
            placed = {
                key: str(folder / value) if key == "FAKE_RAY_WORKER_DIES" else value for key, value in own.items()
            }
            caller = Caller({**os.environ, **found, **placed}, ROOT)
            stack.enter_context(write_caller(callers, namespace, name, caller))
        yield
