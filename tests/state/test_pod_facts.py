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
    ("phase", "code", "failed"),
    [
        ("Running", None, False),
        ("Running", 0, False),
        ("Running", 1, True),
        ("Failed", None, True),
        ("Failed", 0, True),
    ],
)
def test_a_failing_container_fails_the_pod_before_the_pod_knows(phase: str, code: int | None, failed: bool) -> None:
    assert pod(phase=PodPhase(phase), exit=None if code is None else ended(code)).failed is failed
