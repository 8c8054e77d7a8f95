"""Edits of what pods are made of: said until the next epoch, and never a reason to restart."""

from dataclasses import replace

import pytest
from msgspec.structs import replace as edit

from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Phase
from tests.builders import edited, plan
from tests.state.story import Story

MADE, EDITED = "image=1,storage=1,debug=1", "image=1,storage=2,debug=2"
SENTENCE = "the edit of spec.storage, spec.debug applies to pods that are created from now on, not to those that run"


def shaped(shape: str = MADE) -> Plan:
    return plan(size=2, shape=shape)


def running() -> Story:
    story = Story(shaped()).assemble()
    assert (story.kept.shape, story.kept.pending_edits) == (MADE, "")
    return story


def test_an_edit_of_a_running_gang_is_reported_and_changes_nothing() -> None:
    story = running()
    story.plan = replace(shaped(EDITED), generation=2)
    assert story.look(1) == ()
    assert (story.kept.phase, story.kept.epoch, story.kept.shape) == (Phase.RUNNING, 0, MADE)
    assert story.kept.pending_edits == "spec.storage, spec.debug"
    assert story.kept.message.endswith(SENTENCE)
    assert story.told[-1] == "EditPending"
    writes = story.writes
    story.look(30)
    assert story.writes == writes
    story.plan = replace(shaped(), generation=3)
    story.look(1)
    assert (story.kept.pending_edits, SENTENCE in story.kept.message) == ("", False), "it was taken back"


def test_the_next_epoch_follows_it() -> None:
    story = running()
    story.plan = replace(shaped(EDITED), generation=2)
    story.look(1)
    story.end(1, 1)
    story.look()
    assert (story.kept.phase, story.kept.shape, story.kept.pending_edits) == (Phase.RESTARTING, EDITED, "")


WRONG = "spec.failurePolicy.rules[0].targetGroups[0]: there is no type c, the types are a, b"


@pytest.mark.parametrize("problem", [WRONG, "x" * 5_000])
def test_an_edit_that_cannot_be_run_is_not_followed_and_its_reason_is_written_once_in_few_words(problem: str) -> None:
    story = running()
    story.plan = edited(shaped(), problem=f"{problem}\n")
    assert story.look(1) == ()
    words = story.kept.pending_edits
    assert (story.kept.phase, words[:50]) == (Phase.RUNNING, problem[:50])
    assert (words == problem) is (problem == WRONG)
    assert story.kept.message.endswith(f"the last edit is not applied, and the run continues without it: {words}")
    assert len(story.kept.message) < 700
    assert story.told[-1] == "EditRefused"
    writes = story.writes
    story.look(60)
    assert story.writes == writes
    story.plan = replace(shaped(), generation=3)
    story.look(1)
    assert (story.kept.pending_edits, words in story.kept.message) == ("", False)


def test_an_edit_of_a_suspended_experiment_is_followed_when_it_is_resumed() -> None:
    story = Story(edited(shaped(), suspend=True))
    story.look()
    story.plan = edited(shaped(EDITED), suspend=True, generation=2)
    story.look(1)
    assert (story.kept.shape, story.kept.pending_edits) == (EDITED, "")


@pytest.mark.parametrize("suspended", [True, False], ids=["with the resumption", "before the first pod"])
def test_an_edit_before_an_epoch_has_pods_is_the_spec_and_no_edit(suspended: bool) -> None:
    """Kueue admits a JobSet by one patch: suspend false, and the node selectors of the flavor."""
    story = Story(edited(shaped(), suspend=suspended))
    story.look(1)
    assert story.kept.phase is (Phase.SUSPENDED if suspended else Phase.PENDING)
    story.plan = replace(shaped(EDITED), generation=2)
    story.assemble()
    assert (story.kept.phase, story.kept.shape, story.kept.pending_edits) == (Phase.RUNNING, EDITED, "")
    assert "EditPending" not in story.told
    assert SENTENCE not in story.kept.message


def test_a_record_of_an_older_release_takes_the_shape_of_the_spec_without_a_word() -> None:
    story = running()
    story.record = edit(story.kept, shape="")
    story.look(1)
    assert story.kept.pending_edits == ""
