"""Conditions: computed whole at every step, each with the time of its last flip."""

from typing import Any

import pytest
from msgspec.structs import replace

from muster.state.facts.context import Context
from muster.state.policies.rendezvous import NOT_GATHERED, Assembly
from muster.state.summary.conditions import renew
from muster.state.summary.gathering import Gathering
from muster.state.vocabulary.pod import Pod, PodPhase
from muster.state.vocabulary.record import Cause, Condition, ConditionType, Phase
from tests.builders import NOW, plan, pod, record, view

Case = tuple[Assembly, Gathering]
REST: Case = (NOT_GATHERED, Gathering(""))
"""What is known of a gang that does not gather."""
QUIET: Case = (NOT_GATHERED, Gathering("0/4 ranks arrived"))


def renewed(case: Context, shown: Case) -> tuple[Condition, ...]:
    return renew(case, *shown, case.plan.coordinator_address(case.record.epoch))


def rows(shown: Case = REST, *pods: Pod, **facts: Any) -> dict[str, tuple[bool | None, str, str]]:
    case = Context.at(plan(generation=7), record(**facts), view(*pods), NOW)
    conditions = renewed(case, shown)
    assert all((each.generation, each.since) == (7, NOW) for each in conditions)
    return {str(each.type): (each.status, each.reason, each.message) for each in conditions}


def test_an_experiment_that_begins_has_every_condition() -> None:
    begins = rows(QUIET, reason="CreatingPods", message="0/4 pods")
    assert list(begins) == [kind.value for kind in ConditionType]
    assert begins == {
        "Suspended": (False, "NotSuspended", ""),
        "Scheduled": (False, "Waiting", "0/4 members have a node"),
        "CoordinatorReady": (False, "NotServing", f"not serving at {plan().coordinator_address(0)}"),
        "Assembled": (False, "RollIncomplete", "0/4 ranks arrived"),
        "Restarting": (False, "NotRestarting", ""),
        "Stuck": (False, "NotStuck", ""),
        "Succeeded": (False, "NotSucceeded", ""),
        "Failed": (False, "NotFailed", ""),
        "Finished": (False, "Unfinished", ""),
    }


def test_one_that_runs() -> None:
    full = (replace(NOT_GATHERED, complete=True, coordinator_ready=True), Gathering("4/4 ranks arrived"))
    running = rows(full, phase=Phase.RUNNING, epoch=1, scheduled_at=NOW, assembled_at=NOW)
    assert running["Scheduled"] == (True, "AllScheduled", "all 4 members have a node")
    assert running["CoordinatorReady"] == (True, "Serving", f"serving at {plan().coordinator_address(1)}")
    assert running["Assembled"] == (True, "RollComplete", "4/4 ranks arrived")


def test_a_phase_and_what_is_stuck_have_their_conditions() -> None:
    assert rows(phase=Phase.SUSPENDED)["Suspended"] == (True, "Suspended", "")
    stuck = (replace(NOT_GATHERED, stuck="RanksMissing"), Gathering("", stuck="rank 2"))
    assert rows(stuck)["Stuck"] == (True, "RanksMissing", "rank 2")


def test_restarting_tells_the_cause() -> None:
    cause = Cause(0, "Error", "boom", NOW, pod="p-2", rank=2, exit_code=1)
    assert rows(phase=Phase.RESTARTING, cause=cause)["Restarting"] == (
        True, "GangRestart", "rank 2 (p-2) ended with exit code 1: boom",
    )  # fmt: skip
    assert rows(phase=Phase.RESTARTING)["Restarting"] == (True, "GangRestart", "")
    assert rows(phase=Phase.RUNNING, cause=cause)["Restarting"] == (False, "NotRestarting", "")


@pytest.mark.parametrize(("phase", "other"), [(Phase.SUCCEEDED, "Failed"), (Phase.FAILED, "Succeeded")])
def test_an_end_is_one_of_two(phase: Phase, other: str) -> None:
    over = rows(phase=phase, reason="Why", message="because")
    assert over[phase.value] == (True, "Why", "because")
    assert over[other] == (False, f"Not{other}", "")
    assert over["Finished"] == (True, "Why", "because")


