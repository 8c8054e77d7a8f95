"""The life of an experiment, as stories."""

from dataclasses import replace

import pytest

from muster.state.decide.machine import decide
from muster.state.view.roll import CoordinatorState, RankState
from muster.state.vocabulary.actions import ConfirmLaunch, ConfirmLoss, CreatePods, DeletePods, EnsureService, StopPods
from muster.state.vocabulary.group import ProbeKind
from muster.state.vocabulary.record import Attempts, ConditionType, Phase
from muster.state.vocabulary.rules import Backoff, ClockAction, ClockName, Gate, GateCondition
from tests.builders import NOW, Clock, edited, plan, pod, record, view
from tests.state.story import Story


def test_a_clean_run_goes_from_pending_to_succeeded() -> None:
    story = Story(plan())

    assert story.look() == (ConfirmLaunch(0),)
    assert story.kept.phase is Phase.PENDING
    assert story.kept.started_at == NOW

    story.view.engine.confirmed = 0
    service, create = story.look()
    assert service == EnsureService()
    assert isinstance(create, CreatePods)
    assert [member.rank for member in create.members] == [0, 1, 2, 3]

    story.do(service)
    story.do(create)
    assert story.look() == ()
    story.start()
    story.look(1)
    assert story.kept.phase is Phase.ASSEMBLING
    assert story.condition(ConditionType.SCHEDULED) == (True, "AllScheduled")

    story.observe_probe(0, 1, 3)
    story.look(1)
    assert story.condition(ConditionType.COORDINATOR_READY) == (True, "Serving")
    assert story.kept.message.startswith("3/4 ranks arrived; missing rank 2 (run-worker-0-2-")

    story.observe_probe(0, 1, 2, 3, passed=True)
    story.look(1)
    assert story.kept.phase is Phase.RUNNING
    assert story.condition(ConditionType.ASSEMBLED) == (True, "RollComplete")

    for rank in range(4):
        story.end(rank)
    assert story.look(60) == ()
    assert (story.kept.phase, story.kept.reason) == (Phase.SUCCEEDED, "AllMembersSucceeded")
    assert story.condition(ConditionType.FINISHED) == (True, "AllMembersSucceeded")
    assert story.writes <= 8
    assert story.told == [
        "Started", "Assembling", "Scheduled", "CoordinatorReady", "Running", "AllMembersSucceeded",
    ]  # fmt: skip


def test_the_first_failure_restarts_the_gang_once_and_is_named() -> None:
    story = Story(plan(limit=2, backoff=Backoff(initial=5)))
    story.assemble()
    story.end(2, 137, signal=9)
    actions = story.look(1)

    assert story.kept.phase is Phase.RESTARTING
    assert (story.kept.epoch, story.kept.restarts) == (1, 1)
    cause = story.kept.cause
    assert cause is not None
    assert (cause.rank, cause.exit_code, cause.signal, cause.node) == (2, 137, 9, "node-2")
    (survivors,) = (action for action in actions if isinstance(action, DeletePods))
    assert sorted(each.rank for each in survivors.pods) == [0, 1, 3]

    for rank in (0, 1, 3):  # the survivors die of the loss: no second restart
        story.end(rank, 134) if (1, rank) in story.pods else story.set(rank, 0, ready=False)
    story.look(1)
    assert (story.kept.epoch, story.kept.restarts) == (1, 1)

    for rank in (0, 1, 3):
        story.gone(rank, 0)
    assert story.look(1) == ()  # still backing off; the pod of the cause is kept for its logs
    assert (0, 2) in story.pods
    story.look(5)
    assert story.kept.phase is Phase.PENDING
    story.launch()
    story.start()
    story.look(1)
    story.observe_probe(0, 1, 2, 3, passed=True)
    story.look(1)
    assert story.kept.phase is Phase.RUNNING
    assert story.told.count("GangRestart") == 1


def test_a_live_read_finds_a_preemption_whose_event_was_lost() -> None:
    story = Story(plan(limit=0))
    story.assemble()
    for rank in (0, 1, 3):
        story.end(rank, 134, signal=6)
    story.unheard = lambda: story.set(2, disruption="PreemptionByScheduler", terminating=True)
    story.look(1)
    assert (story.kept.phase, story.kept.restarts, story.kept.disruptions) == (Phase.RESTARTING, 0, 1)
    assert story.kept.cause is not None
    assert (story.kept.cause.rank, story.kept.cause.reason) == (2, "PreemptionByScheduler")


