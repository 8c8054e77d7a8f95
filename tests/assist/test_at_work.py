"""What shows that a process works, and that the answer to a question for its stacks is no work."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from muster.assist.mounted import at_work, place_watch
from muster.assist.mounted.at_work import CHECK, COMPUTING, MOVED, WRITING, Others, Question, child_times
from muster.assist.mounted.place_watch import PAUSE, PlaceWatch, announce, announced
from tests.assist.test_place_watch import standing, waiting


@contextmanager
def stacks_file() -> Iterator[int]:
    """A file as that of an assisted process, whatever numbers are taken."""
    made = os.memfd_create(f"{at_work.STACKS}7f")
    kept = os.dup2(made, 900)
    os.close(made)
    try:
        yield kept
    finally:
        os.close(kept)


def test_an_answered_signal_shows_in_the_file_once() -> None:
    with stacks_file() as file:
        question = Question()
        assert not question.asked()
        os.write(file, b"Thread 0x7f (most recent call first):\n")
        assert question.asked()
        assert not question.asked()
        os.ftruncate(file, 0)
        assert question.asked()


def test_a_number_that_means_another_file_now_says_nothing(tmp_path: Path) -> None:
    with stacks_file() as file:
        question = Question()
        question.asked()
        with (tmp_path / "log").open("w") as log:
            os.dup2(log.fileno(), file)
            log.write("x")
            log.flush()
            assert not question.asked()


@pytest.fixture
def cpu(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The CPU seconds of the thread that is watched."""
    used = [1.0]
    monkeypatch.setattr("time.clock_gettime", lambda _clock: used[0])
    monkeypatch.setattr(place_watch, "queued", lambda _native: 0.0)
    return used


def test_what_an_answer_costs_ends_no_stand_and_makes_none(cpu: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    monkeypatch.setattr(Question, "asked", lambda _self: asked.pop() if asked else False)
    with waiting() as work:
        watched = PlaceWatch(work.thread.ident or 0)
        for now in range(0, 60, 2):
            watched.look(100.0 + now)
        stood, worked = watched.stood, watched.worked
        assert stood >= 50
        for now in range(60, 100, 2):
            cpu[0] += 0.9  # far more than a step of a loop
            asked.append(True)
            watched.look(100.0 + now)
            assert (watched.stood, watched.worked) == (stood, worked)
        watched.look(200.0)
        assert watched.stood == stood + 200 - 158, "it stands on, and stood while it was asked"
        cpu[0] += 0.01
        watched.look(202.0)
        assert watched.stood == 0, "that was no answer"


def test_a_loop_that_is_asked_at_each_look_never_stands(cpu: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    with waiting() as work:
        watched = PlaceWatch(work.thread.ident or 0)
        watched.look(100.0)
        watched.look(102.0)
        monkeypatch.setattr(Question, "asked", lambda _self: True)
        stood = watched.stood
        for now in range(4, 200, 2):
            cpu[0] += 0.01
            watched.look(100.0 + now)
        assert watched.stood == stood


def test_a_child_that_computes_is_work() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as child:
        others = Others()
        assert others.look(100.0, None) == ""
        began = child_times()[child.pid]
        while child_times()[child.pid] < began + 5:
            pass
        assert others.look(100.1, None) == COMPUTING
        child.send_signal(signal.SIGKILL)


def test_bytes_that_are_written_are_work_and_few_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at_work, "thread_times", lambda _main: {})
    monkeypatch.setattr(at_work, "child_times", dict)
    others = Others()
    others.look(100.0, None)
    with (tmp_path / "checkpoint").open("wb", buffering=0) as file:
        file.write(bytes(1000))
        assert others.look(100.0 + CHECK, None) == ""
        file.write(bytes(MOVED))
        assert others.look(100.0 + 2 * CHECK, None) == WRITING


def test_a_thread_that_waits_for_time_waits_alone_and_one_that_waits_for_a_lock_may_not() -> None:
    with waiting() as work:
        while at_work.system_call(work.thread.native_id)[0] < 0:
            pass
        assert not at_work.waits_alone(work.thread.native_id)
    over, end = os.pipe()
    reads = threading.Thread(target=os.read, args=(over, 1))
    reads.start()
    while at_work.system_call(reads.native_id)[1] != over:
        pass
    assert at_work.waits_alone(reads.native_id)
    assert not at_work.waits_for_input(reads.native_id)
    os.write(end, b"x")
    reads.join()
    os.close(over)
    os.close(end)


def test_a_thread_that_waits_is_at_work_no_more_and_one_with_cpu_is(cpu: list[float]) -> None:
    with waiting() as work:
        watched = PlaceWatch(work.thread.ident or 0)
        watched.worked = 0.0
        watched.look(100.0)
        worked = watched.worked
        for now in range(2, 6, 2):
            watched.look(100.0 + now)
        assert watched.worked == worked
        cpu[0] += 1.0
        watched.look(106.0)
        assert (watched.worked, watched.how) == (106.0, COMPUTING)
        cpu[0] += at_work.COMPUTES  # one that polls has less in two seconds
        watched.look(108.0)
        assert watched.worked == 106.0


def test_a_pause_is_announced_to_every_copy_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, PAUSE, raising=False)
    assert announced() == 0
    announce(300.0)
    assert announced() == 300.0
    announce(0.0)
    assert announced() == 0
    monkeypatch.delitem(sys.modules, PAUSE)


def test_a_stand_that_was_announced_is_not_the_longest(cpu: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    with standing() as (_, watched):
        watched.returns = place_watch.RETURNS
        announce(300.0)
        watched.look(400.0)
        cpu[0] += 1.0
        watched.look(402.0)
        announce(0.0)
        assert watched.longest == 0
    monkeypatch.delitem(sys.modules, PAUSE)
