"""Decisions one at a time: exactly what the record says afterwards, what is asked for, and when to look again."""

from typing import Any

import pytest
from msgspec.structs import replace

from muster.api.gang import RollCall
from muster.state.decide.machine import Decision, decide
from muster.state.view.engine_facts import LiveRead, Refusal
from muster.state.view.roll import RankState
from muster.state.view.view import View
from muster.state.vocabulary.actions import ConfirmLaunch, ConfirmLoss, DeletePods, ProbeTarget, StopPods
from muster.state.vocabulary.group import Coordinator, Group, ProbeKind
from muster.state.vocabulary.plan import Engine, Plan
from muster.state.vocabulary.pod import Exit, Pod, PodPhase
from muster.state.vocabulary.record import Cause, ConditionType, Phase, Record
from muster.state.vocabulary.rules import Backoff, ClockAction, ClockName
from tests.builders import NOW, Clock, answer, plan, pod, record, sure, view, worker_group

BACKING_OFF = Backoff(initial=7, maximum=100, factor=3)
FAIL, RESTART, ALERT = ClockAction


def look(seen: View | None = None, *, run: Plan | None = None, after: float = 100.0, **facts: Any) -> Decision:
    return decide(run or plan(backoff=BACKING_OFF), record(**facts), seen or view(), NOW + after)


def gang(**changes: Any) -> list[Pod]:
    return [pod(rank, **changes) for rank in range(4)]


def crashed(rank: int = 2, **changes: Any) -> Pod:
    return pod(rank, phase=PodPhase.FAILED, exit=Exit("main", 1, 0, "Error", "", NOW + 99), **changes)


def broken() -> View:
    """A member of epoch 2 has crashed, and somebody has looked past the cache since."""
    seen = view(crashed(epoch=2))
    seen.engine.live_read = LiveRead(NOW + 99, version=1)
    return seen


RUNNING: dict[str, Any] = {
    "phase": Phase.RUNNING, "epoch": 2, "restarts": 1, "disruptions": 1, "started_at": NOW, "epoch_at": NOW + 1,
    "scheduled_at": NOW + 2, "assembling_at": NOW + 3, "assembled_at": NOW + 4, "ready": 4, "roll": RollCall(4, 4),
}  # fmt: skip


def test_a_new_experiment_starts_all_its_clocks_now() -> None:
    first = decide(plan(generation=3), None, view(), NOW)
    kept = first.record
    assert first.write
    assert (kept.generation, kept.phase, kept.phase_at, kept.size, kept.epoch) == (3, Phase.PENDING, NOW, 4, 0)
    assert (kept.started_at, kept.epoch_at, kept.updated_at) == (NOW, NOW, NOW)
    assert first.actions == (ConfirmLaunch(0),)
    assert first.story == kept.story
    assert [line.reason for line in kept.story] == ["Started"]


def test_one_created_suspended_starts_none() -> None:
    first = decide(plan(suspend=True), None, view(), NOW)
    kept = first.record
    assert (kept.phase, kept.reason, kept.started_at, kept.epoch_at) == (Phase.SUSPENDED, "Suspended", None, None)
    assert (kept.epoch, kept.phase_at, kept.size) == (0, NOW, 4)
    assert (first.actions, first.wake_at, first.probe) == ((), None, None)


def test_deleted_it_is_left_alone_and_nothing_is_written() -> None:
    gone = look(view(crashed()), run=plan(deleting=True), **RUNNING)
    assert gone == Decision(record(**RUNNING), write=False, actions=(), wake_at=None, story=(), probe=None)
    never_seen = decide(plan(deleting=True), None, view(), NOW)
    assert (never_seen.write, never_seen.actions, never_seen.story) == (False, (), ())


