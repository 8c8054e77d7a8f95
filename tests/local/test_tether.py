"""Programs that end with their parent."""

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from muster.local.tether import command

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="prctl is Linux")


def ended(descriptor: int, seconds: float) -> bool:
    """Whether the process behind a pidfd ends within that time."""
    return bool(select.select([descriptor], [], [], seconds)[0])


def test_a_program_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    program = (
        "import subprocess, sys, time; from muster.local.tether import command;"
        "child = subprocess.Popen(command([sys.executable, '-c', "
        "'import os; print(os.getpid(), flush=True); import time; time.sleep(60)']));"
        "time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = os.pidfd_open(int(parent.stdout.readline()))
        parent.kill()
        parent.wait()
        try:
            assert ended(child, 5)
        finally:
            os.close(child)


def test_a_program_whose_parent_has_already_ended_does_not_start() -> None:
    orphan = subprocess.run(
        command([sys.executable, "-c", "print('started')"], parent=2**22 - 1), capture_output=True, check=False
    )
    assert (orphan.returncode, orphan.stdout) == (-15, b"")


def test_the_program_keeps_its_arguments_and_exit_status() -> None:
    run = subprocess.run(
        command([sys.executable, "-c", "import sys; print(sys.argv[1:]); sys.exit(7)", "--flag", "a b"]),
        capture_output=True,
        check=False,
    )
    assert (run.returncode, run.stdout) == (7, b"['--flag', 'a b']\n")
