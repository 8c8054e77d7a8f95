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
from muster.reporting.reporter import Latest, Reporter, Reports
from muster.torch.reporting import TORCH


class Written:
    """A channel that is there when it is opened."""

    prompt, quiet = False, 1.0

    def __init__(self) -> None:
        self.steps: list[object] = []
        self.written = threading.Semaphore(0)

    def next(self, now: float) -> float:
        return now + 1.0

    def write(self, latest: Latest) -> None:
        self.steps.append(latest.step)
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


def test_a_channel_that_fails_to_be_found_costs_the_report_and_not_the_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
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
