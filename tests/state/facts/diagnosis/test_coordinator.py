"""A coordinator that cannot be asked, and what a coordinator, or the record, says of members."""

from typing import Any

import pytest

from muster.api.causes import Stuck
from muster.api.gang import RollCall
from muster.state.facts.causes.cause import MissingCause, serves
from muster.state.facts.causes.table import Causes
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.classifier import Diagnosis, given_up, of_coordinator
from muster.state.facts.diagnosis.diagnose import diagnose
from muster.state.facts.diagnosis.hangs import as_recorded
from muster.state.facts.hang import HUNG
from muster.state.view.probe_result import LOST_AFTER
from muster.state.view.roll import CoordinatorState, RankError, RankState, RollAnswer
from muster.state.vocabulary.group import Coordinator, ProbeKind
from muster.state.vocabulary.pod import Pod, PodPhase
from muster.state.vocabulary.record import Condition, ConditionType, Phase
from tests.builders import NOW, answer, plan, pod, record, sure, view, view_of
from tests.state.view.test_stage import CRASHED, WAITING

ARRIVED, CONNECTED, MISSING = RankState.ARRIVED, RankState.CONNECTED, RankState.MISSING
FAILED, LEFT = RankState.FAILED, RankState.LEFT
ALL = (CONNECTED,) * 4
ASSEMBLING = record(phase=Phase.ASSEMBLING, scheduled_at=NOW)


def gang(heard: RollAnswer | None = None, *, first: Pod | None = None, **more: Any) -> Context:
    """Four running members; ``heard``: the answer of the coordinator."""
    pods = [pod(0) if first is None else first, *(pod(rank) for rank in range(1, 4))]
    wanted = more.pop("wanted", None) or plan()
    return Context.at(wanted, more.pop("now", ASSEMBLING), view(*pods, heard=heard), NOW)


def found_in(context: Context) -> Diagnosis | None:
    assert context.plan.coordinator is not None
    return of_coordinator(context, context.plan.coordinator)


def port(state: CoordinatorState, detail: str = "") -> RollAnswer:
    return RollAnswer(at=NOW, coordinator=state, detail=detail)


def recorded(reason: str, message: str, holds: bool | None = True, **fields: Any) -> Any:
    """A record whose condition Stuck says that."""
    stuck = Condition(ConditionType.STUCK, holds, reason, message, 1, NOW)
    return record(phase=Phase.RUNNING, scheduled_at=NOW, assembled_at=NOW, conditions=(stuck,), **fields)


@pytest.mark.parametrize(
    ("state", "detail", "cause"),
    [
        (CoordinatorState.REFUSED, "", Causes.COORDINATOR_NOT_SERVING),
        (CoordinatorState.TIMEOUT, "", Causes.COORDINATOR_UNREACHABLE),
        (CoordinatorState.SILENT, "", Causes.COORDINATOR_FROZEN),
        (CoordinatorState.TLS, "", Causes.WRONG_PROTOCOL),
        (CoordinatorState.OTHER_PROTOCOL, "HTTP/1.1 400", Causes.WRONG_PROTOCOL),
    ],
)
def test_a_coordinator_that_has_not_served_has_the_cause_that_its_port_shows(
    state: CoordinatorState, detail: str, cause: MissingCause
) -> None:
    found = sure(found_in(gang(port(state, detail))))
    assert found.cause is cause
    assert f": {state}" in found.evidence
    assert found.evidence.endswith(detail)
    assert "served before" not in found.evidence


@pytest.mark.parametrize(
    "first",
    [
        pod(0, **WAITING),
        pod(0, **CRASHED),
        pod(0, terminating=True),
        pod(0, cut_off=True, ready=False),
        pod(0, phase=PodPhase.SUCCEEDED, ready=False),
    ],
    ids=["waits", "failed", "terminating", "cut off", "succeeded"],
)
def test_a_coordinator_whose_pod_says_more_is_not_blamed_for_its_port(first: Pod) -> None:
    assert found_in(gang(port(CoordinatorState.REFUSED), first=first)) is None
    without = Context.at(plan(), ASSEMBLING, view(pod(1), heard=port(CoordinatorState.REFUSED)), NOW)
    assert found_in(without) is None