def test_one_step_takes_one_turn() -> None:
    """A restart is persisted and told as such, though nothing keeps the next epoch from starting at once."""
    seen = view()
    seen.engine.lost = 2
    gone = look(seen, **RUNNING)
    assert (gone.record.phase, gone.record.epoch, gone.record.resume_at) == (Phase.RESTARTING, 3, NOW + 100)
    assert [line.reason for line in gone.story] == ["GangRestart"]
    resumed = look(view(pod(0, epoch=3)), phase=Phase.SUSPENDED, epoch=3)
    assert resumed.record.phase is Phase.PENDING


def test_no_rank_is_missing_while_the_gang_is_not_wanted() -> None:
    stages: tuple[tuple[Plan, dict[str, Any]], ...] = (
        (plan(suspend=True), {"phase": Phase.SUSPENDED}),
        (plan(), {"phase": Phase.FAILED}),
        (plan(), {"phase": Phase.RESTARTING, "resume_at": NOW + 500}),
    )
    for run, facts in stages:
        assert sure(look(run=run, **facts).record.condition(ConditionType.ASSEMBLED)).message == ""


def test_success_goes_before_everything_that_is_also_true() -> None:
    done = gang(epoch=2, phase=PodPhase.SUCCEEDED)
    clocks = {ClockName.TOTAL: Clock(1, FAIL)}
    assert look(view(*done), run=plan(cancel=True, clocks=clocks), **RUNNING).record.phase is Phase.SUCCEEDED


def test_a_suspended_experiment_does_not_succeed_by_pods_that_are_left() -> None:
    done = gang(epoch=2, phase=PodPhase.SUCCEEDED)
    kept = look(view(*done), run=plan(suspend=True), **RUNNING | {"phase": Phase.SUSPENDED}).record
    assert kept.phase is Phase.SUSPENDED


def test_a_failure_without_budget_ends_it_and_is_kept_as_the_cause() -> None:
    over = look(broken(), run=plan(limit=1), **RUNNING)
    kept = over.record
    assert (kept.phase, kept.reason, kept.epoch, kept.restarts) == (Phase.FAILED, "BackoffLimitExceeded", 2, 1)
    assert kept.message.startswith("rank 2 (")
    assert sure(kept.cause).rank == 2
    assert (kept.finished_at, kept.phase_at, kept.assembled_at) == (NOW + 100, NOW + 100, NOW + 4)


def test_an_end_without_a_cause_of_its_own_keeps_the_last_one() -> None:
    last = Cause(1, "Error", "boom", NOW)
    kept = look(view(), run=plan(cancel=True), cause=last, **RUNNING).record
    assert (kept.phase, kept.reason) == (Phase.FAILED, "Cancelled")
    assert (kept.message, kept.cause) == ("cancelled by spec.cancel", last)


def test_a_failure_begins_the_next_epoch_after_the_backoff() -> None:
    kept = look(broken(), **RUNNING).record
    assert (kept.phase, kept.epoch, kept.restarts, kept.disruptions) == (Phase.RESTARTING, 3, 2, 1)
    assert (kept.started_at, kept.epoch_at, kept.resume_at, kept.phase_at) == (NOW, None, NOW + 100 + 21, NOW + 100)
    assert (kept.ready, kept.roll) == (0, None)
    assert sure(kept.cause).epoch == 2


def test_a_disruption_begins_the_next_epoch_at_once_and_costs_nothing() -> None:
    kept = look(view(pod(1, epoch=2, terminating=True)), **RUNNING).record
    assert (kept.epoch, kept.restarts, kept.disruptions, kept.resume_at) == (3, 1, 2, NOW + 100)


def test_suspended_the_gang_goes_and_the_total_clock_stops() -> None:
    gone = look(view(*gang(epoch=2)), run=plan(suspend=True), **RUNNING)
    kept = gone.record
    assert (kept.phase, kept.epoch, kept.restarts, kept.roll) == (Phase.SUSPENDED, 3, 1, None)
    assert (kept.started_at, kept.assembled_at, kept.ending_at) == (None, None, NOW + 100)
    (delete,) = gone.actions
    assert isinstance(delete, DeletePods)
    assert len(delete.pods) == 4