def test_no_member_of_the_new_epoch_starts_beside_one_of_the_old() -> None:
    story = Story(plan(backoff=Backoff(initial=1)))
    story.assemble()
    story.end(1, 1)
    story.look()
    for rank in (0, 2, 3):  # a dead node: these pods never end
        story.set(rank, 0, terminating=True)
    for _ in range(20):
        assert story.look(30) == ()
    assert story.kept.phase is Phase.RESTARTING
    assert "node-0" in story.kept.message


def test_old_pods_that_do_not_end_are_called_stuck_and_deleted_by_force_only_where_the_spec_says_so() -> None:
    for action, forced in ((ClockAction.ALERT, False), (ClockAction.RESTART, True)):
        clocks = {ClockName.TERMINATING: Clock(60, action)}
        story = Story(plan(clocks=clocks, backoff=Backoff(initial=1)))
        story.assemble()
        story.end(1, 1)
        story.look()
        for rank in (0, 2, 3):
            story.set(rank, 0, terminating=True)
        story.look()
        actions = story.look(60)
        assert story.condition(ConditionType.STUCK) == (True, "TerminatingDeadlineExceeded")
        assert "3 pods of older epochs (first: run-worker-0-0-" in story.kept.message
        deletes = [each for each in actions if isinstance(each, DeletePods)]
        assert [(len(each.pods), each.grace) for each in deletes] == ([(3, 0)] if forced else [])


def test_the_recorded_outcome_stays_when_its_pods_are_removed() -> None:
    story = Story(plan())
    story.assemble()
    for rank in range(4):
        story.end(rank)
    story.look(1)
    assert story.kept.ready == 4
    writes = story.writes
    for rank in range(4):
        story.gone(rank)
        story.look(100)
    assert (story.kept.ready, story.writes) == (4, writes)


def test_a_launch_is_confirmed_by_the_live_api_for_each_epoch() -> None:
    story = Story(plan(backoff=Backoff(initial=1)))
    story.assemble()
    story.end(1, 1)
    for action in story.look():
        story.do(action)
    actions = story.look(2)
    assert ConfirmLaunch(1) in actions
    assert not any(isinstance(action, CreatePods) for action in actions)


def test_the_restart_budget_ends_in_backoff_limit_exceeded_for_ever() -> None:
    story = Story(plan(limit=1, backoff=Backoff(initial=1)))
    story.assemble()
    story.end(0, 3)
    for action in story.look():
        story.do(action)
    story.look(2)
    story.launch()
    story.start()
    story.look()
    story.end(3, 4)
    actions = story.look(1)
    assert (story.kept.phase, story.kept.reason) == (Phase.FAILED, "BackoffLimitExceeded")
    assert "ended with exit code 4 on node node-3; restart limit reached (1 of 1)" in story.kept.message
    assert isinstance(actions[0], StopPods)

    for action in actions:
        story.do(action)
    for rank in range(4):  # nothing that happens afterwards wakes it
        story.pods.pop((1, rank), None)
    assert story.look(1000) == ()
    assert story.kept.phase is Phase.FAILED


def test_disruptions_cost_nothing_of_the_budget() -> None:
    story = Story(plan(limit=0))
    story.assemble()
    story.set(1, disruption="PreemptionByScheduler", terminating=True)
    story.end(0, 134)
    story.look(1)
    assert story.kept.phase is Phase.RESTARTING
    assert (story.kept.restarts, story.kept.disruptions) == (0, 1)
    assert story.kept.cause is not None
    assert story.kept.cause.reason == "PreemptionByScheduler"


def test_a_deleted_pod_is_a_disruption() -> None:
    story = Story(plan(limit=0))
    story.assemble()
    story.set(3, terminating=True)
    story.look(1)
    assert story.kept.cause is not None
    assert (story.kept.cause.reason, story.kept.cause.disruption) == ("PodDeleted", True)


def test_a_pod_that_seems_gone_is_looked_for_before_anything_is_destroyed() -> None:
    story = Story(plan())
    story.assemble()
    story.gone(2)
    assert story.look(1) == (ConfirmLoss(0),)
    assert story.kept.epoch == 0
    story.view.engine.lost = 0
    story.look(1)
    assert (story.kept.epoch, story.kept.phase) == (1, Phase.RESTARTING)


