"""The scripts in a real shell: the stack of a real process is printed, by the signal and by py-spy."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from muster.assist import CODE, FILE
from muster.client.stacks.processes import Process, dump_command, list_command, read_listing
from muster.client.stacks.reading import read_answers, read_stacks

N = "muster-test-nonce"
PROGRAM = """
import time
def nap():
    print("ready", flush=True)
    time.sleep(1000)
nap()
"""
BUSY = """
import signal, sys, threading

def compute(depth):  # its frames need more memory than Python keeps for them: it comes and goes
    return depth and compute(depth - 1)

def loop():
    while True:
        compute(400)

threading.Thread(target=loop, daemon=True).start()
if "blocked" in sys.argv:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGURG})
print("ready", flush=True)
threading.Event().wait()
"""


@contextmanager
def running(folder: Path, program: str, *words: str) -> Iterator["subprocess.Popen[str]"]:
    (folder / FILE).write_text(CODE)
    variables, command = {**os.environ, "PYTHONPATH": str(folder)}, [sys.executable, "-c", program, *words]
    with subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


@pytest.fixture
def napping(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    with running(tmp_path, PROGRAM) as process:
        yield process


def printed(command: list[str]) -> str:
    # As the commands read it: any process of the machine may have words that are not UTF-8.
    done = subprocess.run(command, capture_output=True, check=True, timeout=50)
    return done.stdout.decode("utf-8", "replace")


def of(process: "subprocess.Popen[str] | subprocess.Popen[bytes]") -> Process:
    (found,) = (each for each in read_listing(printed(list_command(N)), N).processes if each.pid == process.pid)
    return found


def test_a_process_is_listed_and_answers_the_signal_each_time(napping: "subprocess.Popen[str]") -> None:
    found = of(napping)
    assert found.python
    assert found.file is not None
    for _ in range(2):
        (stacks,), said = read_stacks((found,), tuple(read_answers(printed(dump_command(N, "", (found,))), N)))
        assert [frame.function for frame in stacks.threads[0].frames] == ["nap", "<module>"]
        assert len(stacks.threads) == 1, "the file is emptied before it is asked again"
        assert (stacks.threads[0].main, said) == (True, "")
    assert napping.poll() is None


def test_a_neighbour_whose_words_are_not_text_is_listed(napping: "subprocess.Popen[str]") -> None:
    with subprocess.Popen([sys.executable.encode(), b"-c", b"input()", b"\x80"], stdin=subprocess.PIPE) as neighbour:
        assert of(neighbour).python
        assert of(napping).file is not None
        neighbour.kill()


def test_py_spy_is_asked_before_the_signal(napping: "subprocess.Popen[str]", tmp_path: Path) -> None:
    spy = tmp_path / "py-spy"
    spy.write_text('#!/bin/sh\n[ "$1 $2 $3" = "dump --json --pid" ] && echo "[$4]"\n')
    spy.chmod(0o755)
    (answer,) = read_answers(printed(dump_command(N, str(spy), (of(napping),))), N)
    assert (answer.source, answer.pid, answer.text.strip(), answer.code) == ("spy", napping.pid, f"[{napping.pid}]", 0)


def test_a_py_spy_that_fails_leaves_it_to_the_signal(napping: "subprocess.Popen[str]") -> None:
    spied, answered = read_answers(printed(dump_command(N, "/bin/false", (of(napping),))), N)
    assert (spied.source, spied.code) == ("spy", 1)
    assert "in nap" in answered.text


def test_a_process_without_the_file_gets_no_signal(napping: "subprocess.Popen[str]") -> None:
    wrong = Process(napping.pid, 1, "", "", file=0)
    assert printed(dump_command(N, "", (wrong,))) == ""


def test_a_question_ends_no_process_whose_other_threads_run_python(tmp_path: Path) -> None:
    """The stacks of running threads change while they are read: 3 of 100 questions for them ended such a process."""
    with running(tmp_path, BUSY) as busy:
        file = Path(f"/proc/{busy.pid}/fd/{of(busy).file}")
        for _ in range(300):
            os.truncate(file, 0)
            os.kill(busy.pid, signal.SIGURG)
            while busy.poll() is None and not file.stat().st_size:
                pass
            assert busy.poll() is None
        (stacks,), _ = read_stacks((of(busy),), tuple(read_answers(printed(dump_command(N, "", (of(busy),))), N)))
        assert [(each.main, each.frames[-1].function) for each in stacks.threads] == [(True, "<module>")]


def test_no_other_thread_answers_for_a_main_thread_that_blocks_the_signal(tmp_path: Path) -> None:
    with running(tmp_path, BUSY, "blocked") as blocked:
        assert printed(dump_command(N, "", (of(blocked),))) == ""


def test_a_process_that_is_stopped_is_given_up(napping: "subprocess.Popen[str]") -> None:
    found = of(napping)
    os.kill(napping.pid, signal.SIGSTOP)
    (answer,) = read_answers(printed(dump_command(N, "", (found,))), N)
    assert answer.text.strip() == ""