def test_suspended_in_the_middle_of_a_backoff_it_forgets_that_too() -> None:
    kept = look(run=plan(suspend=True), phase=Phase.RESTARTING, epoch=3, resume_at=NOW + 500).record
    assert (kept.phase, kept.epoch, kept.resume_at) == (Phase.SUSPENDED, 4, None)


def test_resumed_it_starts_again_in_the_epoch_that_suspending_began() -> None:
    kept = look(phase=Phase.SUSPENDED, epoch=3).record
    assert (kept.phase, kept.epoch) == (Phase.PENDING, 3)
    assert (kept.phase_at, kept.started_at, kept.epoch_at) == (NOW + 100, NOW + 100, NOW + 100)


def test_no_clock_is_asked_while_it_is_suspended() -> None:
    clocks = {ClockName.TERMINATING: Clock(5, FAIL)}
    kept = look(
        view(pod(1)), run=plan(suspend=True, clocks=clocks), phase=Phase.SUSPENDED, epoch=1, ending_at=NOW
    ).record
    assert kept.phase is Phase.SUSPENDED


def test_a_passed_clock_goes_before_a_failure() -> None:
    clocks = {ClockName.TOTAL: Clock(50, FAIL)}
    seen = view(crashed(epoch=2))
    asked = look(seen, run=plan(clocks=clocks), **RUNNING)
    assert (asked.read_first, asked.write, asked.actions, asked.story) == (True, False, (), ())
    assert asked.record == record(**RUNNING)
    seen.engine.live_read = LiveRead(NOW + 100, version=7)
    assert look(seen, run=plan(clocks=clocks), **RUNNING).record.reason == "DeadlineExceeded"


def test_no_clock_runs_out_over_what_has_come_by_then() -> None:
    """The look past the cache that the clock asked for has brought the last node, and the last rank."""
    clocks = {ClockName.PENDING: Clock(5, RESTART), ClockName.ASSEMBLY: Clock(50, FAIL)}
    seen = view(*gang(), heard=answer(*4 * [RankState.CONNECTED]))
    seen.engine.live_read = LiveRead(NOW + 100, version=7)
    kept = look(seen, run=plan(clocks=clocks), phase=Phase.ASSEMBLING, epoch_at=NOW, assembling_at=NOW).record
    assert (kept.phase, kept.scheduled_at, kept.assembled_at) == (Phase.RUNNING, NOW + 100, NOW + 100)


def test_no_clock_runs_out_over_old_pods_that_have_ended_meanwhile() -> None:
    clocks = {ClockName.TERMINATING: Clock(5, FAIL)}
    kept = look(run=plan(clocks=clocks), phase=Phase.RESTARTING, epoch=1, ending_at=NOW).record
    assert (kept.phase, kept.ending_at) == (Phase.PENDING, None)
    alert = look(run=plan(clocks={ClockName.TERMINATING: Clock(5, ALERT)}), epoch=1, ending_at=NOW)
    assert alert.story == ()


def test_while_it_restarts_nothing_of_the_new_epoch_can_fail() -> None:
    restarting: dict[str, Any] = {"phase": Phase.RESTARTING, "epoch": 3, "resume_at": NOW + 500}
    kept = look(view(crashed(epoch=3)), **restarting).record
    assert (kept.phase, kept.epoch) == (Phase.RESTARTING, 3)


def test_a_final_refusal_ends_the_experiment_and_another_one_makes_it_stuck() -> None:
    seen = view()
    seen.engine.refusal = Refusal("Invalid", "no such field", final=True)
    over = look(seen).record
    assert (over.phase, over.reason, over.message) == (Phase.FAILED, "Invalid", "no such field")
    seen.engine.refusal = Refusal("Quota", "no more pods", final=False)
    told = look(seen).record
    assert (told.phase, told.reason) == (Phase.PENDING, "Quota")


