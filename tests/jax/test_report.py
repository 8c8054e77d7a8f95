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


@dataclass
class Process:
    """Process 2 of 4 of a gang of jax, and what it reports with."""

    state: SimpleNamespace
    """Of ``jax.distributed``."""
    store: Store
    pace: Pace
    reporter: Reporter

    @property
    def latest(self) -> Latest:
        """What it would write next."""
        latest = self.reporter._latest  # noqa: SLF001
        assert latest is not None
        return latest

    def writes(self, *steps: tuple[float, int]) -> list[tuple[float, int]]:
        """Report these steps at these seconds; the thread wakes when it wants to. When which step was written."""
        found: list[tuple[float, int]] = []
        last = self.store.writes
        for second, step in steps:
            while self.pace.wakes_at <= second:
                self.pace.next()
                self.pace.wait_for_thread()
                if self.store.writes > last:
                    last = self.store.writes
                    found.append((self.pace.now, self.store.values[f"muster/progress/{self.state.process_id}"]["step"]))
            self.pace.passes(second - self.pace.now)
            report(step)
        return found


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Iterator[Process]:
    store, pace, reporter = Store(), Pace(), Reporter((key_value_store,))
    store.open.set()
    reporter._turn = pace  # type: ignore[assignment]  # noqa: SLF001
    state = SimpleNamespace(client=store, process_id=2, num_processes=4)
    monkeypatch.setitem(sys.modules, JAX, SimpleNamespace(global_state=state))
    monkeypatch.setattr("muster.reporting.reporter.time", pace)
    monkeypatch.setattr(programs, "reports", Reports(reporter))
    monkeypatch.delitem(sys.modules, place_watch.PAUSE, raising=False)
    yield Process(state, store, pace, reporter)
    store.open.set()
    reporter.close()
    place_watch.stop()  # a report has begun it


def test_the_first_step_is_written_at_once_under_the_rank(process: Process) -> None:
    report(1840, loss=2.5)
    process.store.written.acquire()
    value = process.store.values.pop("muster/progress/2")
    assert value.pop("at") > 0
    assert value == {"step": 1840, "calls": 1, "longest": 0.0, "first": 1840, "scalars": {"loss": 2.5}}
    assert process.store.values == {}


def test_between_two_writes_only_the_newest_step_is_kept(process: Process) -> None:
    for step in range(50):
        report(step)
        if step == 0:
            process.store.written.acquire()
    process.pace.next()
    process.store.written.acquire()
    assert process.store.writes == 2
    value = process.store.values["muster/progress/2"]
    assert (value["step"], value["calls"]) == (49, 50)


def test_a_pause_is_announced_and_its_time_is_no_interval(process: Process) -> None:
    process.state.process_id = 0
    report(7)
    process.store.written.acquire()
    process.pace.wait_for_thread()
    process.pace.passes(2.0)
    with contextlib.suppress(OSError), pause(600):  # the pause ends with an error, too
        process.store.written.acquire()
        value = process.store.values["muster/progress/0"]
        assert (value["step"], value["calls"], value["pause"]) == (7, 2, 600.0)
        process.pace.passes(400.0)
        raise OSError("no space left")
    process.store.written.acquire()
    value = process.store.values["muster/progress/0"]
    assert (value["step"], value["calls"], value["longest"], "pause" in value) == (7, 3, 2.0, False)


def test_what_a_pause_takes_beyond_its_time_is_an_interval(process: Process) -> None:
    report(7)
    with pause(60):
        process.pace.passes(100.0)
    assert process.latest.longest == 40.0


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -5.0])
def test_a_pause_that_is_no_time_announces_nothing(seconds: float, process: Process) -> None:
    report(7)
    with pause(seconds):
        assert process.latest.spent.pause == 0.0


def test_a_pause_before_the_first_report_is_announced_to_the_watch_alone(process: Process) -> None:
    with pause(60):
        assert process.reporter._latest is None  # noqa: SLF001
        assert place_watch.announced() == 60
    assert place_watch.announced() == 0
    assert process.store.writes == 0


def test_nothing_is_written_again_while_nothing_is_reported(process: Process) -> None:
    report(1)
    process.store.written.acquire()
    for _ in range(5):
        process.pace.next()
    report(2)
    process.pace.next()
    process.store.written.acquire()
    assert process.store.writes == 2


@pytest.mark.parametrize(("processes", "seconds"), [(4, 10.0), (512, 10.0), (3_000, 15.0), (10_000, 20.0)])
def test_large_gangs_write_more_rarely_and_each_rank_has_its_turn(
    processes: int, seconds: float, process: Process
) -> None:
    process.state.num_processes = processes
    place = key_value_store()
    assert place is not None
    turn = 1000 * seconds + 2 * seconds / processes
    assert [place.next(1000 * seconds), place.next(turn + 0.001)] == pytest.approx([turn, turn + seconds])


def test_steps_are_written_every_ten_seconds_and_the_last_before_a_silence_after_four(process: Process) -> None:
    process.state.process_id, process.state.num_processes, process.pace.now = 1, 1, 799.0
    report(0)
    process.pace.wait_for_thread()
    steps = [(800.0 + step, step) for step in range(1, 16)]
    assert process.writes(*steps, (840.0, 16), (841.0, 17)) == [(810.0, 9), (819.0, 15)]


def test_rank_0_writes_every_second_at_first_and_soon_after_a_silence(process: Process) -> None:
    process.state.process_id, process.pace.now = 0, 800.0
    report(0)
    process.pace.wait_for_thread()
    steps = [(800.5 + step, step) for step in range(1, 13)]
    early = [(801.0 + step, step) for step in range(1, 10)]
    assert process.writes(*steps, (850.5, 50), (851.6, 51)) == [*early, (816.5, 12), (851.0, 50)]


