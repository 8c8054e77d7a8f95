"""What keeps the missing ranks: each cause where it belongs, and counts that add up."""

from collections import Counter
from random import Random

import pytest

from muster.api.gang import RollCall
from muster.rollcall.seats import arrivals
from muster.state.facts.causes.table import counted
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.classifier import by_cause
from muster.state.facts.diagnosis.diagnose import diagnose
from muster.state.view.engine_facts import Refusal
from muster.state.view.roll import RankState
from muster.state.view.view import View
from muster.state.vocabulary.group import Group, ProbeKind
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import PodSpec
from muster.state.vocabulary.record import Phase, Record
from muster.state.vocabulary.rules import Gate, GateCondition
from tests.builders import NOW, answer, plan, pod, record, sure, view
from tests.state.view.test_stage import CASES, CRASHED, NODELESS, WAITING

ARRIVED, MISSING = RankState.ARRIVED, RankState.MISSING
ASSEMBLING = record(phase=Phase.ASSEMBLING, scheduled_at=NOW)


def causes(wanted: Plan, now: Record, seen: View) -> dict[str, int]:
    roll = sure(arrivals(wanted, now, seen, NOW))
    found = by_cause(wanted, now, seen, roll.missing)
    assert sum(found.values()) == roll.missing
    assert all(found.values())
    return {cause.value: count for cause, count in found.items()}


def test_a_rank_that_has_arrived_is_missing_no_more_whatever_becomes_of_its_pod() -> None:
    pods = [pod(0), pod(1, **WAITING), pod(2, **CRASHED), pod(3)]
    heard = answer(ARRIVED, MISSING, ARRIVED, ARRIVED)
    assert causes(plan(), ASSEMBLING, view(*pods, heard=heard)) == {"Starting": 1}


def test_without_a_roll_a_running_member_is_missing_until_its_pod_is_ready() -> None:
    wanted = plan(probe=ProbeKind.NONE, operator="pytorch")
    seen = view(pod(0), pod(1, ready=False), pod(2, **NODELESS, waiting_reason="Unschedulable"), pod(3))
    assert causes(wanted, ASSEMBLING, seen) == {"NotArrived": 1, "Unschedulable": 1}


def test_a_rank_without_a_pod_is_refused_lost_held_back_or_not_created_yet() -> None:
    fresh, late = record(), record(phase=Phase.RESTARTING, epoch=1)
    assert causes(plan(), fresh, view(pod(0, **WAITING))) == {"Starting": 1, "NotCreated": 3}
    assert causes(plan(), ASSEMBLING, view(pod(0), pod(1), pod(2), heard=answer(*[MISSING] * 4))) == {
        "NotArrived": 3,
        "Lost": 1,
    }
    assert causes(plan(), late, view()) == {"HeldBack": 4}
    assert causes(plan(), record(epoch=1), view(pod(0))) == {"HeldBack": 4}
    refused = view()
    refused.engine.refusal = Refusal("QuotaExceeded", "no", final=False)
    assert causes(plan(), fresh, refused) == {"Refused": 4}
    assert causes(plan(), record(phase=Phase.QUEUED), view()) == {"Queued": 4}


def test_members_behind_a_gate_or_waiting_for_their_turn_are_held_back() -> None:
    first = plan(gates=(Gate(GateCondition.READY),))
    one_by_one = plan(probe=ProbeKind.NONE, groups=(Group("worker", 1, 4, PodSpec("x", "y"), 0, parallelism=1),))
    for wanted in (first, one_by_one):
        assert causes(wanted, record(), view(pod(0, **WAITING))) == {"Starting": 1, "HeldBack": 3}


def test_a_daemon_that_has_just_started_takes_the_furthest_for_arrived() -> None:
    now = record(phase=Phase.ASSEMBLING, roll=RollCall(4, 2, (2, 3)))
    seen = view(pod(0), pod(1), pod(2), pod(3, **NODELESS))
    assert causes(plan(), now, seen) == {"NotArrived": 1, "Scheduling": 1}


@pytest.mark.parametrize("probe", ProbeKind)
def test_the_causes_always_add_up(probe: ProbeKind) -> None:
    random = Random(1)
    wanted = plan(size=6, probe=probe)
    for _ in range(50):
        seen = view(*(pod(rank, **random.choice(CASES)[1]) for rank in random.sample(range(6), random.randrange(7))))
        if random.random() < 0.7:
            seen.observe_probe(answer(*random.choices((ARRIVED, MISSING), k=random.choice((6, 6, 4, 8)))), 0)
        roll = RollCall(6, random.randrange(7)) if random.random() < 0.3 else None
        now = record(phase=random.choice((Phase.PENDING, Phase.ASSEMBLING, Phase.RUNNING)), roll=roll)
        causes(wanted, now, seen)  # which asserts that they add up


@pytest.mark.parametrize("probe", [ProbeKind.JAX, ProbeKind.NONE])
def test_the_findings_count_the_missing_ranks_as_the_metric_does(probe: ProbeKind) -> None:
    """Each missing rank is in one finding, and the wider causes of the findings are the causes of the metric."""
    random = Random(1)
    wanted = plan(size=6, probe=probe)
    for _ in range(100):
        seen = view(*(pod(rank, **random.choice(CASES)[1]) for rank in random.sample(range(6), random.randrange(7))))
        roll = random.choices((ARRIVED, MISSING), k=6)
        if probe is ProbeKind.JAX:
            seen.observe_probe(answer(*roll), 0)
        now = record(phase=Phase.ASSEMBLING, scheduled_at=random.choice((None, NOW)))
        found = diagnose(Context.at(wanted, now, seen, NOW))
        ranks = [rank for each in found for rank in each.ranks]
        assert len(ranks) == len(set(ranks)) == sum(each.count for each in found)
        number = Counter[str]()
        for each in found:
            number[counted(each.cause).value] += sum(
                probe is ProbeKind.NONE or roll[rank] is MISSING for rank in each.ranks
            )
        if probe is ProbeKind.NONE:
            number.pop("Ended", None)
        assert +number == causes(wanted, now, seen)
