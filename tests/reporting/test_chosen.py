"""``muster.report``: of the channels that are there it takes the best, and keeps it."""

import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import SimpleNamespace

import pytest

import muster
import muster.jax
import muster.torch
from muster import programs
from muster.jax.reporting import JAX
from muster.reporting import reporter as reporter_module
from muster.reporting.reporter import SHOWN_AGAIN, Latest, Reporter, Reports
from muster.torch.reporting import TORCH


class Written:
    """A channel that is there when it is opened."""

    prompt, quiet, shows_work = False, 1.0, False

    def __init__(self) -> None:
        self.steps: list[object] = []
        self.works: list[float] = []
        self.written = threading.Semaphore(0)

    def next(self, now: float) -> float:
        return now + 1.0

    def write(self, latest: Latest) -> None:
        self.steps.append(latest.step)
        self.works.append(latest.works)
        self.written.release()


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (JAX, TORCH):
        monkeypatch.delitem(sys.modules, module, raising=False)
    for prefix in ("SERVER", "STATUS"):
        monkeypatch.delenv(f"KUBEFLOW_TRAINER_{prefix}_URL", raising=False)


def test_the_first_channel_that_is_there_is_taken_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = Written(), Written()
    found: list[Written] = []
    reporter = Reporter((lambda: found[0] if found else None, lambda: second))
    monkeypatch.setattr(programs, "reports", Reports(reporter))
    muster.report(1)
    second.written.acquire()
    found.append(first)
    muster.report(2)
    reporter.close()
    assert (first.steps, second.steps) == ([], [1, 2])


def test_without_any_channel_a_report_and_a_pause_do_nothing(absent: None, monkeypatch: pytest.MonkeyPatch) -> None:
    reporter = Reporter(programs.reports.reporter.channels)
    monkeypatch.setattr(programs, "reports", Reports(reporter))
    with muster.pause(60):
        muster.report(1, loss=0.5)
    assert reporter._thread is None  # noqa: SLF001


def test_a_channel_that_fails_to_be_found_costs_the_report_and_not_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Written | None:
        raise RuntimeError("no group")

    monkeypatch.setattr(programs, "reports", Reports(Reporter((broken,))))
    muster.report(1)


def test_jax_comes_before_torch_and_the_endpoint(absent: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBEFLOW_TRAINER_SERVER_URL", "https://musterd:8443/")
    monkeypatch.setenv("KUBEFLOW_TRAINER_SERVER_TOKEN", "/token")
    there = [find() is not None for find in programs.reports.reporter.channels]
    assert there == [False, False, True]
    state = SimpleNamespace(client=object(), process_id=0, num_processes=1)
    monkeypatch.setitem(sys.modules, JAX, SimpleNamespace(global_state=state))
    there = [find() is not None for find in programs.reports.reporter.channels]
    assert there == [True, False, True]


@pytest.mark.parametrize(
    "reports", [muster.report, muster.jax.report, muster.torch.report], ids=lambda each: each.__module__
)
@pytest.mark.parametrize("pauses", [muster.pause, muster.jax.pause, muster.torch.pause])
def test_a_pause_by_any_name_is_of_the_reports_by_any_name(
    reports: Callable[[int], None],
    pauses: Callable[[float], AbstractContextManager[None]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = Written()
    reporter = Reporter((lambda: written,))
    monkeypatch.setattr(programs, "reports", Reports(reporter))
    reports(1)
    written.written.acquire()
    with pauses(300):
        assert reporter._latest is not None  # noqa: SLF001
        assert reporter._latest.spent.pause == 300  # noqa: SLF001
    reporter.close()


def test_a_program_at_work_between_two_reports_shows_that_where_nothing_else_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = Written()
    monkeypatch.setattr(Reporter, "_works", lambda _self, _place, _now: 45.0)
    monkeypatch.setattr(reporter_module, "SHOWN_AGAIN", 0.0)
    reporter = Reporter((lambda: written,))
    reporter.take(7, {})
    written.written.acquire()
    written.written.acquire()
    reporter.close()
    assert set(written.steps) == {7}
    assert written.works[:2] == [45.0, 45.0]


@pytest.mark.parametrize(
    ("shows", "quiet", "works"), [(True, 3.0, True), (True, SHOWN_AGAIN, False), (False, 3.0, False)]
)
def test_a_program_is_shown_at_work_for_as_long_as_it_was_seen_to_be(shows: bool, quiet: float, works: bool) -> None:
    place, reporter = Written(), Reporter(())
    place.shows_work = shows
    reporter._watch = SimpleNamespace(look=lambda _now: None, worked=100.0 - quiet)  # type: ignore[assignment]  # noqa: SLF001
    assert reporter._works(place, 100.0) == (1.0 + 2 * SHOWN_AGAIN if works else 0.0)  # noqa: SLF001
