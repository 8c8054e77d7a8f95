"""What one pod says about itself."""

import pytest

from muster.state.vocabulary.pod import Exit, PodPhase
from tests.builders import pod


def ended(code: int) -> Exit:
    return Exit("main", code, 0, "", "", 0.0)


@pytest.mark.parametrize(
    ("phase", "live"),
    [("Pending", True), ("Running", True), ("Unknown", True), ("Succeeded", False), ("Failed", False)],
)
def test_only_a_finished_pod_runs_nothing_any_more(phase: str, live: bool) -> None:
    assert pod(phase=PodPhase(phase)).live is live


@pytest.mark.parametrize(
    ("phase", "code", "failed", "succeeded"),
    [
        ("Running", None, False, False),
        ("Running", 0, False, True),
        ("Running", 1, True, False),
        ("Succeeded", None, False, True),
        ("Failed", None, True, False),
        ("Failed", 1, True, False),
        ("Failed", 0, False, True),
    ],
)
def test_the_exit_decides_before_the_phase_does(phase: str, code: int | None, failed: bool, succeeded: bool) -> None:
    judged = pod(phase=PodPhase(phase), exit=None if code is None else ended(code))
    assert (judged.failed, judged.succeeded) == (failed, succeeded)


@pytest.mark.parametrize("code", [0, 1, 143])
@pytest.mark.parametrize(("ended_at", "interrupted"), [(99.0, False), (100.0, True), (130.0, True)])
def test_a_program_that_ends_once_it_was_asked_to_is_interrupted(code: int, ended_at: float, interrupted: bool) -> None:
    exit_ = Exit("main", code, 0, "", "", ended_at)
    judged = pod(phase=PodPhase.FAILED if code else PodPhase.SUCCEEDED, exit=exit_, terminating=True, stopped_at=100.0)
    assert judged.interrupted is interrupted
    assert judged.succeeded is (code == 0 and not interrupted)
    assert judged.failed is not judged.succeeded


def test_without_times_an_end_counts_for_what_it_is() -> None:
    assert pod(exit=ended(0), terminating=True).succeeded
    assert pod(exit=ended(0), terminating=True, stopped_at=100.0).succeeded
    assert pod(phase=PodPhase.SUCCEEDED, terminating=True, stopped_at=100.0).succeeded
