"""TrainJobs that Kubeflow Trainer runs (trainer.kubeflow.org/v1alpha1, v2.3.0), by a JobSet of the same name.

The TrainJob may leave the number of its nodes to its runtime. With MPI one of them may be the launcher. Initializers
may fetch a data set or a model first. So the members are the pods of the JobSet, by its replicated jobs. Until it
exists, they are the nodes that the TrainJob states. The ranks begin with the nodes; those of initializers come last,
and nothing waits for them at the coordinator. The TrainJob does not count restarts, so the pods show which epoch it is.
What runs follows from the name of the runtime.

Facts: kubeflow/trainer pkg/constants and pkg/runtime/framework/plugins (jobset, mpi).
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

import msgspec

from muster.kinds.declaration import SUBMITTED, Made, PlanError, WatchedKind, named_as
from muster.kinds.jobset import watched as jobset
from muster.kinds.kubeflow.trainer_status import own_report
from muster.kinds.planning.watched_plan import (
    MOST,
    Framework,
    framework_of,
    ranked,
    read,
    state_by_conditions,
    watched_plan,
)
from muster.state.view.own import OwnState
from muster.state.vocabulary.group import Group, ProbeKind, Role
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import PodSpec
from muster.state.vocabulary.rules import GateCondition
from muster.state.vocabulary.subject import JOBSET, Names, Subject

TRAINJOB: Final = Subject("trainer.kubeflow.org/v1alpha1", "TrainJob", "trainjobs")
GROUP: Final = "node"
PORT: Final = 29_500
RUNTIMES: Final = (
    ("jax", Framework("jax", ProbeKind.JAX, PORT)),
    ("torch", Framework("pytorch", ProbeKind.TORCH, PORT)),
)
"""By the beginning of the runtime's name."""


class _Trainer(msgspec.Struct, frozen=True):
    numNodes: int | None = None  # noqa: N815 - the wire's names


class _Runtime(msgspec.Struct, frozen=True):
    name: str = ""


class _TrainJob(msgspec.Struct, frozen=True):
    runtimeRef: _Runtime = _Runtime()  # noqa: N815
    trainer: _Trainer | None = None
    suspend: bool | None = None


def plan_of(obj: Mapping[str, Any]) -> Plan:
    """Return the plan of a TrainJob without its JobSet: the nodes that it states, else one. Raises ``PlanError``."""
    spec = read(obj, _TrainJob)
    nodes = spec.trainer.numNodes if spec.trainer else None
    size = 1 if nodes is None else max(0, nodes)
    if size > MOST:
        raise PlanError(f"spec.trainer.numNodes: more than {MOST} nodes")
    known = next((each for start, each in RUNTIMES if spec.runtimeRef.name.startswith(start)), Framework())
    framework = framework_of(obj, known)
    return watched_plan(
        obj,
        TRAINJOB,
        (Group(GROUP, 1, size, PodSpec(), 0),),
        framework=framework,
        coordinator=framework.coordinator if nodes is None else None,
        names=Names.JOBSET,
        suspend=bool(spec.suspend),
    )


def joined(alone: Plan, made: Plan) -> Plan:
    """Return the plan of a TrainJob with the groups of its JobSet, the nodes first and the initializers last."""
    before = _initializers(made.groups)
    ordered = sorted(made.groups, key=lambda each: each.name in before)
    groups = (replace(each, role=Role.INITIALIZER if each.name in before else Role.WORKER) for each in ordered)
    plan = replace(alone, groups=tuple(ranked(groups)), in_order=made.in_order)
    coordinator = plan.coordinator
    if coordinator is None or plan.expected > 1 or coordinator.probe.stated:
        return plan
    return replace(plan, coordinator=replace(coordinator, probe=ProbeKind.NONE))


def _initializers(groups: tuple[Group, ...]) -> frozenset[str]:
    """Return the groups that are to be complete before the nodes begin."""
    named = {each.name: each for each in groups}
    found: set[str] = set()
    waits = [named[GROUP]] if GROUP in named else []
    while waits:
        gates = waits.pop().gates
        first = {gate.group for gate in gates if gate.condition is GateCondition.COMPLETE} & named.keys() - {GROUP}
        waits += [named[name] for name in first - found]
        found |= first
    return frozenset(found)


def own_state(obj: Mapping[str, Any]) -> OwnState:
    """Return the state that the conditions of a TrainJob show, with its program's report to Kubeflow's Trainer."""
    report, reported = own_report(obj.get("status"))
    state = state_by_conditions("Complete", obj, epoch=-1)
    return msgspec.structs.replace(state, report=report, reported=reported)


DECLARED: Final = (
    WatchedKind(
        TRAINJOB,
        (jobset.SOURCE,),
        plan_of,
        own_state,
        claimed=partial(named_as, JOBSET),  # the pods of the JobSet of its name
        level=0,
        about="TrainJobs; the pods of their JobSet",
        members="by replicated job, job index and completion index, the initializers last",
        epochs="as the pods show",
        makes=("jobset/{name}", "job/{name}-{group}-{job}", "podgroup/{name}"),
        suspend={"spec": {"suspend": True}},
        handed=SUBMITTED,
        made=Made(JOBSET, jobset.plan_of, joined),
    ),
)
