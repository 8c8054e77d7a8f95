"""Repair: a member, or a job, runs again while the epoch goes on."""

from dataclasses import replace
from typing import Any

import pytest

from muster.api.gang import Attempts, JobRestarts
from muster.state.vocabulary.actions import Action, ConfirmLaunch, ConfirmLoss, CreatePods, DeletePods
from muster.state.vocabulary.group import Group, ProbeKind
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import PodPhase, PodSpec
from muster.state.vocabulary.record import Phase
from muster.state.vocabulary.rules import Backoff, Escalation, FailureAction, FailureRule
from tests.builders import plan, sure
from tests.state.story import Story

MEMBER = FailureRule(FailureAction.RESTART_MEMBER)
JOB = FailureRule(FailureAction.RESTART_JOB)
LOST = FailureRule(FailureAction.RESTART_MEMBER, disruption=True, counted=False)


def story(*rules: FailureRule, groups: tuple[Group, ...] = (), **changes: Any) -> Story:
    """A gang that runs, with these rules. Without groups: two jobs of two members each, called ``worker``."""
    members = groups or (Group("worker", 2, 2, PodSpec("image", "run"), 0),)
    wanted: Plan = plan(
        probe=ProbeKind.NONE, survivor_exits=frozenset(), survivor_text="", culprits=(), rules=rules, **changes
    )
    life = Story(replace(wanted, groups=members)).bring_up()
    assert life.kept.phase is Phase.RUNNING
    return life


def settle(life: Story) -> list[Action]:
    """Do what the decisions ask; what that was."""
    done: list[Action] = []
    for _ in range(20):
        actions = life.look()
        if not actions:
            return done
        for action in actions:
            life.do(action)
        done += actions
    raise AssertionError("the decisions do not come to an end")


def created(actions: list[Action]) -> list[tuple[int, int]]:
    """Rank and attempt of each pod that was created."""
    waves = [each for each in actions if isinstance(each, CreatePods)]
    return [(member.rank, dict(wave.attempts).get(member.rank, 0)) for wave in waves for member in wave.members]


def test_a_failed_member_runs_again_and_the_gang_goes_on() -> None:
    life = story(MEMBER)
    life.end(1, 3)
    assert life.look() == ()  # the pod of the cause is kept, and the back-off runs
    assert (life.kept.epoch, life.kept.phase, life.kept.restarts) == (0, Phase.RUNNING, 1)
    assert life.kept.attempts == (Attempts("1", 1, life.now + 1),)
    assert life.wake_at == life.now + 1
    assert "MemberRestart" in life.told
    assert life.obey(1) == (ConfirmLaunch(0, ((1, 1),)),), "the live API is asked before it is created"
    assert created(settle(life)) == [(1, 1)]
    life.start(1)
    assert life.look(1) == ()
    assert (life.kept.epoch, life.kept.phase, life.kept.cause and life.cause.rank) == (0, Phase.RUNNING, 1)


def test_the_next_attempt_waits_until_the_older_pod_has_ended() -> None:
    life = story(LOST)
    life.set(1, terminating=True, delete_by=life.now + 30)
    assert life.look() == ()
    assert life.kept.attempts == (Attempts("1", 1, life.now),)
    assert (life.kept.restarts, life.kept.disruptions) == (0, 1)
    assert life.look(20) == ()
    life.set(1, attempt=0, phase=PodPhase.FAILED)
    assert created(settle(life)) == [(1, 1)]
    assert (life.kept.attempts[0].attempt, life.kept.disruptions) == (1, 1), "that end is not counted again"


def test_a_burst_of_failures_is_one_write() -> None:
    life = story(MEMBER)
    for rank in (0, 1, 3):
        life.end(rank, 3)
    writes = life.writes
    life.look()
    assert life.writes == writes + 1
    assert life.kept.attempts == (Attempts("0-1,3", 1, life.now + 1),)
    assert life.kept.restarts == 3


