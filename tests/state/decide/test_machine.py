"""The life of an experiment, as stories."""

from muster.api.gang import Attempts
from muster.state.decide.machine import decide
from muster.state.vocabulary.actions import ConfirmLaunch, CreatePods, DeletePods, EnsureService
from muster.state.vocabulary.record import ConditionType, Phase
from muster.state.vocabulary.rules import Backoff, ClockAction, ClockName
from tests.builders import NOW, Clock, plan, pod, record, sure, view
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
    story = Story(plan(limit=2, backoff=Backoff(initial=5))).assemble()
    story.end(2, 137, signal=9)
    actions = story.look(1)

    assert story.kept.phase is Phase.RESTARTING
    assert (story.kept.epoch, story.kept.restarts) == (1, 1)
    cause = sure(story.kept.cause)
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
    story.assemble()
    assert story.told.count("GangRestart") == 1


def test_a_live_read_finds_a_preemption_whose_event_was_lost() -> None:
    story = Story(plan(limit=0)).assemble()
    for rank in (0, 1, 3):
        story.end(rank, 134, signal=6)
    story.unheard = lambda: story.set(2, disruption="PreemptionByScheduler", terminating=True)
    story.look(1)
    assert (story.kept.phase, story.kept.restarts, story.kept.disruptions) == (Phase.RESTARTING, 0, 1)
    assert (story.cause.rank, story.cause.reason) == (2, "PreemptionByScheduler")


def test_old_pods_that_do_not_end_are_called_stuck_and_deleted_by_force_only_where_the_spec_says_so() -> None:
    for action, forced in ((ClockAction.ALERT, False), (ClockAction.RESTART, True)):
        clocks = {ClockName.TERMINATING: Clock(60, action)}
        story = Story(plan(clocks=clocks, backoff=Backoff(initial=1))).assemble()
        story.end(1, 1)
        story.look()
        for rank in (0, 2, 3):  # a dead node: these pods never end
            story.set(rank, 0, terminating=True)
        for _ in range(2):
            assert story.look(10) == (), "no member of the new epoch starts beside one of the old"
        actions = story.look(40)
        assert story.condition(ConditionType.STUCK) == (True, "TerminatingDeadlineExceeded")
        assert "3 pods of older epochs (first: run-worker-0-0-" in story.kept.message
        assert "node-0" in story.kept.message
        deletes = [each for each in actions if isinstance(each, DeletePods)]
        assert [(len(each.pods), each.grace) for each in deletes] == ([(3, 0)] if forced else [])


def test_a_large_gang_that_gets_its_nodes_one_by_one_costs_few_writes() -> None:
    story = Story(plan(size=64)).launch()
    before = story.writes
    for rank in range(63):  # one more pod gets a node each second
        story.schedule(rank)
        story.look(1)
    assert story.writes - before <= 2


def test_a_decision_needs_no_call_before_it() -> None:
    seen = view(*(pod(rank) for rank in range(4)), pod(1, attempt=1))
    kept = record(attempts=(Attempts("1", 1),), scheduled_at=NOW)
    found = decide(plan(), kept, seen, NOW)
    assert seen.of(0).attempts == {1: 1}
    assert (seen.engine.launched, found.wake_at == NOW) == (0, False)
    assert decide(plan(), kept, seen, NOW) == found
