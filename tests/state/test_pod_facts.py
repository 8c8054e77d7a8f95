"""What one pod says about itself."""

import pytest

from muster.state.pod import Exit, PodPhase
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
