"""A coordinator that has served and has no pod any more ends the epoch, also before all members had a node."""

import pytest

from muster.state.decide.machine import decide
from muster.state.view.roll import RankState
from muster.state.vocabulary.actions import ConfirmLoss
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Phase
from tests.builders import plan, sure
from tests.kinds.ray.test_kuberay import planned
from tests.state.story import Story, creations


def gone(what: Plan, *, served: bool = True) -> Story:
    """The pod of rank 0, which alone had one, is gone; another daemon starts."""
    story = Story(what)
    story.obey()
    story.view.engine.confirmed, story.view.engine.service = 0, True
    if 0 not in story.view.of(0).members:
        story.set(0, 0)
    story.start(0)
    story.look(1)
    if served:
        ip = story.view.of(0).members[0].ip
        story.observe_probe(states=(RankState.ARRIVED,), identities=(ip,), expected=what.size)
        story.look(1)
    story.gone(0)
    story.take_over()
    return story


RAY, JAX = planned(), plan()


@pytest.mark.parametrize("what", [RAY, JAX], ids=["kuberay", "jax"])
def test_a_coordinator_that_the_record_says_served_is_lost_when_its_pod_is_gone(what: Plan) -> None:
    story = gone(what)
    (asked,) = story.look(1)
    assert isinstance(asked, ConfirmLoss), "the live API is asked, and nothing is created"
    story.do(asked)
    ended = decide(story.plan, story.record, story.view, story.now).record
    assert (ended.phase, ended.epoch, ended.disruptions, ended.restarts) == (Phase.RESTARTING, 1, 1, 0)
    assert sure(ended.cause).reason == "PodDeleted"


@pytest.mark.parametrize("what", [RAY, JAX], ids=["kuberay", "jax"])
def test_a_coordinator_that_never_served_is_created_again_in_its_epoch(what: Plan) -> None:
    story = gone(what, served=False)
    assert 0 in creations(story.look(1))
    assert story.kept.epoch == 0


def test_a_lost_coordinator_that_the_live_api_still_has_ends_nothing() -> None:
    story = gone(RAY)
    for _ in range(3):
        assert [type(each) for each in story.look(1)] == [ConfirmLoss], "asked until the watch brings the pod"
    story.start(0)
    assert story.kept.epoch == 0