def test_a_rank_that_never_registers_is_named_and_the_assembly_clock_fails_the_experiment() -> None:
    clocks = {ClockName.ASSEMBLY: Clock(30, ClockAction.FAIL)}
    story = Story(plan(clocks=clocks))
    story.launch()
    story.start()
    story.look(1)
    story.observe_probe(0, 1, 3)
    story.look()
    assert story.condition(ConditionType.STUCK) == (False, "NotStuck")
    assert story.last is not None
    assert story.last.wake_at == story.now + 6

    story.look(6)
    assert story.condition(ConditionType.STUCK) == (True, "RanksMissing")
    assert "missing rank 2 (run-worker-0-2-" in story.kept.message
    assert "running, but it has not called the coordinator" in story.kept.message
    assert story.told[-1] == "Stuck"

    story.look(30)
    assert (story.kept.phase, story.kept.reason) == (Phase.FAILED, "AssemblyDeadlineExceeded")


def test_a_missing_rank_is_explained_by_its_pod() -> None:
    story = Story(plan())
    story.launch()
    story.start(0, 1, 3)
    story.set(2, waiting_reason="Unschedulable", waiting_message="0/8 nodes have nvidia.com/gpu")
    story.look(1)
    story.observe_probe(0, 1, 3)
    story.look(7)
    assert "Pending: Unschedulable, 0/8 nodes have nvidia.com/gpu" in story.kept.message
    assert story.condition(ConditionType.SCHEDULED) == (False, "Unschedulable")


@pytest.mark.parametrize("state", [CoordinatorState.REFUSED, CoordinatorState.SILENT, CoordinatorState.TIMEOUT])
def test_a_coordinator_that_falls_silent_is_stuck_but_not_restarted(state: CoordinatorState) -> None:
    story = Story(plan())
    story.assemble()
    story.silence(state)
    story.look(1)
    assert story.condition(ConditionType.COORDINATOR_READY) == (True, "Serving")
    story.look(3)
    assert story.condition(ConditionType.COORDINATOR_READY) == (False, "NotServing")
    story.look(6)
    assert story.condition(ConditionType.STUCK) == (True, "CoordinatorUnreachable")
    assert story.kept.phase is Phase.RUNNING

    story.observe_probe(0, 1, 2, 3, passed=True)
    story.look(1)
    assert story.condition(ConditionType.STUCK) == (False, "NotStuck")


def test_an_orderly_end_raises_no_alarm() -> None:
    story = Story(plan())
    story.assemble()
    said = story.observe_probe(0, 1, 2, 3, passed=True)
    story.view.observe_probe(replace(said, states=(RankState.LEFT,) * 4), 0)
    story.silence()
    story.look(60)
    assert story.condition(ConditionType.STUCK) == (False, "NotStuck")


def test_a_coordinator_with_another_process_count_is_stuck_at_once() -> None:
    story = Story(plan())
    story.launch()
    story.start()
    story.look(1)
    story.observe_probe(0, 1, expected=2)
    story.look()
    assert story.condition(ConditionType.STUCK) == (True, "ProcessCountMismatch")


def test_the_total_clock_runs_through_restarts_and_survives_the_daemon() -> None:
    story = Story(plan(clocks={ClockName.TOTAL: Clock(100, ClockAction.FAIL)}, backoff=Backoff(initial=1)))
    story.assemble()
    assert story.kept.deadline == NOW + 100
    story.end(1, 1)
    for action in story.look(40):
        story.do(action)
    story.look(2)
    story.launch()
    story.start()
    story.look()
    reborn = Story(story.plan, now=story.now)  # a new daemon: same record, new view
    reborn.record, reborn.view, reborn.pods = story.record, story.view, story.pods
    reborn.look(NOW + 99.9 - reborn.now)
    assert reborn.kept.phase is not Phase.FAILED
    reborn.look(NOW + 100 - reborn.now)
    assert (reborn.kept.phase, reborn.kept.reason) == (Phase.FAILED, "DeadlineExceeded")


def test_pending_has_a_clock_of_its_own_that_may_restart() -> None:
    story = Story(plan(clocks={ClockName.PENDING: Clock(60, ClockAction.RESTART)}, limit=1))
    story.launch()
    story.schedule(0, 1)
    story.look(59)
    assert story.kept.epoch == 0
    story.look(1)
    assert (story.kept.epoch, story.kept.restarts) == (1, 1)
    assert story.kept.cause is not None
    assert story.kept.cause.reason == "PendingDeadlineExceeded"


def test_a_clock_that_only_alerts_makes_it_stuck() -> None:
    story = Story(plan(clocks={ClockName.ASSEMBLY: Clock(20, ClockAction.ALERT)}))
    story.launch()
    story.start()
    story.look()
    story.look(20)
    assert story.condition(ConditionType.STUCK) == (True, "AssemblyDeadlineExceeded")
    assert story.kept.phase is Phase.ASSEMBLING