def test_finished_is_for_ever() -> None:
    over: dict[str, Any] = {"phase": Phase.FAILED, "reason": "R", "message": "m", "finished_at": NOW}
    for run in (plan(suspend=True), plan(cancel=True), plan(clocks={ClockName.TOTAL: Clock(1, FAIL)})):
        kept = look(view(crashed()), run=run, started_at=NOW, **over).record
        assert (kept.phase, kept.reason, kept.message, kept.finished_at, kept.epoch) == (Phase.FAILED, "R", "m", NOW, 0)


@pytest.mark.parametrize(("resume_at", "phase"), [(NOW + 100, Phase.PENDING), (NOW + 101, Phase.RESTARTING)])
def test_the_backoff_ends_on_the_dot(resume_at: float, phase: Phase) -> None:
    next_life = look(phase=Phase.RESTARTING, epoch=3, resume_at=resume_at)
    assert next_life.record.phase is phase
    if phase is Phase.PENDING:
        kept = next_life.record
        assert (kept.phase_at, kept.epoch_at, kept.resume_at) == (NOW + 100, NOW + 100, None)
        assert next_life.actions == (ConfirmLaunch(3, search=True),)
    else:
        assert (next_life.actions, next_life.wake_at) == ((), resume_at)


def test_a_restart_without_a_time_waits_for_old_pods_only() -> None:
    assert look(phase=Phase.RESTARTING, epoch=3).record.phase is Phase.PENDING
    assert look(view(pod(0, epoch=2)), phase=Phase.RESTARTING, epoch=3).record.phase is Phase.RESTARTING


def test_nothing_goes_forward_in_the_step_that_begins_a_restart() -> None:
    assert look(view(*gang(epoch=3)), phase=Phase.RESTARTING, epoch=3, resume_at=NOW + 500).record.scheduled_at is None


def test_scheduled_is_when_every_member_has_a_node() -> None:
    three = [*gang()[:3], pod(3, scheduled=False, started=False, phase=PodPhase.PENDING)]
    assert look(view(*three)).record.scheduled_at is None
    assert look(view(*gang(started=False))).record.scheduled_at == NOW + 100
    assert look(view(*gang()), scheduled_at=NOW + 5).record.scheduled_at == NOW + 5


def test_it_runs_with_the_whole_roll_and_may_come_there_in_one_step() -> None:
    seen = view(*gang(), heard=answer(*[RankState.CONNECTED] * 4))
    stages: tuple[dict[str, Any], ...] = ({}, {"phase": Phase.ASSEMBLING, "assembling_at": NOW + 5})
    for facts in stages:
        kept = look(seen, **facts).record
        assert (kept.phase, kept.phase_at, kept.assembled_at) == (Phase.RUNNING, NOW + 100, NOW + 100)
    ran = look(seen, **RUNNING | {"epoch": 0}).record
    assert (ran.phase_at, ran.assembled_at) == (NOW, NOW + 4)
    partly = view(*gang(), heard=answer(*[RankState.ARRIVED] * 3, RankState.MISSING))
    assert look(partly).record.phase is Phase.ASSEMBLING


@pytest.mark.parametrize(
    ("seen", "facts", "ending_at"),
    [
        (view(pod(0, epoch=1)), {"epoch": 2}, NOW + 100),
        (view(pod(0, epoch=1)), {"epoch": 2, "ending_at": NOW + 5}, NOW + 5),
        (view(), {"epoch": 2, "ending_at": NOW + 5}, None),
        (view(pod(0)), {}, None),
        (view(pod(0)), {"phase": Phase.FAILED}, NOW + 100),
        (view(pod(0)), {"phase": Phase.SUSPENDED, "suspend": True}, NOW + 100),
        (view(pod(0, phase=PodPhase.SUCCEEDED)), {"phase": Phase.FAILED, "ending_at": NOW}, None),
    ],
)
def test_the_terminating_clock_runs_while_pods_that_must_go_are_there(
    seen: View, facts: dict[str, Any], ending_at: float | None
) -> None:
    suspend = facts.pop("suspend", False) if (facts := dict(facts)) else False
    assert look(seen, run=plan(suspend=suspend), **facts).record.ending_at == ending_at


