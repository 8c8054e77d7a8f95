"""Where a thread stands, seen from another one: waits and loops in C are stands, a loop that goes on is none."""

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from muster.api.places import MAX_FRAMES, MAX_STACK, MAX_VALUE, NOTICE
from muster.assist.mounted import place_watch
from muster.assist.mounted.place_watch import (
    COMPILES,
    NAME,
    PlaceWatch,
    Writer,
    activity,
    attach,
    digest,
    joins_or_leaves,
    stop,
    watch,
)
from muster.watchers.probes.jax.places import stack_of


class Waiting:
    """A thread that waits, and goes on to its next wait when it is let."""

    def __init__(self) -> None:
        self.arrived, self.turn = threading.Semaphore(0), threading.Semaphore(0)
        self.over = False
        self.thread = threading.Thread(target=self.work)

    def work(self) -> None:
        """Wait for a turn, again and again, at one line. Each turn uses ten times the CPU that a wait may use."""
        while not self.over:
            self.arrived.release()
            self.turn.acquire()
            began = time.thread_time()
            while time.thread_time() < began + 10 * place_watch.STILL:
                pass

    def go_on(self) -> None:
        """Let it come to its next wait."""
        self.turn.release()
        self.arrived.acquire()


@contextmanager
def waiting() -> Iterator[Waiting]:
    work = Waiting()
    work.thread.start()
    work.arrived.acquire()
    try:
        yield work
    finally:
        work.over = True
        work.turn.release()
        work.thread.join()


def at_rest(watched: PlaceWatch) -> None:
    """Look until the thread has reached its wait in the kernel: it may use CPU for a moment after it said so."""
    while watched.stood < 1:
        watched.look(watched.at + 1)


@contextmanager
def standing() -> Iterator[tuple[Waiting, PlaceWatch]]:
    """A thread that waits, and a watch that has seen it stand."""
    with waiting() as work:
        watched = PlaceWatch(work.thread.ident or 0)
        watched.look(100.0)
        at_rest(watched)
        yield work, watched


def test_a_thread_that_waits_stands_from_the_first_look() -> None:
    with standing() as (_, watched):
        since = watched.since
        watched.look(180.0)
        assert watched.stood == 180.0 - since
        function, file, _ = activity(watched.frames)
        assert (function, file) == ("acquire", "test_place_watch.py")


def test_a_thread_that_came_back_to_its_line_does_not_stand() -> None:
    with standing() as (work, watched):
        for number in range(5):
            work.go_on()
            watched.look(200.0 + number)
            assert watched.stood == 0
        assert watched.returns >= 3


