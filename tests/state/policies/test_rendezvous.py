"""Rendezvous: who has arrived, who is missing, and when nothing moves any more."""

from dataclasses import replace
from typing import Any

import pytest

from muster.api.causes import Blocked
from muster.api.gang import RollCall
from muster.state.facts.context import Context
from muster.state.policies import deadline, rendezvous
from muster.state.summary.gathering import CUT_OFF
from muster.state.view.engine_facts import Refusal
from muster.state.view.roll import CoordinatorState, RankError, RankState, RollAnswer
from muster.state.view.view import View
from muster.state.vocabulary.group import Coordinator, Group, ProbeKind
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod, PodPhase, PodSpec
from muster.state.vocabulary.record import Condition, ConditionType, Phase
from muster.state.vocabulary.rules import ClockAction, ClockName, ClockRule
from tests.builders import NOW, Clock, answer, plan, pod, record, sure, view
from tests.state.gathered import Gathered, gathered

ARRIVED, CONNECTED, LEFT, MISSING = RankState.ARRIVED, RankState.CONNECTED, RankState.LEFT, RankState.MISSING
CALLING = "running, but it has not called the coordinator"
RUN = plan()


def gang(*missing: int) -> list[Pod]:
    return [pod(rank) for rank in range(4) if rank not in missing]


FIRST_SERVE, QUIET = 240.0, 6.0


def assess(seen: View, *, run: Plan = RUN, after: float = 0.0, **facts: Any) -> Gathered:
    here = Context.at(run, record(**facts), seen, NOW + after)
    return gathered(here, rendezvous.assess(here, passed(here)))


def passed(here: Context) -> list[ClockRule]:
    return deadline.passed(here, deadline.running(here.plan, here.record))


PASSIVE = plan(probe=ProbeKind.NONE)


DONE, SPARE = pod(0, phase=PodPhase.SUCCEEDED), pod(9, ready=False, started=False)
IN_TURN = plan(groups=(Group("worker", 1, 4, PodSpec(), first_rank=0, parallelism=2),), coordinator=None)


@pytest.mark.parametrize(
    ("run", "pods", "ready", "of"),
    [
        (PASSIVE, gang(), 4, 4),
        (plan(coordinator=None), gang(), 4, 4),
        (PASSIVE, [pod(2)], 1, 4),
        (PASSIVE, [], 0, 4),
        (PASSIVE, [*gang(), SPARE, pod(7), pod(8)], 4, 4),
        (IN_TURN, [pod(0), pod(1)], 2, 2),
    ],
    ids=["all", "no coordinator", "one", "none", "more than the gang has", "all places are taken"],
)
def test_without_a_roll_ready_members_are_the_gang(run: Plan, pods: list[Pod], ready: int, of: int) -> None:
    message = f"{ready}/{of} members are ready"
    assert assess(view(*pods), run=run) == Gathered(ready == of, ready > 0, ready, (), message, None, None)


def test_a_member_that_is_done_has_arrived_too() -> None:
    assert assess(view(DONE, *gang(0)), run=PASSIVE).complete


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_members_that_one_obstacle_holds_are_named_once_in_whatever_order_they_came(order: tuple[int, int]) -> None:
    waits = {"ready": False, "started": False, "phase": PodPhase.PENDING, "waiting_reason": "ImagePullBackOff"}
    message = assess(view(*(pod(rank, **waits) for rank in order), *gang(1, 2)), run=PASSIVE).message
    assert message.startswith("2/4 programs have started; ranks 1-2: ")
    assert message.count("ranks 1-2") == 1


def test_one_that_is_not_ready_is_named_with_its_reason() -> None:
    idle = pod(2, ready=False, started=False, phase=PodPhase.PENDING, waiting_reason="ImagePullBackOff")
    here = assess(view(idle, *gang(2)), run=PASSIVE)
    assert (here.complete, here.arrived, here.stuck) == (False, 3, None)
    assert here.message == f"3/4 programs have started; rank 2 ({idle.name}, Pending: ImagePullBackOff)"
    creating = pod(2, ready=False, started=False, phase=PodPhase.PENDING, waiting_reason="ContainerCreating")
    assert assess(view(creating, *gang(2)), run=PASSIVE) == Gathered(
        False, True, 3, (), f"3/4 members are ready; rank 2 ({creating.name}, Pending: ContainerCreating)", None, None
    )
    unready = pod(2, ready=False)
    said = assess(view(unready, *gang(2)), run=PASSIVE).message
    assert said == f"3/4 members are ready; rank 2 ({unready.name}, running, but not ready)"


