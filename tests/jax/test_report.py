"""``report``: what is written into the key-value store, at which pace, and that training never notices."""

import contextlib
import json
import logging
import queue
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from muster import programs
from muster.api.progress import MAX_STEP, MAX_VALUE
from muster.assist.mounted import place_watch
from muster.jax import pause, report
from muster.jax.reporting import JAX, key_value_store
from muster.reporting.reporter import Latest, Reporter, Reports, value_of


@dataclass
class Store:
    """The key-value store as jax's client shows it."""

    values: dict[str, dict[str, Any]] = field(default_factory=dict)
    asked: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    written: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    open: threading.Event = field(default_factory=threading.Event)
    """While it is not set, a write waits, as it does for a process 0 that is stopped."""
    error: Exception | None = None
    writes: int = 0

    def key_value_set(self, key: str, value: str, allow_overwrite: bool) -> None:
        self.asked.release()
        self.open.wait()
        self.writes += 1
        try:
            if self.error is not None:
                raise self.error
            assert allow_overwrite
            self.values[key] = json.loads(value)
        finally:
            self.written.release()


class Pace:
    """Stands for the queue that wakes the thread: each wait lasts until the test lets it end, or the reporter does."""

    def __init__(self) -> None:
        self.now = 100.0
        """The monotonic clock of the program."""
        self.pauses: list[float] = []
        self.wakes_at = 0.0
        self.waits = threading.Semaphore(0)
        self._turn: queue.SimpleQueue[bool] = queue.SimpleQueue()

    def monotonic(self) -> float:
        return self.now

    def passes(self, seconds: float) -> None:
        self.now += seconds

    def next(self) -> None:
        """So much time passes as the thread waits for."""
        self._turn.put(False)

    def put(self, _nothing: None) -> None:
        """The reporter asks for a report."""
        self._turn.put(True)

    def get(self, timeout: float) -> None:
        self.pauses.append(timeout)
        until = self.wakes_at = self.now + timeout
        self.waits.release()
        if not self._turn.get():
            self.now = max(self.now, until)
            raise queue.Empty

    def wait_for_thread(self) -> None:
        """Until the thread waits for its turn."""
        self.waits.acquire()


@pytest.fixture
def store() -> Store:
    store = Store()
    store.open.set()
    return store


