"""A coordinator that has served and has no pod any more ends the epoch, also before all members had a node."""

import pytest

from muster.state.decide.machine import decide
from muster.state.view.engine_facts import EngineFacts
from muster.state.view.roll import RankState
from muster.state.view.view import View
from muster.state.vocabulary.actions import ConfirmLoss, CreatePods
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Phase
from tests.builders import plan
from tests.kinds.ray.test_kuberay import planned
from tests.state.story import Story


def served(what: Plan) -> Story:
    """Rank 0 serves, and no other member has a pod yet."""
    story = Story(what)
    story.obey()
    story.view.engine.confirmed, story.view.engine.service = 0, True
    if 0 not in story.view.of(0).members:
        story.set(0, 0)
    story.start(0)
    story.look(1)
    ip = story.view.of(0).members[0].ip
    story.observe_probe(states=(RankState.ARRIVED,), identities=(ip,), expected=what.size)
    story.look(1)
    return story


def another_daemon(story: Story) -> None:
    """A daemon starts that knows the record and the pods that there are now."""
    here = list(story.view.pods())
    story.view = View(engine=EngineFacts(service=True))
    for each in here:
        story.view.change(None, each)


RAY, JAX = planned(), plan()


@pytest.mark.parametrize("what", [RAY, JAX], ids=["kuberay", "jax"])
def test_a_coordinator_that_the_record_says_served_is_lost_when_its_pod_is_gone(what: Plan) -> None:
    story = served(what)
    story.gone(0)
    another_daemon(story)
    (asked,) = story.look(1)
    assert isinstance(asked, ConfirmLoss), "the live API is asked, and nothing is created"
    story.do(asked)
    ended = decide(story.plan, story.record, story.view, story.now).record
    assert (ended.phase, ended.epoch, ended.disruptions, ended.restarts) == (Phase.RESTARTING, 1, 1, 0)
    assert ended.cause is not None
    assert ended.cause.reason == "PodDeleted"


@pytest.mark.parametrize("what", [RAY, JAX], ids=["kuberay", "jax"])
def test_a_coordinator_that_never_served_is_created_again_in_its_epoch(what: Plan) -> None:
    story = Story(what)
    story.obey()
    story.view.engine.confirmed, story.view.engine.service = 0, True
    if 0 not in story.view.of(0).members:
        story.set(0, 0)
    story.start(0)
    story.look(1)
    story.gone(0)
    another_daemon(story)
    story.view.engine.confirmed = 0
    created = [each for each in story.look(1) if isinstance(each, CreatePods)]
    assert 0 in [member.rank for each in created for member in each.members]
    assert story.kept.epoch == 0


def test_a_lost_coordinator_that_the_live_api_still_has_ends_nothing() -> None:
    story = served(RAY)
    story.gone(0)
    another_daemon(story)
    for _ in range(3):
        assert [type(each) for each in story.look(1)] == [ConfirmLoss], "asked until the watch brings the pod"
    story.start(0)
    assert story.kept.epoch == 0
