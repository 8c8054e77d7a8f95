"""Startup: which members are created now, in which order, and how many at once."""

from dataclasses import replace
from typing import Any

import pytest

from muster.state.facts import gates
from muster.state.facts.context import Context
from muster.state.policies import startup
from muster.state.policies.startup import WAVE
from muster.state.view.roll import CoordinatorState, RankState, RollAnswer
from muster.state.vocabulary.actions import ConfirmLaunch, CreatePods, EnsureClaims, EnsureService
from muster.state.vocabulary.group import Coordinator, Group, ProbeKind
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Claim, Pod, PodPhase, PodSpec
from muster.state.vocabulary.rules import Gate, GateCondition
from tests.builders import NOW, answer, plan, pod, record, view, view_of
from tests.state import story

SERVING, READY = Gate(GateCondition.SERVING), Gate(GateCondition.READY)


def case(
    run: Plan, *pods: Pod, confirmed: int = 0, service: bool = True, heard: RollAnswer | None = None, **facts: Any
) -> Context:
    seen = view(*pods, heard=heard)
    seen.engine.confirmed, seen.engine.service = confirmed, service
    return Context.at(run, record(**facts), seen, NOW)


def created(here: Context) -> list[int]:
    """Ranks that are asked for; nothing else may be asked."""
    actions = startup.launch(here)
    return story.created(actions) if actions else []


def test_nothing_is_created_before_the_live_api_has_confirmed_this_epoch() -> None:
    assert startup.launch(case(plan(), confirmed=-1)) == [ConfirmLaunch(0)]
    assert startup.launch(case(plan(), confirmed=0, epoch=1)) == [ConfirmLaunch(1, search=True)]


def test_the_service_comes_before_the_members_that_need_their_names() -> None:
    service, create = startup.launch(case(plan(size=2), service=False))
    assert service == EnsureService()
    assert create == CreatePods(0, tuple(plan(size=2).members()))


def test_only_the_absent_are_created_and_not_again_once_the_gang_was_complete() -> None:
    assert created(case(plan(), pod(0), pod(2))) == [1, 3]
    assert created(case(plan(), pod(0), scheduled_at=NOW)) == []


def test_a_complete_gang_asks_for_nothing_but_the_service_it_lacks() -> None:
    """But not for an experiment that is being deleted, whose Service the garbage collector took: so it asks first."""
    here = [pod(rank) for rank in range(4)]
    assert startup.launch(case(plan(claims=(CLAIM,)), *here, confirmed=-1)) == []
    assert startup.launch(case(plan(), *here, confirmed=-1, service=False)) == [ConfirmLaunch(0)]
    assert startup.launch(case(plan(), *here, service=False)) == [EnsureService()]


def test_a_very_large_gang_is_created_in_waves() -> None:
    assert WAVE >= 1000
    run = plan(size=WAVE + 88)
    assert created(case(run)) == list(range(WAVE))
    assert created(case(run, *(pod(rank) for rank in range(WAVE)))) == list(range(WAVE, WAVE + 88))


def test_the_coordinator_comes_first_and_alone() -> None:
    run = plan(gates=(SERVING,), coordinator=Coordinator(2, 1234, ProbeKind.JAX))
    assert created(case(run)) == [2]
    assert created(case(run, pod(2))) == []
    assert created(case(run, pod(2), heard=answer(RankState.MISSING))) == [0, 1, 3]


@pytest.mark.parametrize(
    ("heard", "opens"),
    [
        (None, False),
        (RollAnswer(at=NOW, coordinator=CoordinatorState.REFUSED), False),
        (answer(RankState.ARRIVED), True),
    ],
)
def test_a_coordinator_that_can_be_asked_opens_the_gate_by_serving(heard: RollAnswer | None, opens: bool) -> None:
    assert gates.gate_open(case(plan(), pod(0), heard=heard), SERVING) is opens


@pytest.mark.parametrize(
    ("pods", "opens"),
    [
        ((), False),
        ((pod(0, ready=False),), False),
        ((pod(0),), True),
        ((pod(1),), False),
        ((pod(0, ready=False, phase=PodPhase.SUCCEEDED),), True),
    ],
)
def test_one_that_cannot_opens_it_by_being_ready_or_done(pods: tuple[Pod, ...], opens: bool) -> None:
    assert gates.gate_open(case(plan(probe=ProbeKind.NONE), *pods), READY) is opens


def test_without_a_coordinator_or_an_order_the_gate_stands_open() -> None:
    assert created(case(plan())) == [0, 1, 2, 3]
    assert created(case(plan(gates=(READY,), coordinator=None))) == [0, 1, 2, 3]


def in_turn(replicas: int = 2, completions: int = 3, parallelism: int = 1) -> Plan:
    group = Group("worker", replicas, completions, PodSpec(), first_rank=0, parallelism=parallelism)
    return plan(groups=(group,), coordinator=None)


def test_each_job_runs_so_many_members_at_a_time() -> None:
    assert created(case(in_turn())) == [0, 3]
    assert created(case(in_turn(parallelism=2))) == [0, 1, 3, 4]


def test_a_member_that_ended_makes_room_for_the_next_of_its_job() -> None:
    done, runs = pod(0, job=0, phase=PodPhase.SUCCEEDED), pod(3, job=1)
    assert created(case(in_turn(), done, runs)) == [1]
    assert created(case(in_turn(), done, runs, scheduled_at=NOW)) == [1]  # complete says nothing of the later members
    assert created(case(in_turn(), pod(0, job=0), runs)) == []
    assert created(case(in_turn(), pod(0, job=0))) == [3]


def test_a_group_beside_it_that_runs_all_at_once_does() -> None:
    groups = (
        Group("server", 1, 2, PodSpec(), first_rank=0),
        Group("worker", 1, 3, PodSpec(), first_rank=2, parallelism=1),
    )
    assert created(case(plan(groups=groups, coordinator=None))) == [0, 1, 2]


def test_the_places_are_those_of_the_whole_gang() -> None:
    stranger = pod(77, job=7, group="worker")  # holds a place, whoever it is
    assert created(case(in_turn(), stranger)) == [0]
    assert created(case(in_turn(), *(pod(70 + n, job=7) for n in range(5)))) == []


CLAIM = Claim("run-shared-abcde", {}, exclusive=True)


@pytest.mark.parametrize(("exclusive", "remade"), [(True, True), (False, False)])
def test_claims_come_before_members_that_mount_them_and_exclusive_ones_each_epoch(
    exclusive: bool, remade: bool
) -> None:
    run = plan(size=2, claims=(replace(CLAIM, exclusive=exclusive),))
    here = case(run)
    assert startup.launch(here) == [EnsureClaims(0)]
    view_of(here).engine.claims = 0
    assert startup.launch(here) == [CreatePods(0, tuple(run.members()))]
    later = case(run, confirmed=1, epoch=1)
    view_of(later).engine.claims = 0
    assert (startup.launch(later)[0] == EnsureClaims(1)) is remade
