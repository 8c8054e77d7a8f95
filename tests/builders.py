"""Small things to test with: a plan, a record, a pod, an answer, a view, each valid and each to be bent by keyword."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, NamedTuple, TypeVar

import msgspec

from muster.api.names import name_suffix, pod_name
from muster.kinds.jax.operator import JAX
from muster.state.facts.context import Context
from muster.state.policies import deadline
from muster.state.view.roll import CoordinatorState, RankState, RollAnswer
from muster.state.view.view import View
from muster.state.vocabulary.group import Coordinator, Group, ProbeKind
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.plan_parts import Edits, Failures, Lifecycle, Naming, RestartPolicy, Watching
from muster.state.vocabulary.pod import Pod, PodPhase, PodSpec
from muster.state.vocabulary.record import Phase, Record
from muster.state.vocabulary.rules import CLOCKS, ClockAction, ClockName, ClockRule, Gate

NOW = 1_000_000.0
T = TypeVar("T")


def sure(value: T | None) -> T:
    """Return the value, which must not be None."""
    assert value is not None
    return value


class Clock(NamedTuple):
    """What a spec says of one clock."""

    after: float
    action: ClockAction


def clock_rules(stated: Mapping[ClockName, Clock]) -> tuple[ClockRule, ...]:
    """The rules of these clocks, in the order of the table."""
    rows = (row for row in CLOCKS if row.name in stated)
    return tuple(replace(row, after=stated[row.name].after, action=stated[row.name].action) for row in rows)


def clock_ends(plan: Plan, record: Record) -> dict[ClockName, float]:
    """When each running clock runs out."""
    return {clock.name: end for clock, end in deadline.running(plan, record)}


def worker_group(size: int, **overrides: Any) -> Group:
    """The group ``worker`` of one job."""
    pod = overrides.pop("pod", PodSpec("example.org/train:1", "python train.py"))
    return Group("worker", 1, size, pod, 0, **overrides)


def plan(
    *,
    size: int = 4,
    probe: ProbeKind = ProbeKind.JAX,
    clocks: Mapping[ClockName, Clock] | None = None,
    gates: tuple[Gate, ...] = (),
    **overrides: Any,
) -> Plan:
    """A JAX run named ``team/run`` with one group ``worker`` of ``size`` members; rank 0 coordinates."""
    usual: dict[str, Any] = {
        "uid": "uid-1",
        "namespace": "team",
        "name": "run",
        "generation": 1,
        "operator": "jax",
        "groups": (worker_group(size, gates=gates),),
        "coordinator": Coordinator(rank=0, port=1234, probe=probe),
        "survivor_exits": JAX.survivor_exits,
        "survivor_text": JAX.survivor_text,
        "culprits": JAX.culprits,
        "grace": JAX.restart_grace,
        "clocks": clock_rules(clocks or {}),
    }
    return whole_plan(**usual | overrides)


WHOLE = ("uid", "namespace", "name", "generation", "operator", "groups", "coordinator")
PARTS: dict[str, str] = {
    field.name: part
    for part, kind in {
        "failures": Failures,
        "restarts": RestartPolicy,
        "lifecycle": Lifecycle,
        "edits": Edits,
        "naming": Naming,
        "watching": Watching,
    }.items()
    for field in fields(kind)
}
"""The part of a plan that has the field of that name."""


def whole_plan(**stated: Any) -> Plan:
    """A plan by the names of its fields and those of its parts."""
    wanted = {name: stated.pop(name) for name in WHOLE}
    return edited(Plan(**wanted), **stated)


def edited(plan: Plan, **changes: Any) -> Plan:
    """The plan with these fields changed, of itself or of any of its parts."""
    for name, value in changes.items():
        part = PARTS.get(name)
        plan = replace(plan, **{part: replace(getattr(plan, part), **{name: value})} if part else {name: value})
    return plan


def record(**overrides: Any) -> Record:
    """A record of epoch 0, Pending since ``NOW``."""
    usual: dict[str, Any] = {"generation": 1, "phase": Phase.PENDING, "phase_at": NOW, "size": 4}
    return Record(**usual | overrides)


def pod(rank: int = 0, **overrides: Any) -> Pod:
    """The running, ready pod of one member of `plan`."""
    epoch, attempt = overrides.get("epoch", 0), overrides.get("attempt", 0)
    usual: dict[str, Any] = {
        "uid": f"pod-{rank}-{epoch}" + (f"-{attempt}" if attempt else ""),
        "name": pod_name("run", "worker", 0, rank, name_suffix("uid-1", epoch, attempt)),
        "namespace": "team",
        "resource_version": 1,
        "owner": "uid-1",
        "group": "worker",
        "job": 0,
        "index": rank,
        "rank": rank,
        "epoch": epoch,
        "phase": PodPhase.RUNNING,
        "ready": True,
        "terminating": False,
        "delete_by": 0.0,
        "scheduled": True,
        "node": f"node-{rank}",
        "ip": f"10.0.0.{rank % 250 + 1}",
        "started": True,
        "waiting_reason": "",
        "waiting_message": "",
        "exit": None,
        "disruption": "",
    }
    return msgspec.convert(usual | overrides, Pod)


def answer(*ranks: RankState, **overrides: Any) -> RollAnswer:
    """What a serving coordinator said about ranks 0, 1, 2 ..."""
    usual: dict[str, Any] = {
        "at": NOW,
        "coordinator": CoordinatorState.SERVING,
        "latency": 0.004,
        "expected": len(ranks),
        "states": ranks,
        "protocol": "v2",
    }
    return RollAnswer(**usual | overrides)


def view_of(context: Context) -> View:
    """The view of a context, to be changed by a test."""
    assert isinstance(context.view, View)
    return context.view


def view(*pods: Pod, heard: RollAnswer | None = None, epoch: int = 0) -> View:
    """A view of these pods, and of that answer of the epoch's coordinator."""
    seen = View()
    for each in pods:
        seen.change(None, each)
    if heard:
        seen.observe_probe(heard, epoch)
    return seen