def test_a_pause_of_rank_0_is_written_when_it_begins_and_ends_unless_another_has_just_begun(process: Process) -> None:
    process.state.process_id = 0
    report(7)
    process.store.written.acquire()
    process.pace.wait_for_thread()
    with pause(600, "checkpoint_save"):
        process.store.written.acquire()
        assert process.store.values["muster/progress/0"]["kind"] == "checkpoint_save"
        process.pace.passes(1.5)
    process.store.written.acquire()
    assert process.store.values["muster/progress/0"]["saved"] == 1.5
    for _ in range(10):
        with pause(600):
            pass
    assert process.store.writes == 3


def test_training_goes_on_while_process_0_is_stopped(process: Process) -> None:
    process.store.open.clear()
    report(0)
    process.store.asked.acquire()
    for step in range(1, 100):
        report(step)  # would wait forever if it wrote itself
    process.store.open.set()
    process.pace.next()
    process.store.written.acquire()
    process.store.written.acquire()
    assert process.store.values["muster/progress/2"]["step"] == 99


def test_without_a_distributed_client_nothing_happens(process: Process) -> None:
    process.state.client = None
    report(1)
    assert process.reporter._thread is None  # noqa: SLF001
    assert process.store.writes == 0


def test_a_failing_store_is_logged_once_and_never_raised(caplog: pytest.LogCaptureFixture, process: Process) -> None:
    process.store.error = RuntimeError("UNAVAILABLE: process 0 is gone")
    with caplog.at_level(logging.WARNING):
        for step in range(3):
            report(step)
            process.store.written.acquire()
            process.pace.next()
        report(3)
        process.store.written.acquire()
        process.reporter.close()
    assert [record.getMessage() for record in caplog.records] == [
        "a step is not reported (UNAVAILABLE: process 0 is gone); this is logged once"
    ]


def test_the_last_step_is_written_when_the_program_ends(process: Process) -> None:
    report(1)
    process.store.written.acquire()
    report(2)
    process.reporter.close()
    assert process.store.values["muster/progress/2"]["step"] == 2


def test_the_longest_pause_between_two_calls_is_told(process: Process) -> None:
    report(1)
    process.store.written.acquire()
    for passed in (7.5, 0.5, 2.0):
        process.pace.passes(passed)
        report(2)
    process.pace.next()
    process.store.written.acquire()
    value = process.store.values["muster/progress/2"]
    assert (value["at"], value["longest"]) == (110.0, 7.5)


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


def reported(step: Any, **scalars: Any) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(value_of(Latest(step, scalars, 1, 0.0, 0.0)))
    return value


@pytest.mark.parametrize(
    ("scalars", "written"),
    [
        ({"loss": Array()}, {"loss": 0.5}),
        (
            {"nan": float("nan"), "inf": float("inf"), "text": "high", "none": None, "gone": Donated(), "ok": 3},
            {"ok": 3.0},
        ),
        ({"n" * 33: 1.0, "n" * 32: 1.0}, {"n" * 32: 1.0}),
        ({f"loss{number}": 1.0 for number in range(20)}, {f"loss{number}": 1.0 for number in range(8)}),
    ],
    ids=["an array", "no finite number", "a long name", "the ninth"],
)
def test_scalars_are_few_finite_numbers_that_are_read_when_they_are_written(
    scalars: dict[str, Any], written: dict[str, float]
) -> None:
    found = reported(Array(), **scalars)
    assert (found["step"], found["scalars"]) == (12, written)


def test_a_value_that_would_be_too_long_goes_without_its_scalars() -> None:
    names = {"\u2400" * 31 + str(number): 0.1 for number in range(8)}
    assert "scalars" not in reported(1, **names)
    assert len(value_of(Latest(MAX_STEP, names, MAX_STEP, 1e9, 1e9))) <= MAX_VALUE


@pytest.mark.parametrize("step", [-1, 1 << 53, 1.5, "7", None, Donated()])
def test_a_step_that_is_no_whole_number_is_refused(step: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        value_of(Latest(step, {}, 1, 0.0, 0.0))


@pytest.mark.parametrize("way", ["when a step is done", "when a step begins"])
def test_the_first_step_began_after_the_compilation_whenever_the_program_reports(way: str, process: Process) -> None:
    if way == "when a step begins":
        report(0)
    process.pace.passes(40.0)  # compilation
    began = process.pace.now
    for step in range(1, 4):
        process.pace.passes(2.0)
        report(step)
    latest = process.latest
    assert latest.spent.begun == began + (2.0 if way == "when a step is done" else 0.0)


def test_the_totals_of_pauses_are_by_kind_and_work_is_without_them(process: Process) -> None:
    report(60)
    for kind, long in (
        ("checkpoint_restore", 3.0),
        ("checkpoint_save", 5.0),
        ("", 7.0),
        ("data_loading", 2.0),
        ("checkpoint_save", 9.0),
    ):
        with pause(600, kind):
            process.pace.passes(long)
        report(61)
    latest = process.latest
    value = json.loads(value_of(latest))
    assert [value[name] for name in ("saved", "restored", "loaded", "paused", "first")] == [14.0, 3.0, 2.0, 26.0, 60]
    assert value["begun"] == 100.0
    assert "kind" not in value
    assert latest.longest == 0.0


def test_a_first_step_that_is_no_number_is_left_out_alone(process: Process) -> None:
    report("start")
    report(5)
    latest = process.latest
    assert (json.loads(value_of(latest))["step"], "first" in value_of(latest)) == (5, False)
