"""Gangs to measure with: a plan, its pods as a decision sees them, and its coordinator's answer."""

from dataclasses import replace

from muster.state.view.roll import RankState, RollAnswer
from muster.state.view.view import View
from muster.state.vocabulary.group import Coordinator, Group, ProbeKind
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod, PodPhase, PodSpec
from muster.state.vocabulary.rules import CLOCKS, ClockAction
from tests import builders

UID = "0f8fad5b-d9cb-469f-a165-70867728950e"


def gang(size: int) -> Plan:
    """Return a JAX experiment with every clock set."""
    return Plan(
        uid=UID,
        namespace="lab",
        name="moe",
        generation=1,
        operator="jax",
        groups=(Group("worker", 1, size, PodSpec("registry.example/train:1", "python3 -u main.py"), 0),),
        coordinator=Coordinator(0, 1234, ProbeKind.JAX),
        clocks=tuple(replace(clock, after=86_400.0, action=ClockAction.FAIL) for clock in CLOCKS),
    )


def pod(plan: Plan, rank: int, *, version: int = 1, started: bool = True) -> Pod:
    """Return a member's pod: scheduled, and running if it has ``started``."""
    member = plan.member(rank)
    assert member is not None
    waits = {"phase": PodPhase.PENDING, "ready": False, "started": False, "waiting_reason": "ContainerCreating"}
    return builders.pod(
        rank,
        uid=f"{rank:08x}-94a1-4f5e-8c2b-000000000000",
        name=plan.pod_name(member, 0),
        namespace=plan.namespace,
        resource_version=version,
        owner=plan.uid,
        node=f"gpu-{rank % 2000}",
        ip=f"10.4.{rank >> 8 & 255}.{rank & 255}" if started else "",
        **({} if started else waits),
    )


def seen(pods: list[Pod], answer: RollAnswer | None) -> View:
    """Return the view of a launched epoch 0 with these pods."""
    view = builders.view(*pods, heard=answer)
    view.engine.confirmed, view.engine.service = 0, True
    return view


def roll(size: int, at: float, *, absent: frozenset[int] = frozenset()) -> RollAnswer:
    """Return a serving coordinator's answer: all ranks connected, or all others waiting for the ``absent`` ranks."""
    here = RankState.ARRIVED if absent else RankState.CONNECTED
    ranks = (RankState.MISSING if rank in absent else here for rank in range(size))
    return builders.answer(*ranks, at=at, incarnation=7)
