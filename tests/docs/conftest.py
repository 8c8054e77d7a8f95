"""A shell in which the commands of a page work."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a shell in which ``muster`` works on a local cluster of its own."""
    environment = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "NO_COLOR")}
    environment |= {"MUSTER_HOME": str(tmp_path / "home"), "HOME": str(tmp_path), "JAX_PLATFORMS": "cpu"}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    work = tmp_path / "work"
    work.mkdir()
    up = subprocess.Popen(["muster", "local", "up"], env=environment, cwd=work, stdout=subprocess.PIPE, text=True)
    try:
        assert up.stdout is not None
        assert "kubeconfig" in up.stdout.readline()
        yield environment
    finally:
        up.terminate()
        up.communicate(timeout=60)
