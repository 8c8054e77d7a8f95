"""Members whose pods run other containers beside ``main``: the member is done when ``main`` is."""

from dataclasses import replace
from typing import Any

import pytest

from muster.state.vocabulary.actions import StopPods
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.pod import Exit, PodPhase, PodSpec
from muster.state.vocabulary.record import ConditionType, Phase
from tests.builders import plan
from tests.state.story import Story, created

STUCK = ConditionType.STUCK


def done(story: Story, rank: int, **changes: Any) -> None:
    """Container main of a member exits 0; the pod stays Running because of its sidecar."""
    story.set(rank, ready=False, exit=Exit("main", 0, 0, "Completed", "", story.now), **changes)


def test_an_experiment_succeeds_while_its_sidecars_run_and_then_ends_them() -> None:
    story = Story(plan()).assemble()
    for rank in range(3):
        done(story, rank)
        story.look(1)
        assert story.kept.phase is Phase.RUNNING
    done(story, 3)
    (action,) = story.look(1)
    assert story.kept.phase is Phase.SUCCEEDED
    assert isinstance(action, StopPods)
    assert sorted(pod.rank for pod in action.pods) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "then",
    [{"phase": PodPhase.FAILED}, {"terminating": True, "disruption": "EvictionByEvictionAPI"}],
    ids=["its sidecar is killed", "its pod is evicted"],
)
def test_nothing_that_happens_to_a_member_that_is_done_restarts_the_gang(then: dict[str, Any]) -> None:
    story = Story(plan()).assemble()
    done(story, 1, **then)
    story.look(1)
    assert (story.kept.phase, story.kept.restarts, story.kept.disruptions) == (Phase.RUNNING, 0, 0)


def test_a_sidecar_takes_no_place_of_the_next_member() -> None:
    group = Group("worker", replicas=1, completions=2, pod=PodSpec(), first_rank=0, parallelism=1)
    story = Story(plan(groups=(group,), coordinator=None)).launch()
    story.start(0)
    done(story, 0)
    assert created(story.look(1)) == [1]


def test_a_gang_whose_pods_are_kept_by_other_containers_is_stuck_after_30_seconds() -> None:
    """Of a JobSet, where the phase of a pod says how it ends."""
    story = Story(replace(plan(), operator="jobset", coordinator=None)).assemble()
    for rank in range(4):
        story.set(rank, ready=False, outlived_by="istio-proxy")
    story.look(1)
    assert story.condition(STUCK)[0] is False
    story.look(31)
    assert story.condition(STUCK) == (True, "ContainerRunsOn")
    for rank in range(4):
        story.set(rank, outlived_by="", phase=PodPhase.SUCCEEDED, exit=Exit("main", 0, 0, "Completed", "", story.now))
    story.look(1)
    assert story.kept.phase is Phase.SUCCEEDED