def test_no_pod_no_process() -> None:
    wait = "waiting for the coordinator's process: rank 0 "
    assert assess(view(pod(1))) == Gathered(False, False, 0, (), f"{wait}(no pod yet)", None, None)
    pulling = pod(0, started=False, phase=PodPhase.PENDING, waiting_reason="ContainerCreating")
    told = f"{wait}({pulling.name}, Pending: ContainerCreating)"
    assert assess(view(pulling), after=999, assembling_at=NOW) == Gathered(False, False, 0, (), told, None, None)


ADDRESS = RUN.coordinator_address(0)
WAITING = f"waiting for the coordinator to serve at {ADDRESS} (rank 0, {pod(0).name}, running"


def test_a_process_may_take_four_minutes_to_open_its_port() -> None:
    seen = view(pod(0))
    assert assess(seen) == Gathered(False, False, 0, (), f"{WAITING})", None, None)
    early = assess(seen, after=239.9, assembling_at=NOW)
    assert early == Gathered(False, False, 0, (), f"{WAITING})", None, NOW + FIRST_SERVE)
    late = assess(seen, after=240, assembling_at=NOW)
    said = f"{WAITING}), for more than 240 s"  # the status joins the two unless the one holds the other
    assert (late.stuck, late.message) == (("CoordinatorNotServing", said), said)
    assert (late.look_again, FIRST_SERVE) == (None, 240.0)
    assert RUN.coordinator_address(3) in assess(view(pod(0, epoch=3)), epoch=3).message


def test_a_port_that_times_out_is_not_called_closed() -> None:
    coordinator = Coordinator(0, 1234, ProbeKind.JAX, opened_by="rank 0 opens it")
    run = plan(coordinator=coordinator)
    said = {
        state: assess(view(pod(0), heard=RollAnswer(at=NOW, coordinator=state)), run=run, after=240, assembling_at=NOW)
        for state in (CoordinatorState.REFUSED, CoordinatorState.TIMEOUT)
    }
    assert [found.stuck[0] for found in said.values() if found.stuck] == ["CoordinatorNotServing"] * 2
    assert said[CoordinatorState.REFUSED].message.endswith("for more than 240 s; rank 0 opens it")
    assert said[CoordinatorState.TIMEOUT].message.endswith(f"for more than 240 s{CUT_OFF}")


def test_what_an_unserving_coordinator_is_stuck_with_stands_once_beside_an_obstacle() -> None:
    seen = view(pod(0), pod(1), pod(2, phase=PodPhase.SUCCEEDED), pod(3))
    late = assess(seen, after=240, phase=Phase.ASSEMBLING, assembling_at=NOW, blocked=Blocked("RanksEnded", NOW + 20))
    assert late.stuck
    assert late.stuck[0] == "CoordinatorNotServing"
    assert late.message == f"1 member ended with exit code 0 (rank 2) while 3 run on; {late.stuck[1]}"


def test_a_missing_rank_is_named_and_called_stuck_only_after_a_while() -> None:
    seen = view(*gang(), heard=answer(ARRIVED, ARRIVED, MISSING, ARRIVED))
    message = f"3/4 ranks arrived; missing rank 2 ({pod(2).name}, {CALLING})"
    assert assess(seen) == Gathered(False, True, 3, (2,), message, None, NOW + QUIET)
    assert assess(seen, after=5.9).look_again == NOW + 6
    assert assess(seen, after=6) == Gathered(False, True, 3, (2,), message, ("RanksMissing", message), None)


def test_a_full_roll_before_the_barrier_opens_is_not_stuck() -> None:
    seen = view(*gang(), heard=answer(*[ARRIVED] * 4))
    assert assess(seen) == Gathered(False, True, 4, (), "4/4 ranks arrived", None, NOW + QUIET)
    assert assess(seen, after=60) == Gathered(False, True, 4, (), "4/4 ranks arrived", None, None)