@pytest.fixture
def state(store: Store, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The state of ``jax.distributed`` in process 2 of 4."""
    state = SimpleNamespace(client=store, process_id=2, num_processes=4)
    monkeypatch.setitem(sys.modules, JAX, SimpleNamespace(global_state=state))
    return state


@pytest.fixture
def pace() -> Pace:
    return Pace()


@pytest.fixture
def reporter(store: Store, pace: Pace, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reporter]:
    reporter = Reporter((key_value_store,))
    reporter._turn = pace  # type: ignore[assignment]  # noqa: SLF001
    monkeypatch.setattr("muster.reporting.reporter.time", pace)
    monkeypatch.setattr(programs, "reports", Reports(reporter))
    monkeypatch.delitem(sys.modules, place_watch.PAUSE, raising=False)
    yield reporter
    store.open.set()
    reporter.close()
    place_watch.stop()  # a report has begun it


def test_the_first_step_is_written_at_once_under_the_rank(
    state: SimpleNamespace, store: Store, reporter: Reporter
) -> None:
    report(1840, loss=2.5)
    store.written.acquire()
    assert store.values == {
        "muster/progress/2": {
            "step": 1840,
            "calls": 1,
            "at": store.values["muster/progress/2"]["at"],
            "longest": 0.0,
            "first": 1840,
            "scalars": {"loss": 2.5},
        }
    }


def test_between_two_writes_only_the_newest_step_is_kept(
    state: SimpleNamespace, store: Store, reporter: Reporter, pace: Pace
) -> None:
    for step in range(50):
        report(step)
        if step == 0:
            store.written.acquire()
    pace.next()
    store.written.acquire()
    assert store.writes == 2
    said = store.values["muster/progress/2"]
    assert (said["step"], said["calls"]) == (49, 50)


def test_a_pause_is_announced_and_its_time_is_no_interval(
    state: SimpleNamespace, store: Store, reporter: Reporter, pace: Pace
) -> None:
    state.process_id = 0
    report(7)
    store.written.acquire()
    pace.wait_for_thread()
    pace.passes(2.0)
    with contextlib.suppress(OSError), pause(600):  # the pause ends with an error, too
        store.written.acquire()
        said = store.values["muster/progress/0"]
        assert (said["step"], said["calls"], said["pause"]) == (7, 2, 600.0)
        pace.passes(400.0)
        raise OSError("no space left")
    store.written.acquire()
    said = store.values["muster/progress/0"]
    assert (said["step"], said["calls"], said["longest"], "pause" in said) == (7, 3, 2.0, False)


def test_what_a_pause_takes_beyond_its_time_is_an_interval(
    state: SimpleNamespace, store: Store, reporter: Reporter, pace: Pace
) -> None:
    report(7)
    with pause(60):
        pace.passes(100.0)
    assert reporter._latest is not None  # noqa: SLF001
    assert reporter._latest.longest == 40.0  # noqa: SLF001


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -5.0])
def test_a_pause_that_is_no_time_announces_nothing(
    seconds: float, state: SimpleNamespace, store: Store, reporter: Reporter
) -> None:
    report(7)
    with pause(seconds):
        assert reporter._latest is not None  # noqa: SLF001
        assert reporter._latest.spent.pause == 0.0  # noqa: SLF001


def test_a_pause_before_the_first_report_is_announced_to_the_watch_alone(
    state: SimpleNamespace, store: Store, reporter: Reporter
) -> None:
    with pause(60):
        assert reporter._latest is None  # noqa: SLF001
        assert place_watch.announced() == 60
    assert place_watch.announced() == 0
    assert store.writes == 0


def test_nothing_is_written_again_while_nothing_is_reported(
    state: SimpleNamespace, store: Store, reporter: Reporter, pace: Pace
) -> None:
    report(1)
    store.written.acquire()
    for _ in range(5):
        pace.next()
    report(2)
    pace.next()
    store.written.acquire()
    assert store.writes == 2


@pytest.mark.parametrize(("processes", "seconds"), [(4, 10.0), (512, 10.0), (3_000, 15.0), (10_000, 20.0)])
def test_large_gangs_write_more_rarely_and_each_rank_has_its_turn(
    processes: int, seconds: float, state: SimpleNamespace
) -> None:
    state.num_processes = processes
    place = key_value_store()
    assert place is not None
    turn = 1000 * seconds + 2 * seconds / processes
    assert [place.next(1000 * seconds), place.next(turn + 0.001)] == pytest.approx([turn, turn + seconds])


def writes(store: Store, pace: Pace, rank: int, *steps: tuple[float, int]) -> list[tuple[float, int]]:
    """Report these steps at these seconds, and let the thread wake when it wants to: when which step was written."""
    found: list[tuple[float, int]] = []
    last = store.writes
    for second, step in steps:
        while pace.wakes_at <= second:
            pace.next()
            pace.wait_for_thread()
            if store.writes > last:
                last = store.writes
                found.append((pace.now, store.values[f"muster/progress/{rank}"]["step"]))
        pace.passes(second - pace.now)
        report(step)
    return found


def test_steps_are_written_every_ten_seconds_and_the_last_before_a_silence_after_four(
    state: SimpleNamespace, store: Store, reporter: Reporter, pace: Pace
) -> None:
    state.process_id, state.num_processes, pace.now = 1, 1, 799.0
    report(0)
    pace.wait_for_thread()
    steps = [(800.0 + step, step) for step in range(1, 16)]
    assert writes(store, pace, 1, *steps, (840.0, 16), (841.0, 17)) == [(810.0, 9), (819.0, 15)]


def test_rank_0_writes_every_second_at_first_and_soon_after_a_silence(
    state: SimpleNamespace, store: Store, reporter: Reporter, pace: Pace
) -> None:
    state.process_id, pace.now = 0, 800.0
    report(0)
    pace.wait_for_thread()
    steps = [(800.5 + step, step) for step in range(1, 13)]
    early = [(801.0 + step, step) for step in range(1, 10)]
    assert writes(store, pace, 0, *steps, (850.5, 50), (851.6, 51)) == [*early, (816.5, 12), (851.0, 50)]


def test_a_pause_of_rank_0_is_written_when_it_begins_and_ends_unless_another_has_just_begun(
    state: SimpleNamespace, store: Store, reporter: Reporter, pace: Pace
) -> None:
    state.process_id = 0
    report(7)
    store.written.acquire()
    pace.wait_for_thread()
    with pause(600, "checkpoint_save"):
        store.written.acquire()
        assert store.values["muster/progress/0"]["kind"] == "checkpoint_save"
        pace.passes(1.5)
    store.written.acquire()
    assert store.values["muster/progress/0"]["saved"] == 1.5
    for _ in range(10):
        with pause(600):
            pass
    assert store.writes == 3


def test_training_goes_on_while_process_0_is_stopped(
    state: SimpleNamespace, store: Store, reporter: Reporter, pace: Pace
) -> None:
    store.open.clear()
    report(0)
    store.asked.acquire()
    for step in range(1, 100):
        report(step)  # would wait forever if it wrote itself
    store.open.set()
    pace.next()
    store.written.acquire()
    store.written.acquire()
    assert store.values["muster/progress/2"]["step"] == 99


def test_without_a_distributed_client_nothing_happens(state: SimpleNamespace, store: Store, reporter: Reporter) -> None:
    state.client = None
    report(1)
    assert reporter._thread is None  # noqa: SLF001
    assert store.writes == 0


def test_without_jax_nothing_happens(monkeypatch: pytest.MonkeyPatch, reporter: Reporter) -> None:
    monkeypatch.delitem(sys.modules, JAX, raising=False)
    report(1, loss=1.0)
    assert reporter._thread is None  # noqa: SLF001


def test_a_failing_store_is_logged_once_and_never_raised(
    state: SimpleNamespace, store: Store, reporter: Reporter, pace: Pace, caplog: pytest.LogCaptureFixture
) -> None:
    store.error = RuntimeError("UNAVAILABLE: process 0 is gone")
    with caplog.at_level(logging.WARNING):
        for step in range(3):
            report(step)
            store.written.acquire()
            pace.next()
        report(3)
        store.written.acquire()
        reporter.close()
    assert [record.getMessage() for record in caplog.records] == [
        "a step is not reported (UNAVAILABLE: process 0 is gone); this is logged once"
    ]


def test_the_last_step_is_written_when_the_program_ends(
    state: SimpleNamespace, store: Store, reporter: Reporter
) -> None:
    report(1)
    store.written.acquire()
    report(2)
    reporter.close()
    assert store.values["muster/progress/2"]["step"] == 2


def test_the_longest_pause_between_two_calls_is_told(
    state: SimpleNamespace, store: Store, reporter: Reporter, pace: Pace
) -> None:
    report(1)
    store.written.acquire()
    for passed in (7.5, 0.5, 2.0):
        pace.passes(passed)
        report(2)
    pace.next()
    store.written.acquire()
    said = store.values["muster/progress/2"]
    assert (said["at"], said["longest"]) == (110.0, 7.5)


class Array:
    """A scalar of jax: it is computed when it is asked for."""

    def __index__(self) -> int:
        return 12

    def __float__(self) -> float:
        return 0.5


class Donated:
    """An array whose memory was given to a later computation."""

    def __float__(self) -> float:
        raise RuntimeError("Array has been deleted")


def said(step: Any, **scalars: Any) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(value_of(Latest(step, scalars, 1, 0.0, 0.0)))
    return value


def test_arrays_are_read_when_they_are_written() -> None:
    assert said(Array(), loss=Array())["step"] == 12
    assert said(Array(), loss=Array())["scalars"] == {"loss": 0.5}


def test_scalars_that_are_no_finite_numbers_are_left_out() -> None:
    odd = {"nan": float("nan"), "inf": float("inf"), "text": "high", "none": None, "gone": Donated(), "n" * 33: 1.0}
    assert said(1, **odd, ok=3)["scalars"] == {"ok": 3.0}


def test_the_ninth_scalar_is_left_out() -> None:
    assert len(said(1, **{f"loss{number}": 1.0 for number in range(20)})["scalars"]) == 8


def test_a_value_that_would_be_too_long_goes_without_its_scalars() -> None:
    names = {"\u2400" * 31 + str(number): 0.1 for number in range(8)}
    assert "scalars" not in said(1, **names)
    assert len(value_of(Latest(MAX_STEP, names, MAX_STEP, 1e9, 1e9))) <= MAX_VALUE


@pytest.mark.parametrize("step", [-1, 1 << 53, 1.5, "7", None, Donated()])
def test_a_step_that_is_no_whole_number_is_refused(step: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        value_of(Latest(step, {}, 1, 0.0, 0.0))


@pytest.mark.parametrize("way", ["when a step is done", "when a step begins"])
def test_the_first_step_began_after_the_compilation_whenever_the_program_reports(
    state: SimpleNamespace, reporter: Reporter, pace: Pace, way: str
) -> None:
    if way == "when a step begins":
        report(0)
    pace.passes(40.0)  # compilation
    began = pace.now
    for step in range(1, 4):
        pace.passes(2.0)
        report(step)
    latest = reporter._latest  # noqa: SLF001
    assert latest is not None
    assert latest.spent.begun == began + (2.0 if way == "when a step is done" else 0.0)


def test_the_totals_of_pauses_are_by_kind_and_work_is_without_them(
    state: SimpleNamespace, reporter: Reporter, pace: Pace
) -> None:
    report(60)
    for kind, long in (
        ("checkpoint_restore", 3.0),
        ("checkpoint_save", 5.0),
        ("", 7.0),
        ("data_loading", 2.0),
        ("checkpoint_save", 9.0),
    ):
        with pause(600, kind):
            pace.passes(long)
        report(61)
    latest = reporter._latest  # noqa: SLF001
    assert latest is not None
    said = json.loads(value_of(latest))
    assert [said[name] for name in ("saved", "restored", "loaded", "paused", "first")] == [14.0, 3.0, 2.0, 26.0, 60]
    assert said["begun"] == 100.0
    assert "kind" not in said
    assert latest.longest == 0.0


def test_a_first_step_that_is_no_number_is_left_out_alone(
    state: SimpleNamespace, reporter: Reporter, pace: Pace
) -> None:
    report("start")
    report(5)
    latest = reporter._latest  # noqa: SLF001
    assert latest is not None
    assert (json.loads(value_of(latest))["step"], "first" in value_of(latest)) == (5, False)
