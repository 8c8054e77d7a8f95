"""Where each rank stands, by what the coordinator and its pod show."""

from typing import Any

import pytest

from muster.api.gang import RollCall
from muster.rollcall.seats import Standing, benches, by_standing
from muster.state.facts.context import Context
from muster.state.view.roll import CoordinatorState, RankState
from muster.state.vocabulary.group import ProbeKind
from muster.state.vocabulary.pod import Exit, PodPhase
from muster.state.vocabulary.record import Phase
from tests.builders import NOW, answer, plan, pod, record, view

WAITING = {"started": False, "ready": False, "phase": PodPhase.PENDING}
ENDED = Exit("main", 0, 0, "Completed", "", NOW)
FAILED = Exit("main", 1, 0, "Error", "", NOW)


def standing(*states: RankState, rank: int = 1, probe: ProbeKind = ProbeKind.JAX, **of_pod: Any) -> Standing:
    """Of rank 1 of four, whose pod has these fields, at a coordinator that said this."""
    pods = [pod(each, **(of_pod if each == rank else {})) for each in range(4)]
    seen = view(*pods, heard=answer(*states) if states else None)
    case = Context.at(plan(probe=probe), record(phase=Phase.ASSEMBLING), seen, NOW)
    return benches(case)[0].seats[rank].standing


ALL = (RankState.CONNECTED,) * 4
NOT_1 = (RankState.ARRIVED, RankState.MISSING, RankState.ARRIVED, RankState.ARRIVED)


@pytest.mark.parametrize(
    ("states", "of_pod", "expected"),
    [
        (ALL, {}, Standing.ARRIVED),
        (NOT_1, {}, Standing.NOT_ARRIVED),
        (NOT_1, WAITING | {"scheduled": False, "node": ""}, Standing.STARTING),
        (NOT_1, WAITING | {"scheduled": False, "waiting_reason": "SchedulingGated"}, Standing.QUEUED),
        (NOT_1, WAITING | {"scheduled": False, "waiting_reason": "Unschedulable"}, Standing.UNSCHEDULABLE),
        (NOT_1, WAITING | {"waiting_reason": "ErrImagePull"}, Standing.IMAGE),
        (NOT_1, WAITING | {"waiting_reason": "CreateContainerConfigError"}, Standing.CONTAINER),
        (ALL, {"cut_off": True, "ready": False}, Standing.NODE),
        (ALL, {"terminating": True}, Standing.TERMINATING),
        (ALL, {"phase": PodPhase.FAILED, "exit": FAILED, "ready": False}, Standing.FAILED),
        (ALL, {"phase": PodPhase.SUCCEEDED, "exit": ENDED, "ready": False}, Standing.ENDED),
        ((RankState.CONNECTED, RankState.FAILED, *ALL[2:]), {}, Standing.FAILED),
        ((RankState.CONNECTED, RankState.STALE, *ALL[2:]), {}, Standing.NOT_ARRIVED),
        ((), {}, Standing.RUNNING),
    ],
)
def test_where_a_rank_stands(states: tuple[RankState, ...], of_pod: dict[str, Any], expected: Standing) -> None:
    assert standing(*states, **of_pod) is expected


def test_who_has_arrived_is_not_shown_while_a_coordinator_that_served_is_silent() -> None:
    seen = view(*map(pod, range(4)), heard=answer(*ALL, at=NOW - 20))
    seen.observe_probe(answer(at=NOW - 10, coordinator=CoordinatorState.TIMEOUT, expected=None), 0)
    case = Context.at(plan(), record(phase=Phase.RUNNING, roll=RollCall(4, 4)), seen, NOW)
    assert {seat.standing for seat in benches(case)[0].seats} == {Standing.RUNNING}


def test_every_state_of_a_roll_has_a_standing() -> None:
    assert all(standing(RankState.CONNECTED, state, *ALL[2:]) for state in RankState)


def test_without_a_roll_call_a_ready_pod_has_arrived() -> None:
    assert standing(probe=ProbeKind.NONE) is Standing.ARRIVED
    assert standing(probe=ProbeKind.NONE, ready=False) is Standing.RUNNING


def test_after_a_restart_of_the_daemon_the_record_says_who_is_missing() -> None:
    facts = record(phase=Phase.ASSEMBLING, roll=RollCall(4, 3, (2,)))
    seats = benches(Context.at(plan(), facts, view(*(pod(rank) for rank in range(4))), NOW))[0].seats
    assert [seat.standing for seat in seats].index(Standing.NOT_ARRIVED) == 2
    assert sum(seat.standing is Standing.ARRIVED for seat in seats) == 3


def test_a_rank_without_a_pod_is_lost_once_all_had_one() -> None:
    pods = [pod(rank) for rank in (0, 2, 3)]
    early = Context.at(plan(), record(), view(*pods), NOW)
    later = Context.at(plan(), record(scheduled_at=NOW), view(*pods), NOW)
    assert by_standing(benches(early))[Standing.NO_POD] == [1]
    assert by_standing(benches(later))[Standing.LOST] == [1]


def test_a_rank_that_muster_stopped_after_the_end_has_not_failed() -> None:
    over = record(phase=Phase.FAILED, finished_at=NOW + 0.5)
    exits = (Exit("main", 1, 0, "Error", "", NOW - 1), Exit("main", 143, 15, "Error", "", NOW + 1))
    pods = [pod(rank, phase=PodPhase.FAILED, exit=each, ready=False) for rank, each in enumerate(exits)]
    found = by_standing(benches(Context.at(plan(), over, view(*pods), NOW)))
    assert (found[Standing.FAILED], found[Standing.STOPPED]) == ([0], [1])


def test_a_rank_whose_container_was_restarted_is_marked() -> None:
    case = Context.at(plan(), record(), view(pod(0, restarts=2), pod(1)), NOW)
    assert [seat.again for seat in benches(case)[0].seats] == [True, False, False, False]
