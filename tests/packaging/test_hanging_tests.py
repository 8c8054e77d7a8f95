"""A test that outlives its limit is ended and named, also where an event loop swallows what pytest-timeout raises."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.image.locks import ROOT

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


@pytest.mark.timeout(180)
def test_a_hanging_test_is_named_and_the_others_are_run(tmp_path: Path) -> None:
    (tmp_path / "short_grace.py").write_text(SHORT, encoding="utf-8")
    (tmp_path / "test_hangs.py").write_text(HANGS, encoding="utf-8")
    options = ["-p", "tests.conftest", "-p", "short_grace", "-p", "no:cacheprovider", "--numprocesses", "1"]
    where = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path), "--override-ini", f"pythonpath={ROOT}"]
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *where, str(tmp_path / "test_hangs.py")],
        env=os.environ | {"PYTHONPATH": f"{tmp_path}:{ROOT}"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "crashed while running 'test_hangs.py::test_it_waits_for_a_task_that_took_the_exception'" in ended.stdout
    assert "1 failed, 1 passed" in ended.stdout
    assert "Timeout (0:00:02)!" in ended.stderr, "the stacks"