def test_a_member_that_fails_again_waits_longer() -> None:
    life = story(MEMBER)
    for attempt, wait in ((1, 1), (2, 2), (3, 4)):
        life.end(1, 3)
        life.look()
        assert life.kept.attempts == (Attempts("1", attempt, life.now + wait),)
        life.now += wait
        assert created(settle(life)) == [(1, attempt)]
        life.start(1)
        life.look(1)


def test_a_member_that_worked_for_long_waits_as_after_its_first_failure() -> None:
    life = story(MEMBER)
    life.end(1, 3)
    life.look()
    life.now += 1
    settle(life)
    life.start(1)
    life.look(400)
    life.end(1, 3)
    life.look()
    assert life.kept.attempts == (Attempts("1", 2, life.now + 1),)


@pytest.mark.parametrize(
    "rules",
    [(replace(MEMBER, exit_codes=(3,)),), (replace(MEMBER, per_job=1, counted=False),)],
    ids=["the loss of its pod would restart the gang", "the next failure would restart the gang"],
)
def test_a_member_that_waits_for_its_next_attempt_is_not_lost(rules: tuple[FailureRule, ...]) -> None:
    life = story(*rules, backoff=Backoff(10))
    life.end(1, 3)
    settle(life)
    life.look(5)
    assert settle(life) == []
    life.now += 5
    assert created(settle(life)) == [(1, 1)]
    assert (life.kept.epoch, life.kept.phase) == (0, Phase.RUNNING)


def test_counted_repairs_use_the_budget() -> None:
    life = story(MEMBER, limit=1)
    life.end(1, 3)
    life.end(2, 3)
    life.look()
    assert (life.kept.phase, life.kept.reason) == (Phase.FAILED, "BackoffLimitExceeded")


def test_a_failure_that_takes_the_gang_down_goes_first_and_every_rank_begins_its_first_attempt() -> None:
    life = story(FailureRule(FailureAction.RESTART_GANG, exit_codes=(7,)), MEMBER, backoff=Backoff(0))
    life.end(1, 3)
    settle(life)
    life.start(1)
    life.end(1, 3)
    life.end(2, 7, at=life.now + 1)
    life.look()
    assert (life.kept.epoch, life.kept.attempts, life.kept.gang_restarts, life.kept.restarts) == (1, (), 1, 2)
    assert life.cause.rank == 2
    assert created(settle(life)) == [(0, 0), (1, 0), (2, 0), (3, 0)]


def test_a_member_that_is_gone_runs_again() -> None:
    life = story(LOST)
    life.gone(2)
    assert life.look() == (ConfirmLoss(0, attempts=((2, 0),)),)
    life.do(ConfirmLoss(0, attempts=((2, 0),)))
    assert created(settle(life)) == [(2, 1)]
    assert (life.kept.epoch, life.kept.disruptions) == (0, 1)


def test_a_gone_member_of_a_group_that_is_lost_to_the_gang_ends_the_epoch() -> None:
    groups = (Group("head", 1, 1, PodSpec("i", "c"), 0), Group("worker", 1, 3, PodSpec("i", "c"), 1, first_job=1))
    life = story(replace(LOST, groups=("worker",)), groups=groups)
    life.gone(0)
    life.do(life.look()[0])
    life.look()
    assert (life.kept.epoch, life.kept.phase) == (1, Phase.RESTARTING)


def test_a_member_that_went_while_no_daemon_ran_runs_again_as_one_that_was_seen_to_go() -> None:
    life = story(LOST)
    life.gone(2)
    life.take_over()
    assert created(settle(life)) == [(2, 1)]
    assert (life.kept.epoch, life.kept.disruptions) == (0, 1)


def test_a_member_of_a_later_attempt_that_no_daemon_saw_is_created_in_it() -> None:
    life = story(LOST)
    life.gone(2)
    settle(life)
    life.gone(2)
    life.take_over()
    life.view.engine.confirmed = -1
    assert created(settle(life)) == [(2, 1)], "nothing shows that it existed"
    assert life.kept.disruptions == 1


