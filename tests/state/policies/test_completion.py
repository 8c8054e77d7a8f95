"""Done stays done: a rank that has succeeded neither restarts the gang nor runs again; each end is progress."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from muster.state.facts.context import Context
from muster.state.policies import completion
from muster.state.policies.completion import SAVE_PAUSE
from muster.state.view.view import View
from muster.state.vocabulary.actions import ConfirmLoss, CreatePods
from muster.state.vocabulary.group import Group, ProbeKind
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Exit, PodPhase, PodSpec
from muster.state.vocabulary.record import Phase
from muster.state.vocabulary.rules import ClockAction, ClockName, Quantifier, SuccessRule
from tests.builders import NOW, Clock, clock_ends, plan, pod, record, view
from tests.state.story import Story, created


def ready_gang(size: int = 4, **changes: Any) -> Story:
    """A gang without a coordinator to ask, Running."""
    story = Story(replace(plan(size=size, probe=ProbeKind.NONE), **changes)).bring_up()
    assert story.kept.phase is Phase.RUNNING
    return story


def test_a_finished_rank_whose_pod_is_removed_does_not_restart_the_gang() -> None:
    story = ready_gang()
    story.end(1)
    story.look(60)
    story.gone(1)
    assert story.look(1) == ()
    assert (story.kept.phase, story.kept.epoch, story.kept.completed) == (Phase.RUNNING, 0, "1")
    for rank in (0, 2, 3):
        story.end(rank)
        story.look(1)
        story.gone(rank)
        assert story.look(1) == ()
    assert (story.kept.phase, story.kept.message) == (Phase.SUCCEEDED, "all 4 members succeeded")
    assert story.kept.completed == "0-3"


def test_a_rank_whose_pod_goes_before_it_is_written_is_written_before_anything_else() -> None:
    story = ready_gang()
    story.end(2)
    story.gone(2)
    writes = story.writes
    assert story.look() == ()
    assert (story.writes, story.kept.completed) == (writes + 1, "2")


def test_ranks_that_end_together_cost_one_write() -> None:
    story = ready_gang(coordinator=None)
    story.look(3600)
    writes = story.writes
    story.end(0)
    story.look()
    assert story.wake_at == story.now + SAVE_PAUSE
    for rank in (1, 2):
        story.end(rank)
        story.look(1)
    assert story.writes == writes
    story.look(SAVE_PAUSE - 2)
    assert (story.writes, story.kept.completed) == (writes + 1, "0-2")
    story.look(60)
    assert story.writes == writes + 1


def test_a_daemon_that_was_away_goes_on_with_what_the_record_says() -> None:
    """All had succeeded; while no daemon ran, pods were collected one by one."""
    story = ready_gang()
    story.end(1)
    story.end(3)
    story.look()
    story.look(SAVE_PAUSE)
    assert story.kept.completed == "1,3"
    story.view = View()
    story.view.engine.service = True
    story.pods.clear()
    for rank in (0, 2):
        story.set(rank)
        story.end(rank)
    assert story.look(600) == ()
    assert (story.kept.phase, story.kept.epoch) == (Phase.SUCCEEDED, 0)


def test_a_member_that_is_not_done_and_gone_is_still_a_loss() -> None:
    story = ready_gang()
    story.end(1)
    story.gone(1)
    story.look(1)
    story.gone(2)
    assert story.look(1) == (ConfirmLoss(0),)
    story.do(ConfirmLoss(0))
    story.look(1)
    assert (story.kept.epoch, story.kept.disruptions) == (1, 1)


def test_a_restart_of_the_gang_makes_every_rank_run_again() -> None:
    story = ready_gang()
    story.end(1)
    story.look()
    story.look(SAVE_PAUSE)
    story.gone(1)
    story.end(2, 1)
    story.look(1)
    assert (story.kept.epoch, story.kept.completed) == (1, "")
    story.look(3600)
    story.launch()
    assert sorted(rank for epoch, rank in story.pods if epoch == 1) == [0, 1, 2, 3]
    assert story.view.of(1).done == {}


def sequential(size: int = 4, at_a_time: int = 1) -> Plan:
    group = Group("worker", 1, size, PodSpec("example.org/train:1", "run"), 0, parallelism=at_a_time)
    return replace(plan(size=size), operator="jobset", coordinator=None, groups=(group,))


def test_a_finished_rank_of_a_sequential_group_does_not_run_again_in_its_epoch() -> None:
    story = Story(sequential()).launch()
    order: list[int] = []
    for _ in range(4):
        (rank,) = (rank for _, rank in story.pods)
        order.append(rank)
        story.start(rank)
        story.look(1)
        story.end(rank)
        story.gone(rank)
        for action in story.look(1):
            assert isinstance(action, CreatePods)
            story.do(action)
    assert order == [0, 1, 2, 3]
    assert (story.kept.phase, story.kept.epoch) == (Phase.SUCCEEDED, 0)


def second_and_third_of_four() -> Story:
    """The first rank is done, and the next two have a node each."""
    story = Story(sequential(at_a_time=2)).launch()
    story.start(0, 1)
    story.look(1)
    story.end(0)
    story.obey(1)
    story.schedule(2)
    story.look(1)
    return story


def test_a_member_of_a_sequential_group_that_is_gone_when_it_is_seen_is_a_disruption() -> None:
    story = second_and_third_of_four()
    story.gone(1)
    assert story.look(1) == (ConfirmLoss(0, (1,)),)
    story.do(ConfirmLoss(0, (1,)))
    story.look(1)
    assert (story.kept.phase, story.kept.epoch) == (Phase.RESTARTING, 1)
    assert (story.kept.restarts, story.kept.disruptions) == (0, 1)


def test_a_member_of_a_sequential_group_that_is_back_when_it_is_looked_for_is_not_lost() -> None:
    story = second_and_third_of_four()
    member = story.pods[0, 1]
    story.gone(1)
    story.set(1, name=member.name, group=member.group, job=member.job, index=member.index)
    assert story.look(1) == ()


def test_a_member_of_a_sequential_group_that_went_before_it_had_a_node_is_made_again() -> None:
    story = second_and_third_of_four()
    story.end(1)
    story.obey(1)
    story.gone(3)
    assert created(story.look(1)) == [3]


def test_any_job_that_succeeded_counts_after_its_pods_are_gone() -> None:
    groups = (Group("worker", 2, 1, PodSpec("example.org/train:1", "run"), 0),)
    story = ready_gang(2, coordinator=None, groups=groups, success=SuccessRule(Quantifier.ANY))
    story.end(1)
    story.gone(1)
    story.look(1)
    assert (story.kept.phase, story.kept.message) == (Phase.SUCCEEDED, "job worker-1 succeeded")


def test_a_late_cache_cannot_undo_what_the_record_says() -> None:
    """The pod still runs in the cache of a new leader; the record of the old one says that its rank is done."""
    story = ready_gang()
    story.record = msgspec.structs.replace(story.kept, completed="0-2")
    assert story.look(1) == ()
    assert story.view.of(0).succeeded == 3
    story.end(2, 137)
    assert story.look(1) == ()
    assert story.kept.epoch == 0


def test_nothing_is_kept_of_ranks_of_older_epochs_or_of_a_finished_experiment() -> None:
    story = ready_gang(2)
    story.end(1)
    story.gone(1)
    story.look(1)
    story.end(0, 1)
    story.look(1)
    story.gone(0, 0)
    story.look(1)
    assert story.view.epochs == {}
    done = ready_gang(2)
    for rank in (0, 1):
        done.end(rank)
    done.look(1)
    for rank in (0, 1):
        done.gone(rank)
    done.look(1)
    assert done.view.epochs == {}


def test_a_text_without_room_for_every_rank_is_not_written_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.state.policies.completion.MAX_RANGES", 3)
    story = ready_gang(8)
    for rank in (0, 2, 4, 6):
        story.end(rank)
        story.gone(rank)
    story.look(1)
    assert story.kept.completed == "0,2"
    story.look(3600)  # what else there is to say has been said
    writes = story.writes
    for _ in range(20):
        story.look(1)
    assert story.writes == writes


def test_a_member_that_obeys_its_deletion_with_0_is_not_done() -> None:
    """Seen all at once, as by a daemon that was away when the gang was deleted."""
    story = ready_gang(2)
    for rank in (0, 1):
        ended = Exit("main", 0, 0, "Completed", "", story.now)
        story.set(rank, exit=ended, terminating=True, stopped_at=story.now - 1)
    story.look(1)
    assert (story.kept.phase, story.kept.epoch, story.kept.completed) == (Phase.RESTARTING, 1, "")
    assert story.cause.disruption


def test_a_member_that_was_done_before_its_deletion_stays_done() -> None:
    """Its exit and its deletion fall into one second."""
    story = ready_gang(2)
    story.end(1)
    story.look(0.1)
    story.set(1, terminating=True, stopped_at=story.now - 1)
    story.look(0.1)
    assert (story.kept.phase, story.kept.completed) == (Phase.RUNNING, "1")


AFTER = 100.0


def clocked(name: ClockName, action: ClockAction = ClockAction.FAIL) -> Plan:
    return plan(clocks={name: Clock(AFTER, action)})


@pytest.mark.parametrize("name", [ClockName.RUN, ClockName.PROGRESS])
def test_the_clocks_run_and_progress_run_from_the_assembly_of_the_gang(name: ClockName) -> None:
    story = Story(clocked(name)).launch()
    story.look(1000)
    assert clock_ends(story.plan, story.kept) == {}
    story.assemble()
    assert clock_ends(story.plan, story.kept) == {name: (story.kept.assembled_at or 0.0) + AFTER}


def test_the_run_clock_ends_an_epoch_that_is_too_long() -> None:
    story = Story(clocked(ClockName.RUN)).assemble()
    story.look(AFTER - 0.1)
    assert story.kept.phase is Phase.RUNNING
    story.look(0.1)
    assert (story.kept.phase, story.kept.reason) == (Phase.FAILED, "RunDeadlineExceeded")
    assert story.kept.message.startswith("only 0 of 4 members ended within 100 s")


def test_a_member_that_ends_is_progress() -> None:
    story = Story(clocked(ClockName.PROGRESS)).assemble()
    writes = story.writes
    story.now += 60
    story.end(1)
    story.look()
    story.look(AFTER - 1)
    assert story.kept.phase is Phase.RUNNING
    assert story.writes <= writes + 1, "an end is no fact that must be written at once"
    story.look(1)
    assert (story.kept.phase, story.kept.reason) == (Phase.FAILED, "ProgressDeadlineExceeded")
    assert story.kept.message.startswith("1 of 4 members have ended; no sign of progress within 100 s")


def test_a_restart_that_the_clock_progress_asks_for_costs_one_of_the_budget() -> None:
    story = Story(clocked(ClockName.PROGRESS, ClockAction.RESTART)).assemble()
    story.look(AFTER)
    assert (story.kept.phase, story.kept.restarts, story.kept.progressed_at) == (Phase.RESTARTING, 1, None)


def context(run: Plan, ended: bool, *, completed: str = "", **facts: object) -> Context:
    """A gang that was assembled 50 s ago; with ``ended`` its rank 0 is seen to have ended now."""
    seen = view(pod(0, phase=PodPhase.SUCCEEDED) if ended else pod(0))
    kept = record(phase=Phase.RUNNING, assembled_at=NOW - 50, completed=completed, **facts)
    seen.remember(run, kept, NOW)
    return Context.at(run, kept, seen, NOW)


@pytest.mark.parametrize(
    ("ended", "kept", "last"),
    [(True, None, NOW), (False, None, NOW - 50), (False, NOW - 5, NOW - 5), (True, NOW - 5, NOW)],
)
def test_the_clock_progress_counts_from_the_last_sign(ended: bool, kept: float | None, last: float) -> None:
    found = completion.note(context(clocked(ClockName.PROGRESS), ended, progressed_at=kept))
    assert found.progressed_at == last


def test_an_end_that_the_record_has_is_no_news_to_a_daemon_that_takes_over() -> None:
    here = context(clocked(ClockName.PROGRESS), True, completed="0", progressed_at=NOW - 30)
    assert completion.note(here) is here.record


def test_no_sign_is_noted_without_the_clock_progress() -> None:
    here = context(plan(), True)
    assert completion.note(here) is here.record