def test_what_ended_is_swept_while_the_next_epoch_is_launched() -> None:
    dead = pod(0, epoch=1, phase=PodPhase.FAILED)
    swept = DeletePods((dead,), 0, "they have ended and belong to an older epoch or attempt")
    assert look(view(dead), epoch=2).actions == (swept, ConfirmLaunch(2, search=True))
    assert look(view(dead), epoch=2, phase=Phase.RESTARTING, resume_at=NOW + 500).actions == (swept,)
    assert look(view(dead), epoch=2, scheduled_at=NOW).actions == (swept, ConfirmLoss(2))


def test_at_the_end_programs_are_stopped_and_their_pods_stay() -> None:
    waiting = pod(1, phase=PodPhase.PENDING, started=False, ready=False)
    old = pod(2, epoch=4)
    ended = look(view(pod(0, epoch=5), replace(waiting, epoch=5), old), phase=Phase.FAILED, epoch=5)
    stop, delete = ended.actions
    assert stop == StopPods((pod(0, epoch=5),), "the experiment has ended")
    assert isinstance(delete, DeletePods)
    assert {each.rank for each in delete.pods} == {1, 2}, "a pod without a program, and one of an older epoch"


def test_a_pod_that_does_not_stop_in_time_is_deleted() -> None:
    seen = view(pod(0))
    seen.mark_stopping([pod(0)])
    late = look(seen, phase=Phase.FAILED, finished_at=NOW - 60, ending_at=NOW - 60, after=0).actions
    assert late == (DeletePods((pod(0),), None, "they have not stopped in time", unless_ended=True),)
    early = look(seen, phase=Phase.FAILED, finished_at=NOW - 59, ending_at=NOW - 59, after=0)
    assert early.actions == ()
    assert early.wake_at == NOW + 1


def test_it_wakes_for_the_next_of_all_clocks() -> None:
    clocks = {ClockName.TOTAL: Clock(500, FAIL), ClockName.PENDING: Clock(300, ALERT)}
    assert look(run=plan(clocks=clocks), started_at=NOW, epoch_at=NOW).wake_at == NOW + 300
    later = look(run=plan(clocks=clocks), started_at=NOW, epoch_at=NOW, after=300)
    assert later.wake_at == NOW + 500  # what has passed wakes nobody
    assert look().wake_at is None


def test_it_wakes_for_what_the_rendezvous_waits_for() -> None:
    seen = view(*gang(), heard=answer(RankState.ARRIVED, RankState.MISSING, at=NOW + 98, expected=4))
    assert look(seen).wake_at == NOW + 104


def test_it_wakes_to_refresh_the_picture() -> None:
    idle: dict[str, Any] = {"started": False, "ready": False}
    kept = look(view(pod(0, **idle)), after=0).record
    seen = view(pod(0, **idle), pod(1, **idle))
    again = decide(plan(backoff=BACKING_OFF), kept, seen, NOW + 1)
    assert (again.write, again.wake_at) == (False, NOW + 4)
    assert again.record == kept  # what is not written has not happened


def probed(*pods: Pod, run: Plan | None = None, **facts: Any) -> ProbeTarget | None:
    return look(view(*pods), run=run, **facts).probe


def test_the_coordinators_process_is_asked_by_its_address() -> None:
    target = ProbeTarget(0, "pod-0-0", "10.0.0.1:1234", "jax", 4)
    assert probed(pod(0)) == target
    assert probed(pod(0), phase=Phase.ASSEMBLING, assembling_at=NOW) == target
    assert probed(pod(0), phase=Phase.RUNNING) == target
    assert probed(pod(0, ip="fd00::1")) == replace(target, address="[fd00::1]:1234")
    third = plan(size=6, coordinator=Coordinator(3, 99, ProbeKind.JAX))
    assert probed(pod(3), pod(0), run=third) == ProbeTarget(0, "pod-3-0", "10.0.0.4:99", "jax", 6)