def test_a_passed_rendezvous_stays_complete_when_a_rank_registers_again() -> None:
    seen = view(*gang(), heard=answer(*[CONNECTED] * 4))
    seen.observe_probe(answer(ARRIVED, MISSING, MISSING, ARRIVED, at=NOW + 1), 0)
    here = assess(seen, after=60)
    assert (here.complete, here.message, here.stuck) == (True, "2/4 ranks arrived", None)


@pytest.mark.parametrize("count", [2, 5])
def test_another_count_than_the_gangs_is_stuck_at_once(count: int) -> None:
    here = assess(view(*gang(), heard=answer(*[ARRIVED] * 4, expected=count)))
    why = f"the coordinator waits for {count} processes, the gang has 4 members"
    assert (here.stuck, here.look_again) == (("ProcessCountMismatch", why), None)
    assert assess(view(*gang(), heard=answer(*[ARRIVED] * 4, expected=None))).stuck is None, "it does not say its count"


PARTIAL = "this version of jax reports rank 0 only"
ZERO_ONLY = f"; {PARTIAL}"


def test_a_partial_roll_counts_the_other_members_by_readiness() -> None:
    said = answer(CONNECTED, expected=1, partial=PARTIAL)
    full = f"4/4 members are ready{ZERO_ONLY}"
    assert assess(view(*gang(), heard=said), after=60) == Gathered(True, True, 4, (), full, None, None)
    three = f"3/4 members are ready{ZERO_ONLY}"
    assert assess(view(*gang(3), heard=said)) == Gathered(False, True, 3, (), three, None, None)
    nobody = answer(MISSING, expected=1, partial=PARTIAL)
    assert assess(view(*gang(), heard=nobody)) == Gathered(False, True, 4, (), full, None, None)


def test_a_ray_head_without_its_dashboard_serves_and_is_stuck_after_a_minute() -> None:
    lacks = "Ray's GCS serves, but its dashboard does not (port 8265: connection refused)"
    said = answer(CONNECTED, expected=None, partial=f"{lacks}; who has joined is unknown", lacks=lacks)
    seen = view(*gang(), heard=said)
    here = assess(seen, after=59)
    assert (here.complete, here.coordinator_ready, here.stuck) == (False, True, None)
    assert here.message == f"4/4 members are ready; {lacks}; who has joined is unknown"
    assert here.look_again == NOW + 60
    assert assess(seen, after=60).stuck == ("DashboardNotServing", lacks)


COUNTED = "the coordinator does not name its members"


def counted(joined: int) -> RollAnswer:
    return RollAnswer(at=NOW, coordinator=CoordinatorState.SERVING, states=(ARRIVED,), partial=COUNTED, joined=joined)


def test_members_that_are_counted_and_not_named_are_waited_for() -> None:
    three = f"3/4 ranks arrived; {COUNTED}"
    assert assess(view(*gang(), heard=counted(3))) == Gathered(False, True, 3, (), three, None, NOW + QUIET)
    late = assess(view(*gang(), heard=counted(3)), after=QUIET)
    assert (late.complete, late.stuck) == (False, ("RanksMissing", three))
    full = assess(view(*gang(), heard=counted(4)), after=QUIET)
    assert (full.complete, full.arrived, full.stuck) == (True, 4, None)


def test_a_member_that_joins_ends_the_quiet_of_a_counted_gang() -> None:
    seen = view(*gang(), heard=counted(2))
    seen.observe_probe(replace(counted(3), at=NOW + 5), 0)
    assert assess(seen, after=QUIET).stuck is None
    assert assess(seen, after=5 + 1.5 * QUIET).stuck is not None


def test_of_a_counted_gang_a_pod_that_does_not_run_is_named() -> None:
    idle = pod(2, ready=False, started=False, phase=PodPhase.PENDING, waiting_reason="ContainerCreating")
    here = assess(view(idle, *gang(2), heard=counted(3)))
    assert here.message == f"3/4 ranks arrived; {COUNTED}; rank 2 ({idle.name}, Pending: ContainerCreating)"