def test_the_first_member_without_a_node_says_why() -> None:
    placed = pod(0, started=False)
    waiting = pod(
        1, scheduled=False, started=False, phase=PodPhase.PENDING, waiting_reason="Unschedulable",
        waiting_message="0/8 nodes have gpu",
    )  # fmt: skip
    assert rows(QUIET, placed, waiting)["Scheduled"] == (
        False,
        "Unschedulable",
        f"1/4 members have a node; rank 1 ({waiting.name}, Pending: Unschedulable, 0/8 nodes have gpu)",
    )
    silent = pod(1, scheduled=False, started=False, phase=PodPhase.PENDING)
    assert rows(QUIET, silent)["Scheduled"] == (
        False, "Waiting", f"0/4 members have a node; rank 1 ({silent.name}, Pending: not scheduled yet)",
    )  # fmt: skip
    assert rows(QUIET, placed)["Scheduled"] == (False, "Waiting", "1/4 members have a node")


def test_the_time_moves_only_where_the_status_flips() -> None:
    def since(*before: Condition, phase: Phase) -> dict[str, float]:
        case = Context.at(plan(), record(phase=phase, conditions=before), view(), NOW + 50)
        return {str(each.type): each.since for each in renewed(case, REST)}

    was = Condition(ConditionType.SUSPENDED, False, "Old", "words", 1, NOW - 9)
    assert since(was, phase=Phase.PENDING)["Suspended"] == NOW - 9
    assert since(was, phase=Phase.SUSPENDED)["Suspended"] == NOW + 50
    assert since(was, phase=Phase.PENDING)["Failed"] == NOW + 50


def test_what_is_reported_is_renewed_though_the_status_stays() -> None:
    kept = Condition(ConditionType.SUSPENDED, False, "NotSuspended", "", 7, NOW - 9)
    for before in (kept, replace(kept, message="old words"), replace(kept, generation=6)):
        case = Context.at(plan(generation=7), record(conditions=(before,)), view(), NOW)
        assert renewed(case, QUIET)[0] == kept


def stuck_next(before: Condition, reason: str, now: float = NOW) -> Condition:
    """The condition Stuck after one more decision, in which it has that reason."""
    case = Context.at(plan(generation=7), record(conditions=(before,)), view(), now)
    shown = (replace(NOT_GATHERED, stuck=reason), Gathering("", stuck="words of now"))
    return {each.type: each for each in renewed(case, shown)}[ConditionType.STUCK]


def test_a_reason_that_changes_has_a_time_of_its_own() -> None:
    began = Condition(ConditionType.STUCK, True, "RanksMissing", "rank 2", 7, NOW - 13)
    assert began.reason_since == NOW - 13
    other = stuck_next(began, "CoordinatorUnreachable", NOW - 1)
    assert (other.since, other.reason_at, other.reason_since) == (NOW - 13, NOW - 1, NOW - 1)
    same = stuck_next(other, "CoordinatorUnreachable")
    assert (same.since, same.reason_since) == (NOW - 13, NOW - 1)
    again = stuck_next(same, "RanksMissing", NOW + 4)
    assert (again.since, again.reason_since) == (NOW - 13, NOW + 4)


def test_a_status_that_changes_has_one_time_with_its_reason() -> None:
    over = Condition(ConditionType.STUCK, False, "NotStuck", "", 7, NOW - 13, NOW - 5)
    assert (stuck_next(over, "Hung").since, stuck_next(over, "Hung").reason_at) == (NOW, None)


@pytest.mark.parametrize(("old", "new"), [("Hung", "CollectiveStuck"), ("CollectiveStuck", "Hung")])
def test_a_hang_keeps_its_time_while_its_evidence_changes(old: str, new: str) -> None:
    began = Condition(ConditionType.STUCK, True, old, "rank 2", 7, NOW - 13)
    assert stuck_next(began, new).reason_since == NOW - 13
    assert stuck_next(replace(began, reason_at=NOW - 4), new).reason_since == NOW - 4
    assert stuck_next(began, "CoordinatorFrozen").reason_since == NOW


def test_who_needs_no_coordinator_has_it_ready() -> None:
    case = Context.at(plan(coordinator=None), record(), view(), NOW)
    here = {each.type: each for each in renewed(case, QUIET)}[ConditionType.COORDINATOR_READY]
    assert (here.status, here.reason, here.message) == (True, "NoCoordinator", "the operator has no coordinator")


def test_a_large_gang_names_the_first_pod_whose_wait_has_a_reason_and_walks_no_others() -> None:
    """Of 10,000 pods that start, none is looked at: they cost a decision 0.12 ms."""
    reason = "Unschedulable"
    pods = [
        pod(rank, scheduled=rank > 1, started=False, waiting_reason=reason if rank == 1 else "") for rank in range(20)
    ]
    case = Context.at(plan(size=20), record(), view(*pods), NOW)
    case.tally.idle.clear()
    scheduled = next(each for each in renewed(case, QUIET) if each.type is ConditionType.SCHEDULED)
    assert scheduled.reason == reason
    assert "rank 1 " in scheduled.message