@pytest.mark.parametrize("other_ended", [True, False])
def test_a_restarted_job_runs_all_of_its_members_again_and_no_other(other_ended: bool) -> None:
    life = story(JOB, backoff=Backoff(0))
    if other_ended:
        life.end(3, 0)
    life.look(1)
    life.end(2, 3)
    first = life.obey()
    assert other_ended or [type(each) for each in first] == [DeletePods], "no pod runs beside one of its earlier life"
    done = [*first, *settle(life)]
    assert created(done) == [(2, 1), (3, 1)]
    assert life.kept.attempts[0].ranks == "2-3"
    assert life.kept.job_restarts == (JobRestarts("1", 1, 1),)
    assert "JobRestart" in life.told
    assert [pod.rank for each in done if isinstance(each, DeletePods) for pod in each.pods] == [3]


def test_a_rank_that_is_done_is_done_no_more_when_its_job_runs_again() -> None:
    life = story(JOB, backoff=Backoff(0))
    life.end(3, 0)
    life.look(200)
    assert life.kept.completed == "3"
    life.end(2, 3)
    settle(life)
    assert (life.kept.completed, life.view.of(0).done) == ("", {})
    life.start(2, 3)
    for rank in range(4):
        life.end(rank)
    life.look(1)
    assert life.kept.phase is Phase.SUCCEEDED


def test_an_uncounted_job_restart_uses_no_budget() -> None:
    life = story(replace(JOB, counted=False), limit=0, backoff=Backoff(0))
    life.end(2, 3)
    settle(life)
    assert (life.kept.restarts, life.kept.job_restarts) == (0, (JobRestarts("1", 1, 0),))


def test_a_rule_that_a_job_has_used_up_is_passed_over() -> None:
    exceeded = FailureRule(FailureAction.FAIL_EXPERIMENT, reasons=("BackoffLimitExceeded",), name="give-up")
    twice = replace(MEMBER, per_job=2, counted=False, becomes=Escalation("BackoffLimitExceeded"))
    life = story(twice, exceeded, backoff=Backoff(0))
    for rank in (2, 3, 0):
        life.end(rank, 3)
        settle(life)
        life.start(rank)
        life.look(1)
    assert life.kept.job_restarts == (JobRestarts("0", failures=1), JobRestarts("1", failures=2))
    life.end(2, 3)
    life.look()
    assert (life.kept.phase, life.kept.reason) == (Phase.FAILED, "FailureRule")
    assert "give-up" in life.kept.message


def test_a_rule_has_a_limit_of_its_own() -> None:
    life = story(replace(MEMBER, limit=2, counted=False, name="flaky"), backoff=Backoff(0))
    for _ in range(2):
        life.end(1, 3)
        settle(life)
        life.start(1)
    life.end(1, 3)
    life.look()
    assert (life.kept.phase, life.kept.reason) == (Phase.FAILED, "FailureRuleLimitExceeded")
    assert "limit of failure rule flaky reached (2)" in life.kept.message


def test_a_pod_of_a_newer_attempt_than_the_records_is_deleted_after_the_record_has_proved_itself() -> None:
    life = story(LOST)
    life.set(1, attempt=3, uid="newer", name="newer")
    (deletion,) = life.look()
    assert isinstance(deletion, DeletePods)
    assert [pod.uid for pod in deletion.pods] == ["newer"]
    assert sure(life.last).deletes_newer_pods


@pytest.mark.parametrize("seen_before", [True, False])
def test_a_daemon_that_takes_over_finds_the_same_attempts(seen_before: bool) -> None:
    life = story(LOST)
    life.set(1, terminating=True, delete_by=life.now + 30)
    life.look()
    life.gone(1, attempt=0)
    settle(life)
    fresh = Story(life.plan, now=life.now)
    if not seen_before:
        fresh.view.remember(life.plan, life.kept, life.now)
    for each in (*life.pods.values(), *life.again.values()):
        fresh.view.change(None, each)
    fresh.view.remember(life.plan, life.kept, life.now)
    assert fresh.view.of(0).pods == 4
    assert not fresh.view.of(0).older
