"""A shell in which the commands of a page work; each ``muster`` in it is forked."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.cli.processes.child import module
from tests.docs.pages import Shell
from tests.processes.forked import Forked, write_command


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """A shell in which ``muster`` works on a local cluster of its own."""
    environment = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "NO_COLOR")}
    environment |= {"MUSTER_HOME": str(tmp_path / "home"), "HOME": str(tmp_path), "JAX_PLATFORMS": "cpu"}
    programs, work = tmp_path / "programs", tmp_path / "work"
    for folder in (programs, work):
        folder.mkdir()
    requests = write_command(programs / "muster", "muster.cli")
    environment["PATH"] = f"{programs}:{Path(sys.executable).parent}:{environment['PATH']}"
    program = module("muster.cli", "local", "up")
    with Forked(program, env=environment, cwd=work, stdout=subprocess.PIPE, text=True) as up:
        try:
            assert up.stdout is not None
            assert "kubeconfig" in up.stdout.readline()
            yield Shell(environment, work, requests)
        finally:
            up.terminate()
            up.communicate(timeout=60)
