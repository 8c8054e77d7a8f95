"""The picture: what a person sees, and when it is worth a write."""

from typing import Any
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from muster.api.gang import RollCall
from muster.state.facts.context import Context
from muster.state.policies.rendezvous import NOT_GATHERED, Assembly
from muster.state.summary import status
from muster.state.summary.gathering import Gathering
from muster.state.summary.status import WORDS_AFTER, Due, due, summarize
from muster.state.view.turns import BURST, REFILL, WriteBudget
from muster.state.vocabulary.group import ProbeKind
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod, PodPhase
from muster.state.vocabulary.record import Cause, Condition, ConditionType, Phase, Record
from muster.state.vocabulary.rules import ClockAction, ClockName
from tests.builders import NOW, Clock, plan, pod, record, view

Case = tuple[Assembly, Gathering]
REST: Case = (NOT_GATHERED, Gathering(""))
"""What is known of a gang that does not gather."""
ARRIVED = Assembly(False, True, 3, (2,))
HERE: Case = (ARRIVED, Gathering("3/4 ranks arrived", whole="3/4 ranks arrived"))
TIMED = plan(clocks={ClockName.TOTAL: Clock(99.5, ClockAction.FAIL)})
CAUSE = Cause(0, "Error", "boom", NOW, pod="p-2", rank=2, exit_code=1)


def painted(case: Case = REST, *pods: Pod, run: Plan | None = None, **facts: Any) -> Record:
    assembly, said = case
    with patch.object(status, "gathering", lambda *_: said):
        return summarize(Context.at(run or plan(), record(**facts), view(*pods), NOW), assembly)


def words(case: Case = REST, *pods: Pod, **facts: Any) -> tuple[str, str]:
    here = painted(case, *pods, **facts)
    return here.reason, here.message


def test_it_is_of_the_newest_generation_and_of_this_epochs_address() -> None:
    run = plan(generation=5, size=6)
    here = painted(HERE, run=run, epoch=2)
    assert (here.generation, here.size, here.coordinator) == (5, 6, run.coordinator_address(2))
    assert [each.type for each in here.conditions] == list(ConditionType)


def test_where_there_is_a_roll_it_counts() -> None:
    here = painted(HERE, pod(0))
    assert (here.ready, here.roll) == (3, RollCall(4, 3, (2,)))


@pytest.mark.parametrize("run", [plan(probe=ProbeKind.NONE), plan(coordinator=None)])
def test_elsewhere_ready_and_done_members_do(run: Plan) -> None:
    here = painted(HERE, pod(0), pod(1, phase=PodPhase.SUCCEEDED), pod(2, ready=False), run=run)
    assert (here.ready, here.roll) == (2, None)


def test_the_last_roll_stays_while_the_gang_is_not_wanted() -> None:
    here = painted(REST, pod(0), roll=RollCall(4, 4), phase=Phase.SUSPENDED)
    assert (here.ready, here.roll) == (1, RollCall(4, 4))


def test_the_outcome_stays_when_the_pods_are_removed() -> None:
    over: dict[str, Any] = {"phase": Phase.SUCCEEDED, "ready": 4, "roll": RollCall(4, 4), "reason": "R", "message": "m"}
    later = painted(REST, finished_at=NOW - 1, **over)
    assert (later.ready, later.roll, later.reason, later.message) == (4, RollCall(4, 4), "R", "m")
    assert painted(REST, pod(0), finished_at=NOW, **over).ready == 4


def test_the_deadline_is_in_whole_seconds() -> None:
    assert painted(HERE, run=TIMED, started_at=NOW).deadline == NOW + 100
    assert painted(HERE, run=TIMED, started_at=NOW + 0.2).deadline == NOW + 100


def test_without_a_running_total_there_is_no_deadline_but_how_it_ended_stays() -> None:
    assert painted(HERE, started_at=NOW).deadline is None
    assert painted(HERE, run=TIMED).deadline is None
    assert painted(HERE, started_at=NOW, deadline=NOW + 7).deadline is None
    assert painted(REST, run=TIMED, started_at=NOW, deadline=NOW + 7, phase=Phase.FAILED).deadline == NOW + 7


def test_suspended_it_says_what_to_do() -> None:
    shown = "suspended by spec.suspend; set it to false to continue"
    assert words(REST, pod(0, epoch=3), phase=Phase.SUSPENDED, cause=CAUSE) == ("Suspended", shown)


def test_what_is_stuck_goes_before_everything_else() -> None:
    stuck = (replace(ARRIVED, stuck="RanksMissing"), Gathering("", whole="3/4; rank 2"))
    assert words(stuck, pod(0, epoch=3)) == ("RanksMissing", "3/4; rank 2")
    assert words(stuck, phase=Phase.RUNNING) == ("RanksMissing", "3/4; rank 2")


