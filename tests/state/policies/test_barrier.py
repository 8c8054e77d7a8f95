"""The barrier: nothing of an epoch runs beside another one."""

from typing import Any

import pytest

from muster.state.facts import presence
from muster.state.facts.context import Context
from muster.state.policies import barrier
from muster.state.vocabulary.actions import DeletePods
from muster.state.vocabulary.plan_parts import LONGEST_GRACE
from muster.state.vocabulary.pod import Pod, PodPhase
from muster.state.vocabulary.record import Cause, Phase
from muster.state.vocabulary.rules import ClockAction, ClockName
from tests.builders import NOW, Clock, plan, pod, record, view, view_of


def case(*pods: Pod, clock: Clock | None = None, now: float = NOW, **facts: Any) -> Context:
    clocks = {ClockName.TERMINATING: clock} if clock else {}
    return Context.at(plan(clocks=clocks), record(epoch=2, **facts), view(*pods), now)


def ended(rank: int, epoch: int = 1, **changes: Any) -> Pod:
    return pod(rank, epoch=epoch, phase=PodPhase.FAILED, **changes)


def test_only_live_pods_of_other_epochs_stand_in_the_way() -> None:
    assert presence.none_older(case(pod(0, epoch=2), ended(1)))
    assert not presence.none_older(case(pod(0, epoch=1)))
    assert not presence.none_older(case(pod(0, epoch=3)))
    assert not presence.none_older(case(pod(0, epoch=1, terminating=True)))


def test_what_is_left_of_other_epochs_is_deleted_and_this_one_is_not_touched() -> None:
    running, dead = pod(0, epoch=1), ended(1)
    going = pod(2, epoch=1, terminating=True), ended(3, terminating=True)
    assert barrier.sweep(case(running, dead, *going, pod(0, epoch=2), ended(3, epoch=2))) == [
        DeletePods((running,), 2, "they belong to an older epoch or attempt"),
        DeletePods((dead,), 0, "they have ended and belong to an older epoch or attempt"),
    ]


def test_the_pod_of_the_cause_is_kept_for_its_logs() -> None:
    kept, other = ended(1), ended(2)
    (sweep,) = barrier.sweep(case(kept, other, cause=Cause(1, "Error", "", NOW, uid=kept.uid)))
    assert sweep.pods == (other,)


CUT_OFF = pod(0, epoch=1, terminating=True)
FORCED = DeletePods((CUT_OFF,), 0, "their terminating clock has run out, and its action is Restart")


@pytest.mark.parametrize(
    ("clock", "ending_at", "now", "forced"),
    [
        (Clock(60, ClockAction.RESTART), NOW, NOW + 60, True),
        (Clock(60, ClockAction.RESTART), NOW, NOW + 59.9, False),
        (Clock(60, ClockAction.RESTART), None, NOW + 999, False),
        (Clock(60, ClockAction.ALERT), NOW, NOW + 999, False),
        (Clock(60, ClockAction.FAIL), NOW, NOW + 999, False),
        (None, NOW, NOW + 999, False),
    ],
)
def test_force_is_used_only_where_the_spec_says_so_and_in_time(
    clock: Clock | None, ending_at: float | None, now: float, forced: bool
) -> None:
    actions = barrier.sweep(case(CUT_OFF, clock=clock, now=now, ending_at=ending_at))
    assert actions == ([FORCED] if forced else [])


def test_dismissed_every_live_pod_goes_with_its_own_grace() -> None:
    mine, old = pod(0, epoch=2), pod(1, epoch=1)
    gone = case(mine, old, ended(2), pod(3, epoch=2, terminating=True))
    assert barrier.end(gone) == [DeletePods((mine, old), None, "the experiment no longer runs")]
    assert barrier.end(case(ended(0), pod(3, epoch=2, terminating=True))) == []


def test_what_the_api_server_has_promised_to_delete_is_not_asked_for_again() -> None:
    """A pod that has ended goes at once, and its watch event comes later than the answer."""
    dead, running = ended(1), pod(0, epoch=1)
    seen = case(dead, running)
    view_of(seen).mark_deleting((dead,), 0)
    view_of(seen).mark_deleting((running,), 30)
    (sooner,) = barrier.sweep(seen)
    assert (sooner.pods, sooner.grace) == ((running,), 2)
    view_of(seen).mark_deleting((running,), 2)
    assert barrier.sweep(seen) == []
    assert barrier.end(seen) == []


def test_force_is_used_once() -> None:
    clock = Clock(60, ClockAction.RESTART)
    seen = case(CUT_OFF, clock=clock, now=NOW + 60, ending_at=NOW)
    view_of(seen).mark_deleting((CUT_OFF,), None)
    assert barrier.sweep(seen) == [FORCED]
    view_of(seen).mark_deleting((CUT_OFF,), 0)
    assert barrier.sweep(seen) == []


def test_a_promise_is_forgotten_with_its_pod() -> None:
    dead = ended(1)
    seen = view_of(case(dead))
    seen.mark_deleting((dead,), 0)
    seen.change(dead, None)
    assert seen.engine.deleting == {}
    seen.mark_deleting((dead,), 0)
    assert seen.engine.deleting == {}, "it had gone before the answer was read"


def evicted(delete_by: float, rank: int = 2) -> Pod:
    return pod(rank, epoch=1, terminating=True, disruption="EvictionByEvictionAPI", delete_by=delete_by)


def test_a_restart_does_not_wait_for_an_hour_of_grace_of_an_evicted_pod() -> None:
    slow = evicted(NOW + 3600)
    waiting = case(slow, now=NOW + LONGEST_GRACE - 1, ending_at=NOW)
    assert barrier.sweep(waiting) == []
    assert barrier.cut_at(waiting) == NOW + LONGEST_GRACE
    ends_by_itself = evicted(NOW + LONGEST_GRACE + 1, rank=3)
    late = case(slow, ends_by_itself, now=NOW + LONGEST_GRACE, ending_at=NOW)
    assert barrier.sweep(late) == [DeletePods((slow,), 1, "their grace period is longer than a restart waits")]
    view_of(late).mark_deleting((slow,), 1)
    assert barrier.sweep(late) == [], "once is enough"


def test_nothing_is_cut_where_no_restart_waits() -> None:
    assert barrier.cut_at(case(ending_at=None)) is None
    for phase in (Phase.SUSPENDED, Phase.FAILED):
        assert barrier.cut_at(case(ending_at=NOW, phase=phase)) is None
