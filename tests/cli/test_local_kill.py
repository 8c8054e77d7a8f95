"""``muster local kill`` reaches the program, not only the shell in front of it."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.cli.commands.local.kill import send


@pytest.fixture
def container() -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """A shell in a session of its own, as a container has it, and the pid of its program."""
    line = "sleep 600 & echo $!; wait"
    with subprocess.Popen(["/bin/sh", "-c", line], stdout=subprocess.PIPE, text=True, start_new_session=True) as shell:
        assert shell.stdout is not None
        yield shell, int(shell.stdout.readline())
        os.killpg(shell.pid, signal.SIGKILL)


def comes_to(pid: int, wanted: str) -> bool:
    """Wait until the process is in that state: the kernel delivers a signal when the process runs next."""
    while state(pid) != wanted:
        time.sleep(0.01)
    return True


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_stop_and_cont_reach_every_process_of_the_container(container: tuple["subprocess.Popen[str]", int]) -> None:
    shell, program = container
    send(shell.pid, signal.SIGSTOP)
    assert comes_to(shell.pid, "T")
    assert comes_to(program, "T")
    assert state(os.getpid()) != "T"
    send(shell.pid, signal.SIGCONT)
    assert comes_to(shell.pid, "S")
    assert comes_to(program, "S")


def test_other_signals_go_to_the_first_process_alone(container: tuple["subprocess.Popen[str]", int]) -> None:
    shell, program = container
    send(shell.pid, signal.SIGTERM)
    assert shell.wait() == -signal.SIGTERM
    assert comes_to(program, "S")


def test_a_process_that_has_ended_is_reported() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    with pytest.raises(ProcessLookupError):
        send(ended.pid, signal.SIGSTOP)