def test_a_coordinator_that_serves_is_wrong_only_about_the_number_of_processes() -> None:
    for right in (None, 4):
        assert found_in(gang(answer(*ALL, expected=right))) is None
    found = sure(found_in(gang(answer(*ALL, expected=2))))
    assert found[:2] == (Causes.PROCESS_COUNT, "the coordinator waits for 2 processes, the gang has 4")


def falls_silent(context: Context, state: CoordinatorState, seconds: float = 60.0) -> Diagnosis | None:
    """What is found so long after its port began to answer like that."""
    view_of(context).observe_probe(port(state), 0)
    return found_in(Context.at(context.plan, context.record, context.view, NOW + seconds))


def test_a_silence_is_named_once_the_coordinator_is_absent() -> None:
    served = answer(ARRIVED, ARRIVED, MISSING, ARRIVED, latency=0.0)
    assert falls_silent(gang(served), CoordinatorState.SILENT, LOST_AFTER - 1) is None
    found = sure(falls_silent(gang(served), CoordinatorState.SILENT, LOST_AFTER))
    assert "; it served before in this epoch" in found.evidence


@pytest.mark.parametrize(("may_close", "roll", "state", "alarm"), [
    (True, ALL, CoordinatorState.REFUSED, False),
    (True, ALL, CoordinatorState.TIMEOUT, True),
    (False, ALL, CoordinatorState.REFUSED, True),
    (False, (CONNECTED, LEFT, LEFT, LEFT), CoordinatorState.REFUSED, False),
])  # fmt: skip
def test_a_port_that_closes_after_the_rendezvous_is_no_alarm_where_it_may_close_or_ranks_leave(
    may_close: bool, roll: tuple[RankState, ...], state: CoordinatorState, alarm: bool
) -> None:
    meets = Coordinator(rank=0, port=1234, probe=ProbeKind.TORCH, may_close=may_close)
    found = falls_silent(gang(answer(*roll), wanted=plan(coordinator=meets)), state)
    assert (found is not None) is alarm


@pytest.mark.parametrize(
    ("fields", "served"),
    [
        ({}, False),
        ({"roll": RollCall(4, 0)}, False),
        ({"roll": RollCall(4, 1, (1, 2, 3))}, True),
        ({"assembled_at": NOW}, True),
    ],
)
def test_the_record_shows_whether_a_coordinator_has_served(fields: dict[str, Any], served: bool) -> None:
    context = gang(now=record(phase=Phase.ASSEMBLING, **fields))
    assert serves(context) is served
    found = found_in(context)
    assert (found is None) is served
    if found is not None:
        assert found[:2] == (
            Causes.COORDINATOR_NOT_SERVING, "the coordinator runs, but its port has not answered yet",
        )  # fmt: skip


def test_an_answer_of_this_epoch_shows_that_the_coordinator_has_served() -> None:
    assert serves(gang(answer(MISSING, MISSING, MISSING, MISSING)))
    assert not serves(gang(port(CoordinatorState.REFUSED)))


@pytest.mark.parametrize(
    ("reason", "known", "cause"),
    [
        ("CoordinatorUnreachable", "CoordinatorFrozen", Causes.COORDINATOR_FROZEN),
        ("CoordinatorUnreachable", "NotArrived", Causes.COORDINATOR_UNREACHABLE),
        ("CoordinatorUnreachable", "", Causes.COORDINATOR_UNREACHABLE),
        ("CoordinatorNotServing", "", Causes.COORDINATOR_NOT_SERVING),
        ("ProcessCountMismatch", "", Causes.PROCESS_COUNT),
    ],
)
def test_until_a_coordinator_is_asked_the_record_names_the_cause(reason: str, known: str, cause: MissingCause) -> None:
    kept = Stuck(known, "", "0", NOW) if known else None
    found = sure(found_in(gang(now=recorded(reason, "the evidence", stuck=kept))))
    assert (found.cause, found.evidence) == (cause, "the evidence")


@pytest.mark.parametrize(("reason", "holds"), [("CoordinatorUnreachable", False), ("RanksMissing", True)])
def test_a_stuck_that_is_over_or_about_something_else_says_nothing_of_the_coordinator(reason: str, holds: bool) -> None:
    assert found_in(gang(now=recorded(reason, "it stopped responding", holds))) is None