@pytest.mark.parametrize(
    ("heard", "message", "left"),
    [
        (answer(CONNECTED, expected=1, partial=PARTIAL), f"4/4 members are ready{ZERO_ONLY}", False),
        (answer(LEFT, expected=1, partial=PARTIAL), f"4/4 members are ready{ZERO_ONLY}", True),
        (counted(4), f"4/4 ranks had arrived; {COUNTED}", False),
    ],
    ids=["it names itself alone", "it has left", "it counts"],
)
def test_a_coordinator_that_does_not_name_its_members_becomes_unreachable_unless_it_has_left(
    heard: RollAnswer, message: str, left: bool
) -> None:
    seen = view(*gang(), heard=heard)
    seen.observe_probe(RollAnswer(at=NOW + 1, coordinator=CoordinatorState.REFUSED), 0)
    early = assess(seen, after=6.9)
    assert early == Gathered(True, False, 4, (), message, None, None if left else NOW + 7)
    gone = ("CoordinatorUnreachable", "the coordinator stopped responding: its port refuses connections")
    late = Gathered(True, False, 4, (), f"{gone[1]}; {message}", gone, None)
    assert assess(seen, after=7) == (early if left else late)


@pytest.mark.parametrize(
    ("may_close", "states", "state", "stuck"),
    [
        (True, (CONNECTED,) * 4, CoordinatorState.REFUSED, False),
        (True, (CONNECTED,) * 4, CoordinatorState.TIMEOUT, True),
        (True, (ARRIVED,) * 3 + (MISSING,), CoordinatorState.REFUSED, True),
        (False, (CONNECTED,) * 4, CoordinatorState.REFUSED, True),
        (False, (LEFT,) + (CONNECTED,) * 3, CoordinatorState.REFUSED, False),
    ],
)
def test_a_port_that_may_close_after_the_rendezvous_or_while_ranks_leave_is_no_alarm(
    may_close: bool, states: tuple[RankState, ...], state: CoordinatorState, stuck: bool
) -> None:
    run = plan(coordinator=Coordinator(0, 1234, ProbeKind.TORCH, may_close=may_close))
    seen = view(*gang(), heard=answer(*states))
    seen.observe_probe(RollAnswer(at=NOW + 1, coordinator=state), 0)
    here = assess(seen, run=run, after=60)
    assert (here.coordinator_ready, here.stuck is not None) == (False, stuck)


def test_a_coordinator_that_fell_silent_is_stuck_after_a_while() -> None:
    seen = view(*gang(), heard=answer(*[CONNECTED] * 4))
    seen.observe_probe(RollAnswer(at=NOW + 1, coordinator=CoordinatorState.REFUSED), 0)
    early = assess(seen, after=2)
    assert (early.complete, early.coordinator_ready, early.stuck, early.look_again) == (True, True, None, NOW + 5)
    later = assess(seen, after=5)
    assert (later.complete, later.coordinator_ready, later.stuck, later.look_again) == (True, False, None, NOW + 7)
    why = "the coordinator stopped responding: "
    assert assess(seen, after=7).stuck == ("CoordinatorUnreachable", f"{why}its port refuses connections")
    assert assess(seen, after=7).look_again is None
    seen.observe_probe(RollAnswer(at=NOW + 1, coordinator=CoordinatorState.TIMEOUT, detail="no answer"), 0)
    assert assess(seen, after=9).stuck == ("CoordinatorUnreachable", f"{why}no answer")


@pytest.mark.parametrize("by", [{"restarts": 1}, {"uid": "its-successor"}], ids=["container", "pod"])
def test_a_coordinator_that_was_started_again_is_not_reported_to_have_served(by: dict[str, Any]) -> None:
    first = pod(0, started_at=NOW - 60)
    seen = view(first, *gang(0), heard=answer(*[CONNECTED] * 4))
    seen.change(first, pod(0, started_at=NOW + 2, **by))
    seen.observe_probe(
        RollAnswer(at=NOW + 3, coordinator=CoordinatorState.REFUSED, detail="port 8265: connection refused"), 0
    )
    why = "the coordinator restarted and has not served since: port 8265: connection refused"
    assert assess(seen, after=9).stuck == ("CoordinatorUnreachable", why)
    seen.observe_probe(answer(*[CONNECTED] * 4, at=NOW + 12), 0)
    seen.observe_probe(RollAnswer(at=NOW + 13, coordinator=CoordinatorState.REFUSED), 0)
    why = "the coordinator stopped responding: its port refuses connections"
    assert assess(seen, after=19).stuck == ("CoordinatorUnreachable", why)