def test_suspended_and_resumed_it_starts_anew_without_counting_a_restart() -> None:
    story = Story(plan(clocks={ClockName.TOTAL: Clock(100, ClockAction.FAIL)}))
    story.assemble()
    story.plan = edited(story.plan, suspend=True, generation=2)
    actions = story.look(50)
    assert story.kept.phase is Phase.SUSPENDED
    assert isinstance(actions[0], DeletePods)
    assert actions[0].grace is None  # people get the grace they asked for
    for action in actions:
        story.do(action)
    story.look(1000)
    assert story.kept.phase is Phase.SUSPENDED  # no clock runs

    story.plan = edited(story.plan, suspend=False, generation=3)
    story.look(1)
    assert story.kept.phase is Phase.PENDING
    assert (story.kept.epoch, story.kept.restarts) == (1, 0)
    assert story.kept.started_at == story.now
    story.launch()
    assert len(story.pods) == 4


def test_created_suspended_it_waits() -> None:
    story = Story(plan(suspend=True))
    assert story.look() == ()
    assert story.kept.phase is Phase.SUSPENDED
    assert story.look(10_000) == ()


def test_cancelled_it_fails_and_stops_its_pods_which_stay_for_their_logs() -> None:
    story = Story(plan())
    story.assemble()
    story.plan = edited(story.plan, cancel=True, generation=2)
    (stop,) = story.look(1)
    assert (story.kept.phase, story.kept.reason) == (Phase.FAILED, "Cancelled")
    assert isinstance(stop, StopPods)
    assert len(stop.pods) == 4
    story.view.mark_stopping(stop.pods)
    assert story.look(59) == (), "it is asked once"
    (delete,) = story.look(1)
    assert isinstance(delete, DeletePods), "30 s of grace and 30 more are over"
    assert len(delete.pods) == 4


def test_deleted_its_pods_go_and_nothing_else_is_decided_any_more() -> None:
    story = Story(plan())
    story.assemble()
    story.end(1, 1)
    story.plan = edited(story.plan, deleting=True)
    (delete,) = story.look(1)
    assert isinstance(delete, DeletePods)
    assert sorted(pod.rank for pod in delete.pods) == [0, 2, 3]
    assert story.kept.epoch == 0


def test_coordinator_first_opens_the_gate_when_the_coordinator_serves() -> None:
    story = Story(plan(gates=(Gate(GateCondition.SERVING),)))
    story.launch()
    assert [rank for _, rank in story.pods] == [0]
    story.start(0)
    assert story.look(1) == ()
    story.observe_probe(0)
    (create,) = story.look(1)
    assert isinstance(create, CreatePods)
    assert [member.rank for member in create.members] == [1, 2, 3]


def test_without_a_probe_ready_pods_are_a_complete_roll() -> None:
    story = Story(plan(probe=ProbeKind.NONE))
    story.launch()
    story.start()
    story.look(1)
    assert story.kept.phase is Phase.RUNNING
    assert story.last is not None
    assert story.last.probe is None


def test_the_coordinator_is_probed_by_pod_ip_while_it_runs() -> None:
    story = Story(plan())
    story.launch()
    assert story.last is not None
    assert story.last.probe is None
    story.start(0)
    story.look(1)
    assert story.last.probe is not None
    assert (story.last.probe.address, story.last.probe.expected) == ("10.0.0.1:1234", 4)


def test_a_missing_pod_is_created_again_before_all_were_there_at_once() -> None:
    story = Story(plan())
    story.create(3)
    story.start(0, 1)
    (create,) = story.look(1)
    assert isinstance(create, CreatePods)
    assert [member.rank for member in create.members] == [3]


def test_a_large_gang_that_gets_its_nodes_one_by_one_costs_few_writes() -> None:
    story = Story(plan(size=64))
    story.launch()
    before = story.writes
    for rank in range(63):  # one more pod gets a node each second
        story.schedule(rank)
        story.look(1)
    assert story.writes - before <= 2


def test_an_empty_gang_has_succeeded() -> None:
    story = Story(plan(size=0))
    story.look()
    assert story.kept.phase is Phase.SUCCEEDED


def test_a_decision_needs_no_call_before_it() -> None:
    seen = view(*(pod(rank) for rank in range(4)), pod(1, attempt=1))
    kept = record(attempts=(Attempts("1", 1),), scheduled_at=NOW)
    found = decide(plan(), kept, seen, NOW)
    assert seen.of(0).attempts == {1: 1}
    assert (seen.engine.launched, found.wake_at == NOW) == (0, False)
    assert decide(plan(), kept, seen, NOW) == found