def test_old_pods_are_waited_for_by_name() -> None:
    old = pod(0, epoch=0)
    waiting = f"waiting for 1 pod of an older epoch ({old.name} on node node-0) to terminate"
    assert words(HERE, old, epoch=1) == ("AwaitingOldPods", waiting)
    after = f"{waiting}; rank 2 (p-2) ended with exit code 1: boom"
    assert words(REST, old, epoch=1, phase=Phase.RESTARTING, cause=CAUSE) == ("AwaitingOldPods", after)


def test_the_message_of_a_backoff_names_its_cause() -> None:
    shown = "epoch 1 starts after the back-off"
    assert words(REST, epoch=1, phase=Phase.RESTARTING) == ("BackingOff", shown)
    after = f"{shown}; rank 2 (p-2) ended with exit code 1: boom"
    assert words(REST, epoch=1, phase=Phase.RESTARTING, cause=CAUSE)[1] == after


def test_pods_are_created_then_scheduled_then_started() -> None:
    idle: dict[str, Any] = {"phase": PodPhase.PENDING, "started": False, "ready": False}
    placed = [pod(rank, **idle) for rank in range(4)]
    unplaced = pod(3, scheduled=False, **idle)
    assert words(HERE) == ("CreatingPods", "0/4 pods created")
    assert words(HERE, *placed[:3]) == ("CreatingPods", "3/4 pods created")
    why = f"rank 3 ({unplaced.name}, Pending: not scheduled yet)"
    assert words(HERE, *placed[:2], unplaced) == ("Pending", f"2/4 members have a node; {why}")
    assert words(HERE, *placed, scheduled_at=NOW) == ("Pending", "starting 4 members")


def test_then_ranks_are_awaited_and_the_roll_is_complete() -> None:
    assert words(HERE, phase=Phase.ASSEMBLING) == ("AwaitingRanks", "3/4 ranks arrived")
    assert words(HERE, phase=Phase.RUNNING) == ("RollComplete", "3/4 ranks arrived")
    assert words(REST, phase=Phase.ASSEMBLING) == ("AwaitingRanks", "")
    assert words(REST, phase=Phase.RUNNING) == ("RollComplete", "")


FACT = record(updated_at=NOW + 20)
UNSTUCK = Condition(ConditionType.STUCK, False, "NotStuck", "", 1, NOW)
STUCK = Condition(ConditionType.STUCK, True, "RanksMissing", "rank 2", 1, NOW)


def empty(now: float) -> WriteBudget:
    """A budget that has just been used up."""
    budget = WriteBudget()
    for _ in range(BURST):
        budget.spend(now)
    return budget


def test_what_was_never_written_and_every_new_fact_is_written_at_once_without_a_budget() -> None:
    spent = empty(NOW + 20)
    assert due(None, FACT, spent, NOW + 20) == Due(True)
    assert due(FACT, replace(FACT, epoch=1), spent, NOW + 20) == Due(True)


def test_what_has_not_changed_is_not_written() -> None:
    assert due(FACT, FACT, WriteBudget(), NOW + 9999) == Due(False)


def test_a_sentence_is_written_four_seconds_after_the_last_write_at_the_latest() -> None:
    shown = replace(FACT, message="3/4")
    assert due(FACT, shown, WriteBudget(), NOW + 21) == Due(False, NOW + 24, paid=True)
    assert due(FACT, shown, WriteBudget(), NOW + 24) == Due(True, NOW + 24, paid=True)
    assert due(FACT, shown, WriteBudget(), NOW + 9999).write


def test_a_turn_of_a_condition_is_written_at_once_and_neither_before_the_budget_has_room() -> None:
    before = replace(FACT, conditions=(UNSTUCK,))
    assert due(before, replace(before, conditions=(STUCK,)), WriteBudget(), NOW + 20) == Due(True, NOW + 20, paid=True)
    spent = empty(NOW + 20)
    for after in (replace(before, conditions=(STUCK,)), replace(before, message="3/4")):
        assert due(before, after, spent, NOW + 20) == Due(False, NOW + 20 + REFILL, paid=True)
        assert due(before, after, spent, NOW + 20 + REFILL).write


def test_counts_that_no_sentence_shows_wait_for_the_next_write() -> None:
    assert due(FACT, replace(FACT, ready=131, roll=RollCall(512, 131)), WriteBudget(), NOW + 9999) == Due(False)


def test_a_wall_clock_that_was_set_back_does_not_silence_the_status() -> None:
    shown = replace(FACT, message="3/4")
    assert due(FACT, shown, WriteBudget(), NOW - 3600) == Due(False, NOW - 3600 + WORDS_AFTER, paid=True)


def test_sentences_counts_and_times_of_the_write_are_no_facts() -> None:
    summary: dict[str, Any] = {
        "reason": "x", "message": "x", "conditions": (STUCK,), "ready": 1, "size": 9, "roll": RollCall(4, 1),
        "phase_at": NOW + 1, "updated_at": NOW,
    }  # fmt: skip
    assert replace(FACT, **summary).facts == FACT.facts
