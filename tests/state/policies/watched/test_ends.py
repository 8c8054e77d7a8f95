"""How a watched run ends, when, and what is said of the pods that it leaves."""

from typing import Any

import pytest

from muster.state.decide.machine import decide
from muster.state.facts.context import Context
from muster.state.policies.watched.following import DELETED, HELD_AFTER, SETTLED_WITHIN, follow, held
from muster.state.view.own import OwnState, OwnVerdict
from muster.state.vocabulary.plan import Engine
from muster.state.vocabulary.pod import Exit, Pod, PodPhase
from muster.state.vocabulary.record import ConditionType, Phase, Record
from tests.builders import NOW, plan, pod, record, view, view_of

DONE = OwnState(OwnVerdict.SUCCEEDED, "JobSucceeded", "all well", finished_at=NOW - 50)
KEEPS = OwnState(
    OwnVerdict.FAILED, "DeadlineExceeded", "too late", finished_at=NOW - 50, clearing="nothing deletes them"
)
FOUR = [pod(rank) for rank in range(4)]


def context(*pods: Pod, own: OwnState, now: float = NOW, asks: dict[str, Any] | None = None, **facts: Any) -> Context:
    seen = view(*pods)
    seen.own = own
    known = record(**{"phase": Phase.RUNNING, "started_at": NOW - 100} | facts)
    return Context.at(plan(engine=Engine.WATCH, **asks or {}), known, seen, now)


def ended(*pods: Pod, own: OwnState, **more: Any) -> Record:
    return follow(context(*pods, own=own, **more)).record


@pytest.mark.parametrize(
    ("stated", "at"),
    [(NOW - 50, NOW - 50), (None, NOW), (NOW + 50, NOW), (1.0, NOW - 100)],
    ids=["as stated", "not stated", "in the future", "before its start"],
)
def test_a_run_has_ended_when_its_object_says_it_had(stated: float | None, at: float) -> None:
    after = ended(own=OwnState(OwnVerdict.FAILED, finished_at=stated))
    assert (after.phase, after.finished_at, after.phase_at) == (Phase.FAILED, at, at)


def test_a_daemon_that_starts_does_not_let_a_run_end_now_that_ended_before() -> None:
    case = context(own=DONE)
    assert decide(case.plan, None, view_of(case), NOW).record.finished_at == NOW - 50


def test_labelled_pods_have_ended_with_the_last_of_them() -> None:
    done = [
        pod(rank, phase=PodPhase.SUCCEEDED, ready=False, exit=Exit("main", 0, 0, "Completed", "", NOW - 60 + rank))
        for rank in range(4)
    ]
    assert ended(*done, own=OwnState(OwnVerdict.ASK_PODS)).finished_at == NOW - 57


def test_pods_that_run_on_after_the_end_are_reported_with_what_becomes_of_them() -> None:
    said = "too late; 4 pods still run (first: {}), and what they hold is not free; nothing deletes them"
    assert ended(*FOUR, own=KEEPS).message == said.format(min(each.name for each in FOUR))
    assert ended(own=KEEPS).message == "too late", "nothing is left"
    gone = [pod(rank, terminating=True) for rank in range(4)]
    assert ended(*gone, own=KEEPS).message == "too late", "they end by themselves"


def test_pods_that_run_on_are_named_once_the_controller_had_time_to_delete_them_and_only_while_they_run() -> None:
    own = OwnState(OwnVerdict.FAILED, "Failed", "too late", finished_at=NOW)
    first = follow(context(*FOUR, own=own))
    assert (first.record.message, first.wake_at) == ("too late", NOW + SETTLED_WITHIN)
    later = NOW + SETTLED_WITHIN
    after = follow(Context.at(plan(engine=Engine.WATCH), first.record, context(*FOUR, own=own).view, later))
    assert "4 pods still run" in after.record.message
    again = follow(Context.at(plan(engine=Engine.WATCH), after.record, context(FOUR[0], own=own).view, later))
    assert again.record.message.startswith("too late; 1 pod still runs (")
    over = follow(Context.at(plan(engine=Engine.WATCH), again.record, context(own=own).view, later))
    assert over.record.message == "too late"


GOING = {"deleting": True, "deleted_at": NOW - 10, "finalizers": ("foregroundDeletion",)}
HELD = "being deleted; held by the finalizer foregroundDeletion"


def seen(*pods: Pod, now: float = NOW, own: OwnState | None = None, **facts: Any) -> Record:
    case = context(*pods, own=own or OwnState(), now=now, asks=GOING, **facts)
    return decide(case.plan, case.record, view_of(case), now).record


def test_of_an_object_that_is_being_deleted_the_finalizer_and_the_pods_that_are_left_are_reported() -> None:
    two = [pod(0, terminating=True), pod(1)]
    after = seen(*two)
    first = min(each.name for each in two)
    assert after.message == f"{HELD}; 2 pods still run (first: {first}), and what they hold is not free"
    assert (after.phase, after.reason, after.ready) == (Phase.RUNNING, "Deleting", 1)
    assert seen().message == f"{HELD}; no pod runs"


@pytest.mark.parametrize(
    ("finalizers", "said"),
    [
        ((), "being deleted"),
        (("a", "b"), "being deleted; held by the finalizers a, b"),
        (tuple("abcde"), "being deleted; held by the finalizers a, b, c and 2 more"),
    ],
)
def test_the_finalizers_are_named(finalizers: tuple[str, ...], said: str) -> None:
    assert held(plan(engine=Engine.WATCH, deleting=True, finalizers=finalizers)) == said


def test_members_that_go_with_their_object_are_no_failures_and_nothing_is_stuck() -> None:
    failed = pod(0, phase=PodPhase.FAILED, ready=False, exit=Exit("main", 143, 0, "Error", "", NOW))
    after = seen(failed, pod(1, terminating=True), now=NOW + 30)
    stuck = after.condition(ConditionType.STUCK)
    assert after.cause is None
    assert stuck is not None
    assert not stuck.status


def test_a_run_has_ended_when_its_deletion_is_held_and_no_pod_runs() -> None:
    assert seen(now=NOW - 10 + HELD_AFTER - 1).phase is Phase.RUNNING
    assert seen(pod(0), now=NOW + HELD_AFTER).phase is Phase.RUNNING
    after = seen(now=NOW - 10 + HELD_AFTER)
    assert (after.phase, after.reason) == (Phase.FAILED, DELETED)
    assert after.message == f"it was deleted before its end; {HELD}; no pod runs"


def test_a_deletion_that_is_held_wakes_the_decision() -> None:
    case = context(own=OwnState(), asks=GOING)
    assert follow(case).wake_at == NOW - 10 + HELD_AFTER
    assert follow(context(pod(0), own=OwnState(), asks=GOING)).wake_at is None


def test_a_run_that_ended_before_it_was_deleted_keeps_its_verdict() -> None:
    after = seen(own=DONE, now=NOW + HELD_AFTER)
    assert (after.phase, after.reason) == (Phase.SUCCEEDED, "JobSucceeded")
    assert after.message == f"all well; {HELD}; no pod runs"
