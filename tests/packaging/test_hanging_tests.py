"""A test that outlives a limit is ended and named, also where an event loop swallows what pytest-timeout raises."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.image.locks import ROOT

pytestmark = pytest.mark.slow

SHORT = "from tests import conftest\nconftest.GRACE = 1.0\n"
HANGS = """\
import asyncio, time, pytest

@pytest.mark.timeout(1)
async def test_it_waits_for_a_task_that_took_the_exception() -> None:
    async def computes() -> None:
        until = time.monotonic() + 1.5
        while time.monotonic() < until:
            pass

    task = asyncio.create_task(computes())
    await asyncio.Event().wait()

def test_another() -> None:
    pass
"""


COMPUTES = """\
import time, pytest

@pytest.mark.cpu(0.3)
def test_it_computes() -> None:
    while True:
        pass

@pytest.mark.cpu(0.3)
def test_it_sleeps_longer_than_it_may_compute() -> None:
    time.sleep(0.6)

@pytest.mark.cpu(0.3)
@pytest.mark.cluster
def test_processes_have_a_wall_limit_only() -> None:
    until = time.process_time() + 0.6
    while time.process_time() < until:
        pass
"""


def test_a_hanging_test_is_named_and_the_others_are_run(tmp_path: Path) -> None:
    ended = played(tmp_path, HANGS)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "crashed while running 'test_it.py::test_it_waits_for_a_task_that_took_the_exception'" in ended.stdout
    assert "1 failed, 1 passed" in ended.stdout
    assert "Timeout (0:00:02)!" in ended.stderr, "the stacks"


def test_a_limit_counts_cpu_time_unless_there_are_processes(tmp_path: Path) -> None:
    ended = played(tmp_path, COMPUTES)
    assert "1 failed, 2 passed" in ended.stdout, ended.stdout + ended.stderr
    assert "the test used more than 0.3 s of CPU time" in ended.stdout


def played(tmp_path: Path, tests: str) -> subprocess.CompletedProcess[str]:
    """Run tests in a session of their own, with the limits of this project."""
    (tmp_path / "short_grace.py").write_text(SHORT, encoding="utf-8")
    (tmp_path / "test_it.py").write_text(tests, encoding="utf-8")
    options = ["-p", "tests.conftest", "-p", "short_grace", "-p", "no:cacheprovider", "--numprocesses", "1"]
    where = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path), "--override-ini", f"pythonpath={ROOT}"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, *where, str(tmp_path / "test_it.py")],
        env=os.environ | {"PYTHONPATH": f"{tmp_path}:{ROOT}"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
