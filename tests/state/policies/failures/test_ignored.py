"""Ignored members count as ended, never as succeeded, and are not run again in their epoch."""

from dataclasses import replace
from typing import Any

from muster.state.vocabulary.group import Group, ProbeKind
from muster.state.vocabulary.pod import PodSpec
from muster.state.vocabulary.record import Phase
from muster.state.vocabulary.rules import FailureAction, FailureRule, Quantifier, SuccessRule
from tests.builders import plan
from tests.state.story import Story

IGNORE = FailureRule(FailureAction.IGNORE)


def story(**changes: Any) -> Story:
    """Four jobs of one member each, that run."""
    usual = plan(probe=ProbeKind.NONE, survivor_exits=frozenset(), survivor_text="", rules=(IGNORE,), **changes)
    return Story(replace(usual, groups=(Group("worker", 4, 1, PodSpec("i", "c"), 0),), coordinator=None)).bring_up()


def test_an_ignored_member_is_not_run_again_and_the_others_go_on() -> None:
    life = story()
    life.end(1, 1)
    assert life.look() == ()
    assert (life.kept.ignored, life.kept.phase, life.kept.restarts, life.kept.epoch) == ("1", Phase.RUNNING, 0, 0)
    assert life.look(60) == ()
    assert "MemberIgnored" in life.told
    assert life.view.of(0).failed == {}
    life.gone(1)
    assert life.look(1) == (), "also when its pod is removed"
    assert (life.kept.epoch, life.view.of(0).pods) == (0, 4)


def test_the_experiment_fails_when_every_other_member_has_ended() -> None:
    life = story()
    life.end(1, 1)
    life.look()
    for rank in (0, 2):
        life.end(rank)
        life.look(1)
        assert life.kept.phase is Phase.RUNNING
    life.end(3)
    life.look(1)
    assert (life.kept.phase, life.kept.reason) == (Phase.FAILED, "IgnoredMembersFailed")
    assert life.kept.message == "every member has ended; rank 1 failed and was not run again"


def test_with_any_it_succeeds_with_the_first_job_and_fails_when_none_is_left() -> None:
    any_job = SuccessRule(Quantifier.ANY)
    life = story(success=any_job)
    life.end(1, 1)
    life.look()
    life.end(2)
    life.look(1)
    assert life.kept.phase is Phase.SUCCEEDED
    life = story(success=any_job)
    for rank in range(4):
        life.end(rank, 1)
    life.look()
    life.look()
    assert (life.kept.phase, life.kept.reason) == (Phase.FAILED, "IgnoredMembersFailed")


def test_a_new_daemon_knows_the_members_that_are_given_up() -> None:
    life = story()
    life.end(1, 1)
    life.look()
    life.gone(1)
    life.take_over()
    life.launch()
    assert life.view.of(0).pods == 4
    assert sorted(rank for _, rank in life.pods) == [0, 2, 3]