RAS_ENV = [{"name": "NCCL_RAS_ADDR", "value": "0.0.0.0:7000"}]
WITH_RAS = {"spec": {"containers": [{"name": "main", "env": RAS_ENV}]}}


def test_members_that_run_can_be_asked_for_ras_where_their_template_says_so() -> None:
    run = plan(groups=(worker_group(4, template=WITH_RAS),))
    pods = pod(0), pod(1, started=False), pod(2, ip="fd00::1")
    target = sure(probed(*pods, run=run))
    assert target.ras == ("10.0.0.1:7000", "[fd00::1]:7000")
    assert target.same_coordinator(replace(target, ras=()))
    assert sure(probed(*pods)).ras == ()


def test_only_members_whose_own_template_says_so_are_asked_for_ras() -> None:
    on_node = {"spec": WITH_RAS["spec"] | {"hostNetwork": True}}
    first = worker_group(2, template=on_node)
    run = plan(groups=(first, Group("other", 1, 2, first.pod, 2, template=WITH_RAS)))
    assert sure(probed(pod(0), pod(1), pod(2), run=run)).ras == ("10.0.0.3:7000",)


@pytest.mark.parametrize(
    "changes", [{"started": False}, {"ip": ""}, {"terminating": True}, {"phase": PodPhase.SUCCEEDED}, {"epoch": 5}]
)
def test_a_coordinator_without_a_running_pod_is_not_probed(changes: dict[str, Any]) -> None:
    assert probed(pod(0, **changes)) is None
    assert probed(pod(1)) is None


def test_only_a_coordinator_that_can_be_asked_of_a_gang_that_is_wanted_is_probed() -> None:
    for run in (plan(coordinator=None), plan(probe=ProbeKind.NONE)):
        assert probed(pod(0), run=run) is None
    for phase in (Phase.FAILED, Phase.SUCCEEDED, Phase.RESTARTING):
        assert probed(pod(0), phase=phase, resume_at=NOW + 999) is None


def test_lines_are_of_now_and_join_the_record() -> None:
    before = look(view(), after=0).record
    turned = decide(plan(), before, view(pod(3)), NOW + 9)
    assert [line.reason for line in turned.story] == ["Assembling"]
    assert {line.at for line in turned.story} == {NOW + 9}
    assert turned.record.story == (*before.story, *turned.story)
    assert turned.record.updated_at == NOW + 9


def test_conditions_are_of_the_phase_that_the_step_has_reached() -> None:
    kept = look(broken(), **RUNNING).record
    restarting = sure(kept.condition(ConditionType.RESTARTING))
    assert (restarting.status, restarting.reason, restarting.since) == (True, "GangRestart", NOW + 100)


@pytest.mark.parametrize(
    ("deleting", "kept"),
    [(False, None), (False, record(phase=Phase.FAILED, finished_at=NOW)), (True, record(phase=Phase.RUNNING))],
    ids=["at its start", "at its end", "while it is deleted"],
)
def test_nothing_is_done_to_the_pods_of_a_watched_run(deleting: bool, kept: Record | None) -> None:
    seen = view(pod(0)) if kept else view()
    assert decide(plan(deleting=deleting), kept, seen, NOW).actions
    watched = decide(plan(deleting=deleting, engine=Engine.WATCH), kept, seen, NOW)
    assert (watched.actions, watched.write) == ((), True)


def test_a_watched_coordinator_is_probed() -> None:
    run = plan(engine=Engine.WATCH)
    assert decide(run, record(phase=Phase.ASSEMBLING), view(pod(0)), NOW).probe is not None
