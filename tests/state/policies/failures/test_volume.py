"""The loss of the shared volume is persisted and said before the claim is made anew."""

from dataclasses import replace

from muster.state.vocabulary.actions import CreatePods, EnsureClaims
from muster.state.vocabulary.pod import Claim
from muster.state.vocabulary.record import Phase
from tests.builders import plan
from tests.state.story import Story

CLAIM = Claim("run-shared", {}, exclusive=True)
SAID = "the shared volume was deleted, not by Muster, and is created again: its data is lost"


def second_epoch() -> Story:
    """A gang with a shared volume, whose first epoch has ended."""
    story = Story(replace(plan(limit=3), claims=(CLAIM,))).bring_up()
    assert story.kept.volume_at is not None
    story.end(1, 7)
    while not any(isinstance(each, EnsureClaims) for each in story.look(5)):
        story.obey()
    return story


def test_a_volume_that_is_gone_is_reported_once_and_for_as_long_as_the_experiment_runs() -> None:
    story = second_epoch()
    story.view.engine.volume_gone = 1
    asked = story.look()
    assert story.kept.volume_lost_at == story.now
    assert story.kept.volume_at is None
    assert SAID in story.kept.message
    assert story.told.count("SharedVolumeLost") == 1
    assert any(isinstance(each, EnsureClaims) for each in asked), "it is made anew once that is persisted"
    assert not any(isinstance(each, CreatePods) for each in asked)
    story.view.engine.claims, story.view.engine.volume_gone = 1, -1
    story.launch()
    story.start()
    story.look(10)
    assert story.kept.phase is Phase.ASSEMBLING
    assert SAID in story.kept.message
    assert (story.told.count("SharedVolumeLost"), story.kept.volume_at is not None) == (1, True)


def test_a_volume_that_is_found_is_not_reported_to_be_lost() -> None:
    story = second_epoch()
    story.view.engine.claims = 1
    story.launch()
    assert story.kept.volume_lost_at is None
    assert "SharedVolumeLost" not in story.told