def lost(code: int = 14, *, protocol: str = "v2", seen: dict[str, Any] | None = None) -> dict[int, Diagnosis]:
    """What is found where the coordinator gives rank 2 up."""
    heard = answer(
        CONNECTED, CONNECTED, FAILED, CONNECTED, errors=(RankError(2, code, "it is lost"),), protocol=protocol
    )
    pods = [pod(0), pod(1), pod(3)] + ([] if seen is None else [pod(2, **seen)])
    context = Context.at(plan(), ASSEMBLING, view(*pods, heard=heard), NOW)
    assert context.probe is not None
    return given_up(context, context.probe)


@pytest.mark.parametrize(
    ("code", "protocol", "cause"),
    [(14, "v2", Causes.HEARTBEAT_LOST), (13, "v2", Causes.GIVEN_UP), (0, "ray", Causes.HEARTBEAT_LOST)],
)
def test_a_member_that_was_given_up_has_the_cause_of_its_error(code: int, protocol: str, cause: MissingCause) -> None:
    found = lost(code, protocol=protocol, seen={})
    assert list(found) == [2]
    assert found[2].cause is cause
    assert found[2].evidence.endswith("the coordinator reports: it is lost")


@pytest.mark.parametrize(
    "seen",
    [None, {"phase": PodPhase.SUCCEEDED}, {"terminating": True}, {"cut_off": True}, {"exit": CRASHED["exit"]}],
    ids=["gone", "ended", "terminating", "cut off", "failed"],
)
def test_the_pod_of_a_member_that_was_given_up_goes_before_the_error(seen: dict[str, Any] | None) -> None:
    assert lost(seen=seen) == {}


@pytest.mark.parametrize(
    ("roll", "ranks"),
    [
        ((CONNECTED, LEFT, CONNECTED, CONNECTED), [1]),
        ((CONNECTED, LEFT, CONNECTED, LEFT), [1, 3]),
        ((LEFT, LEFT, LEFT, LEFT), []),
        (ALL, []),
    ],
)
def test_ranks_that_left_are_named_while_others_are_connected(roll: tuple[RankState, ...], ranks: list[int]) -> None:
    context = Context.at(plan(), ASSEMBLING, view(*(pod(rank) for rank in range(3)), heard=answer(*roll)), NOW)
    assert context.probe is not None
    found = given_up(context, context.probe)
    assert list(found) == ranks
    for rank, each in found.items():
        assert each.cause is Causes.LEFT
        assert each.evidence == (f"pod {pod(rank).name}" if rank < 3 else "its pod is gone")


SAID = "no progress since 10:02:11Z: rank 2 is in next (data.py:41); the other 3 are in c (d.py:4)"
APART = "behind the others, or at another place"


@pytest.mark.parametrize(
    ("known", "rank", "what"),
    [
        (Stuck("Hung", "in next (data.py:41)", "2", NOW), 2, APART),
        (Stuck("Hung", "no response", "1,3", NOW), 1, APART),
        (Stuck("Hung", "no step", "", NOW), 0, "no rank makes progress"),
        (Stuck("NotArrived", "running", "3", NOW), 0, "no rank makes progress"),
        (None, 0, "no rank makes progress"),
    ],
)
def test_a_recorded_hang_names_the_first_known_rank_or_the_leader(known: Stuck | None, rank: int, what: str) -> None:
    context = gang(now=recorded("Hung", SAID, stuck=known))
    assert as_recorded(context, HUNG) == {rank: Diagnosis(Causes.HUNG, what, SAID)}
    assert [(each.cause, each.ranks) for each in diagnose(context)] == [(Causes.HUNG, (rank,))]


def test_no_hang_is_recorded_where_the_record_says_none_or_a_member_has_ended() -> None:
    assert as_recorded(gang(), HUNG) == {}
    assert as_recorded(gang(now=recorded("RanksMissing", "rank 2 is behind")), HUNG) == {}
    over = gang(now=recorded("Hung", "last step 9"), first=pod(0, phase=PodPhase.SUCCEEDED, ready=False))
    assert as_recorded(over, HUNG) == {}
