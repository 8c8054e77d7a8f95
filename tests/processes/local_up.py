"""``muster local up`` for several tests: commands with its home and environment find its cluster and its daemon."""

import contextlib
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from muster.cli.processes.stack import module
from tests.processes.forked import Forked, run


@contextlib.contextmanager
def local_up(environment: Mapping[str, str], folder: Path) -> Iterator[None]:
    """A cluster and a daemon for the duration of the block."""
    program = module("muster.cli", "local", "up")
    with Forked(program, env=environment, cwd=folder, stdout=subprocess.PIPE, text=True) as up:
        try:
            assert up.stdout is not None
            assert "kubeconfig" in up.stdout.readline()
            yield
        finally:
            up.terminate()
            up.communicate(timeout=60)


@contextlib.contextmanager
def cleared(environment: Mapping[str, str]) -> Iterator[None]:
    """Delete the experiments that the block leaves behind on that cluster."""
    try:
        yield
    finally:
        for name in run(module("muster.cli", "list", "-o", "name"), env=environment).stdout.split():
            run(module("muster.cli", "delete", name, "--yes"), env=environment)