@pytest.mark.parametrize(("file", "stands"), [(place_watch.WAITS[0], True), ("site-packages/queue.py", False)])
def test_a_call_of_jax_that_polls_for_signals_stands_until_it_is_another_call(
    file: str, stands: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread uses 0.4 ms of CPU between two looks, as jaxlib does in a wait. Elsewhere a loop may go on."""
    named: dict[str, Any] = {}
    exec(compile("def wait(acquire):\n    acquire()\n", file, "exec"), named)
    locks, passed, cpu = [threading.Lock(), threading.Lock()], threading.Semaphore(0), count()
    for lock in locks:
        lock.acquire()

    def work() -> None:
        for lock in locks:
            named["wait"](lock.acquire)
            passed.release()

    monkeypatch.setattr("time.clock_gettime", lambda _clock: 0.0004 * next(cpu))
    monkeypatch.setattr(place_watch, "queued", lambda _thread: 0.0)
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    watched = PlaceWatch(thread.ident or 0)
    for now in range(0, 60, 2):
        watched.look(100.0 + now)
    assert (watched.stood > 40) == stands
    locks[0].release()
    passed.acquire()
    watched.look(160.0)
    assert watched.stood == 0, "it is another call"
    locks[1].release()
    thread.join()


def test_the_longest_stand_of_the_loop_is_kept_and_that_of_a_start_is_not() -> None:
    with standing() as (work, watched):
        watched.look(10_000.0)
        work.go_on()
        watched.look(10_002.0)
        assert watched.longest == 0
        at_rest(watched)
        since = watched.since
        work.go_on()
        watched.look(10_602.0)
        assert watched.longest == 10_602.0 - since


def test_a_program_that_compiles_does_not_stand() -> None:
    with standing() as (_, watched):
        watched.frames.append(("backend_compile", f"/venv/lib/{COMPILES}", 1))
        watched.look(900.0)
        assert watched.stood == 0


def test_a_main_thread_that_waits_for_the_one_that_works_shows_that_one() -> None:
    with waiting() as work:
        joins = threading.Thread(target=work.thread.join, daemon=True)
        joins.start()
        watched = PlaceWatch(joins.ident or 0)
        others = [each for each in threading.enumerate() if each is not threading.main_thread() and not each.daemon]
        assert others == [work.thread]
        while activity(watched.frames)[:2] != ("acquire", "test_place_watch.py"):
            watched.look(watched.at + 1)


def test_frames_of_libraries_are_not_the_programs() -> None:
    frames = [
        ("_value", "/venv/lib/python3.12/site-packages/jax/array.py", 9),
        ("all_reduce", "/venv/lib/python3.12/site-packages/jax/lax.py", 8),
        ("train", "/app/train.py", 88),
        ("<module>", "/app/train.py", 99),
    ]
    assert activity(frames) == ("all_reduce", "train.py", 88)
    assert activity(frames[:1]) == ("_value", "array.py", 9)
    wrapped = [("recv", "/venv/lib/python3.12/site-packages/torch/distributed/distributed_c10d.py", 9)]
    wrapped += [("wrapper", "/venv/lib/python3.12/site-packages/torch/distributed/c10d_logger.py", 83), frames[2]]
    assert activity(wrapped) == ("recv", "train.py", 88)
    calls = ("joined", "/opt/muster-assist/place_watch.py"), ("initialize", "/home/me/muster/muster/jax/__init__.py")
    starts = [("initialize", "/venv/lib/python3.12/site-packages/jax/_src/distributed.py", 173)]
    starts += [*((name, file, 1) for name, file in calls), frames[3]]
    assert activity(starts) == ("initialize", "train.py", 99)  # Muster's own calls are not the program's
    assert activity([]) == ("", "", 0)
    assert digest(frames) == digest(list(frames)) != digest(frames[1:])


def deep(calls: int, then: Callable[[], None]) -> None:
    if calls:
        deep(calls - 1, then)
    else:
        then()


def test_a_deep_stack_and_long_names_are_bounded_and_read() -> None:
    here = PlaceWatch(threading.get_ident())
    code: dict[str, Any] = {}
    long = "f" * 5000
    exec(compile(f"def {long}(look): look()", "/" + "d" * 5000 + ".py", "exec"), code)
    code[long](lambda: deep(500, lambda: here.look(100.0)))
    assert len(here.frames) == MAX_FRAMES
    assert len(here.stack()) <= MAX_STACK
    assert stack_of(here.stack().encode())
    code[long](lambda: here.look(200.0))
    assert len(here.value(9_999_999)) <= MAX_VALUE
    assert stack_of(here.stack().encode())


def test_no_value_of_a_variable_is_written() -> None:
    secret = "hunter2"
    here = PlaceWatch(threading.get_ident())
    here.look(100.0)
    assert secret not in here.value() + here.stack()


class Client:
    """Keeps what is written, as jax's client would."""

    def __init__(self) -> None:
        self.written: list[tuple[str, str]] = []

    def key_value_set(self, key: str, value: str, *, allow_overwrite: bool) -> None:
        assert allow_overwrite
        self.written.append((key, value))


@pytest.mark.parametrize(("processes", "goes_on", "values"), [(8, 1, 11), (8, 1000, 25), (3_000, 1, 8), (10_000, 1, 6)])
def test_values_are_written_at_the_pace_of_the_gangs_size_and_more_often_where_it_stands(
    processes: int, goes_on: int, values: int
) -> None:
    client = Client()
    with waiting() as work:
        watched = PlaceWatch(work.thread.ident or 0)
        writer = Writer(watched, 7, processes)
        for second in range(100):
            watched.look(1000.0 + second)
            if writer.due(watched.at):
                writer.write(client, watched.at)
            if second % goes_on == 0:
                work.go_on()
    keys = [key for key, _ in client.written]
    assert keys.count("muster/places/7") == values
    assert set(keys) <= {"muster/places/7", "muster/stacks/7"}


def test_a_stack_is_written_once_and_before_the_value_that_says_how_long_it_stands() -> None:
    client = Client()
    with standing() as (_, watched):
        writer = Writer(watched, 7, 2)
        for second in (1000.0, 1000 + NOTICE, 1100.0, 1200.0):
            watched.look(second)
            writer.write(client, watched.at)
    keys = [key for key, _ in client.written]
    assert keys.count("muster/stacks/7") == 1
    assert keys[0] == "muster/stacks/7"
    assert json.loads(client.written[-1][1])["since"] < 200


class Gang:
    """jax's module of the gang, as far as it is looked at: a State whose client is there before it has connected."""

    __file__ = "/venv/jax/_src/distributed.py"

    def __init__(self) -> None:
        gang = self
        self.client = Client()
        self.connects: Callable[[], None] = lambda: None

        class State:
            client: Client | None = None
            process_id, num_processes = 0, 2

            def initialize(self) -> str:
                """Join."""
                self.client = gang.client
                gang.connects()
                return "joined"

            def shutdown(self) -> None:
                """Leave."""
                assert not watching()
                self.client = None

        self.State, self.global_state = State, State()


def watching() -> bool:
    """A watch runs, and its end was not asked for."""
    there = any(each.name == NAME for each in threading.enumerate())
    return there and not place_watch.over.is_set()


@pytest.fixture
def jax_gang(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gang]:
    gang = Gang()
    monkeypatch.setitem(sys.modules, place_watch.JAX, gang)
    monkeypatch.setattr(place_watch, "LOOK", 0.001)
    attach(gang)
    yield gang
    stop()
    for each in threading.enumerate():
        if each.name == NAME:
            each.join()


def test_a_process_is_watched_from_the_end_of_its_joining_to_the_beginning_of_its_leaving(jax_gang: Gang) -> None:
    seen: list[bool] = []
    jax_gang.connects = lambda: seen.append(watching())
    assert jax_gang.State.initialize.__name__ == "initialize"
    assert not watching()
    assert jax_gang.global_state.initialize() == "joined"
    assert (seen, watching()) == ([False], True)
    jax_gang.global_state.shutdown()
    assert not watching()


def test_one_thread_watches_a_process(jax_gang: Gang) -> None:
    jax_gang.global_state.initialize()
    watch()
    watch()
    assert [each.name for each in threading.enumerate()].count(NAME) == 1


def test_nothing_is_watched_outside_of_a_gang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, place_watch.JAX, SimpleNamespace(global_state=SimpleNamespace(client=None)))
    watch()
    assert not watching()


def test_a_client_of_another_gang_is_never_used(jax_gang: Gang) -> None:
    """It may not have connected yet, and jax ends the process where it is used then."""
    jax_gang.global_state.initialize()
    thread = next(each for each in threading.enumerate() if each.name == NAME)
    jax_gang.global_state.client = other = Client()
    thread.join()
    assert other.written == []


def test_a_thread_inside_of_the_module_is_seen(jax_gang: Gang) -> None:
    assert not joins_or_leaves(jax_gang)
    jax_gang.__file__ = __file__
    assert joins_or_leaves(jax_gang)