def test_a_ray_head_of_which_only_a_part_has_answered_is_waited_for_as_one_that_starts() -> None:
    """Its GCS opens a port first, then the dashboard serves, and its own node joins last."""
    lacks = "Ray's GCS accepts connections at port 6379, its dashboard does not serve (connection refused)"
    seen = view(*gang(), heard=answer(CONNECTED, expected=None, partial=f"{lacks}; who has joined", lacks=lacks))
    joining = "the dashboard answers, and the head has not joined its own cluster yet"
    seen.observe_probe(RollAnswer(at=NOW + 5, coordinator=CoordinatorState.REFUSED, detail=joining), 0)
    here = assess(seen, after=30, assembling_at=NOW)
    assert (here.message, here.stuck, here.coordinator_ready) == (f"{WAITING}, port refused)", None, False)
    assert here.look_again == NOW + FIRST_SERVE
    assert sure(assess(seen, after=FIRST_SERVE, assembling_at=NOW).stuck)[0] == "CoordinatorNotServing"


def frozen_after_three_losses(since_the_last: float) -> View:
    """A coordinator that must answer for 5 s before it counts as serving; it does not answer from ``NOW`` on."""
    back = NOW - since_the_last
    seen = view(*gang(), heard=answer(*[CONNECTED] * 4, at=back - 30))
    for before in (20, 10, 0):
        seen.observe_probe(RollAnswer(at=back - before - 5, coordinator=CoordinatorState.REFUSED), 0)
        seen.observe_probe(answer(*[CONNECTED] * 4, at=back - before), 0)
    seen.observe_probe(RollAnswer(at=NOW, coordinator=CoordinatorState.TIMEOUT, detail="the GCS is silent"), 0)
    return seen


FROZEN = ("CoordinatorUnreachable", "the coordinator stopped responding: the GCS is silent")


def test_a_coordinator_that_was_lost_long_before_is_stuck_for_its_present_reason() -> None:
    seen = frozen_after_three_losses(since_the_last=65)
    early = assess(seen, after=3.9)
    assert (early.coordinator_ready, early.stuck, early.look_again) == (True, None, NOW + 4)
    assert assess(seen, after=4).stuck == FROZEN


@pytest.mark.parametrize("since_the_last", [3, 60])
def test_a_coordinator_that_comes_and_goes_does_not_answer_once_its_silence_lasts(since_the_last: float) -> None:
    seen = frozen_after_three_losses(since_the_last)
    early = assess(seen, after=5.9)
    assert early.stuck is not None
    assert early.stuck[1] == "the coordinator comes and goes: it counts as serving once it has answered for 5 s"
    assert early.look_again == NOW + 6
    assert assess(seen, after=6).stuck == FROZEN


def test_a_rank_in_error_is_reported_with_the_coordinators_text() -> None:
    lost = (RankError(3, 14, "heartbeat timeout"), RankError(1, 13, "barrier"))
    seen = view(*gang(), heard=answer(CONNECTED, RankState.FAILED, CONNECTED, RankState.FAILED, errors=lost))
    assert assess(seen).stuck == ("RankFailed", "the coordinator gave up rank 3: heartbeat timeout")
    seen.observe_probe(RollAnswer(at=NOW + 1, coordinator=CoordinatorState.REFUSED), 0)
    assert assess(seen, after=2).stuck is None


def test_all_ranks_that_are_given_up_for_one_reason_are_named() -> None:
    lost = (RankError(3, 14, "no heartbeats"), RankError(1, 14, "no heartbeats"), RankError(2, 13, "barrier"))
    seen = view(*gang(), heard=answer(CONNECTED, *[RankState.FAILED] * 3, errors=lost))
    assert assess(seen).stuck == ("RankFailed", "the coordinator gave up ranks 1, 3: no heartbeats")


def test_more_ranks_than_members_are_reported_unchanged() -> None:
    here = assess(view(*gang(), heard=answer(*[ARRIVED] * 6, expected=4)), after=60)
    assert (here.arrived, here.message, here.stuck) == (6, "6/4 ranks arrived", None)


