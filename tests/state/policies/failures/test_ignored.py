"""Ignored members count as ended, never as succeeded, and are not run again in their epoch."""

from dataclasses import replace
from typing import Any

from muster.state.coordinator import ProbeKind
from muster.state.group import Group
from muster.state.pod_spec import PodSpec
from muster.state.record import Phase
from muster.state.rules import FailureAction, FailureRule, Quantifier, SuccessRule
from tests.builders import plan
from tests.state.story import Story

IGNORE = FailureRule(FailureAction.IGNORE)


def story(**changes: Any) -> Story:
    """Four jobs of one member each, that run."""
    usual = plan(probe=ProbeKind.NONE, survivor_exits=frozenset(), survivor_text="", failures=(IGNORE,), **changes)
    told = Story(replace(usual, groups=(Group("worker", 4, 1, PodSpec("i", "c"), 0),), coordinator=None))
    told.launch()
    told.start()
    told.look(1)
    return told


def test_an_ignored_member_is_not_run_again_and_the_others_go_on() -> None:
    told = story()
    told.end(1, 1)
    assert told.look() == ()
    assert (told.kept.ignored, told.kept.phase, told.kept.restarts, told.kept.epoch) == ("1", Phase.RUNNING, 0, 0)
    assert told.look(60) == ()
    assert "MemberIgnored" in told.told
    assert told.view.of(0).failed == {}


def test_it_is_not_run_again_when_its_pod_is_removed() -> None:
    told = story()
    told.end(1, 1)
    told.look()
    told.gone(1)
    assert told.look(1) == ()
    assert (told.kept.epoch, told.view.of(0).pods) == (0, 4)


def test_the_experiment_fails_when_every_other_member_has_ended() -> None:
    told = story()
    told.end(1, 1)
    told.look()
    for rank in (0, 2):
        told.end(rank)
        told.look(1)
        assert told.kept.phase is Phase.RUNNING
    told.end(3)
    told.look(1)
    assert (told.kept.phase, told.kept.reason) == (Phase.FAILED, "IgnoredMembersFailed")
    assert told.kept.message == "every member has ended; rank 1 failed and was not run again"


def test_with_any_it_succeeds_with_the_first_job_and_fails_when_none_is_left() -> None:
    any_job = SuccessRule(Quantifier.ANY)
    told = story(success=any_job)
    told.end(1, 1)
    told.look()
    told.end(2)
    told.look(1)
    assert told.kept.phase is Phase.SUCCEEDED
    told = story(success=any_job)
    for rank in range(4):
        told.end(rank, 1)
    told.look()
    told.look()
    assert (told.kept.phase, told.kept.reason) == (Phase.FAILED, "IgnoredMembersFailed")


def test_a_new_daemon_knows_the_members_that_are_given_up() -> None:
    told = story()
    told.end(1, 1)
    told.look()
    fresh = Story(told.plan, now=told.now)
    fresh.record = told.record
    for each in told.pods.values():
        if each.rank != 1:
            fresh.view.change(None, each)
    fresh.launch()
    assert fresh.view.of(0).pods == 4
    assert fresh.pods == {}
