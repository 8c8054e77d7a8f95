"""How long a pod with ``activeDeadlineSeconds`` may still run."""

import pytest

from muster.local.node.objects import SECOND
from muster.local.node.pods.pod_worker import time_left
from tests.local.node.harness import pod

STARTED = 1_790_000_000 * SECOND


@pytest.mark.parametrize(("passed", "left"), [(0, 60.0), (15, 45.0), (60, 0.0), (3600, 0.0)])
def test_a_pod_runs_for_the_whole_seconds_of_its_deadline(passed: int, left: float) -> None:
    assert time_left(pod("p", activeDeadlineSeconds=60), STARTED, STARTED + passed * SECOND) == left


def test_a_pod_without_a_deadline_has_any_time() -> None:
    assert time_left(pod("p"), STARTED, STARTED + SECOND) is None