CLOCKED = plan(clocks={ClockName.ASSEMBLY: Clock(5, ClockAction.ALERT)})


def test_a_passed_clock_is_more_definite_than_the_roll() -> None:
    seen = view(*gang(), heard=answer(ARRIVED, ARRIVED, MISSING, ARRIVED))
    here = assess(seen, run=CLOCKED, after=5, assembling_at=NOW)
    why = f"only 3/4 ranks arrived within 5 s; missing rank 2 ({pod(2).name}, {CALLING})"
    assert here == Gathered(
        complete=False, coordinator_ready=True, arrived=3, missing=(2,),
        message=why, stuck=("AssemblyDeadlineExceeded", why), look_again=NOW + 6,
        passed=list(CLOCKED.clocks),
    )  # fmt: skip


def test_a_refusal_is_reported_before_any_clock() -> None:
    seen = view(*gang(), heard=answer(*[CONNECTED] * 4))
    seen.engine.refusal = Refusal("QuotaExceeded", "no more pods", final=False)
    here = assess(seen, run=CLOCKED, after=5, assembling_at=NOW)
    assert here == Gathered(
        complete=True, coordinator_ready=True, arrived=4, missing=(), message="no more pods; 4/4 ranks arrived",
        stuck=("QuotaExceeded", "no more pods"), look_again=None, passed=list(CLOCKED.clocks),
    )  # fmt: skip


def test_a_gang_at_rest_has_no_arrivals() -> None:
    here = Context.at(RUN, record(), view(), NOW)
    quiet = gathered(here, rendezvous.at_rest(here))
    assert quiet == Gathered(False, False, 0, (), "", None, None)
    clocks = {ClockName.TERMINATING: Clock(5, ClockAction.ALERT)}
    old = pod(1, epoch=0, node="")
    run = plan(clocks=clocks)
    here = Context.at(run, record(epoch=1, ending_at=NOW), view(old), NOW + 5)
    late = gathered(here, rendezvous.at_rest(here, passed(here)))
    why = f"1 pod of an older epoch ({old.name}) did not end within 5 s"
    assert late == Gathered(False, False, 0, (), why, ("TerminatingDeadlineExceeded", why), None, None, [*run.clocks])


def began(seen: View | None = None, *, ready: bool = True, **facts: Any) -> Gathered:
    kinds = (ConditionType.COORDINATOR_READY, ready, "so"), (ConditionType.ASSEMBLED, False, "3/4 ranks arrived")
    stuck = (ConditionType.STUCK, facts.pop("stuck", True), "rank 2")
    conditions = tuple(Condition(kind, status, "Why", words, 1, NOW) for kind, status, words in (*kinds, stuck))
    roll = facts.pop("roll", RollCall(4, 3, (2,)))
    return assess(seen or view(*gang()), **{"conditions": conditions, "roll": roll, **facts})


def test_a_daemon_that_has_not_asked_yet_says_what_is_persisted() -> None:
    told = "3/4 ranks arrived"
    assert began() == Gathered(False, True, 3, (2,), f"rank 2; {told}", ("Why", "rank 2"), None)
    assert began(stuck=False) == Gathered(False, True, 3, (2,), told, None, None)
    assert began(assembled_at=NOW).complete
    only = (Condition(ConditionType.COORDINATOR_READY, True, "Why", "so", 1, NOW),)
    assert began(conditions=only) == Gathered(False, True, 3, (2,), "", None, None)


def test_where_nothing_was_heard_before_it_waits_for_the_coordinator() -> None:
    nobody = RollCall(4, 0, ())
    for here in (began(ready=False, roll=nobody, stuck=False), began(roll=None, conditions=())):
        assert here == Gathered(False, False, 0, (), f"{WAITING})", None, None)


def test_what_it_hears_goes_before_what_is_persisted_and_no_alert_is_repeated_in_one_message() -> None:
    seen = view(*gang(), heard=answer(*[CONNECTED] * 4))
    assert began(seen).arrived == 4
    refused = view(*gang())
    refused.engine.refusal = Refusal("Quota", "no more pods", final=False)
    assert began(refused, stuck=False).message == "no more pods; 3/4 ranks arrived"
