"""TrainJobs that Kubeflow Trainer runs (trainer.kubeflow.org/v1alpha1, v2.3.0), by a JobSet of the same name.

The members are the JobSet's pods of the replicated job ``node``; those that fetch data before are not. The TrainJob
does not count restarts, so the pods say which epoch it is. What runs follows from the name of the runtime.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from muster.api.values.printable import word
from muster.kinds.declaration.plan_error import PlanError
from muster.kinds.declaration.watched_kind import Claim, OwnState, Said, Sample, WatchedKind
from muster.kinds.jobset import watched as jobset
from muster.kinds.kubeflow.trainer_status import own_report
from muster.kinds.planning.statuses import read, started_of, verdict_of
from muster.kinds.planning.watched_plan import (
    MOST,
    Framework,
    annotations_of,
    framework_of,
    metadata_of,
    watched_plan,
    whole,
)
from muster.kinds.pods.watched import SIZE
from muster.state.vocabulary.coordinator import ProbeKind
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod_spec import PodSpec
from muster.state.vocabulary.subject import JOBSET, Names, Subject, title

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
    """The plan of a TrainJob. Raises ``PlanError``."""
    spec = read(obj, _TrainJob)
    stated = annotations_of(obj).get(SIZE)
    nodes = spec.trainer.numNodes if spec.trainer else None
    size = whole(SIZE, stated, 1, MOST) if stated is not None else 1 if nodes is None else max(0, nodes)
    if size > MOST:
        raise PlanError(f"spec.trainer.numNodes: more than {MOST} nodes")
    known = next((each for start, each in RUNTIMES if spec.runtimeRef.name.startswith(start)), Framework())
    return watched_plan(
        obj,
        TRAINJOB,
        (Group(GROUP, 1, size, PodSpec(), 0),),
        framework=framework_of(obj, known),
        names=Names.JOBSET,
        suspend=bool(spec.suspend),
    )


def claims(obj: Mapping[str, Any]) -> tuple[Claim, ...]:
    """The pods of the JobSet that has its name."""
    return (Claim(title(JOBSET.kind, word(str(metadata_of(obj).get("name") or "")))),)


VERDICTS: Final = {"Complete": Said.SUCCEEDED, "Failed": Said.FAILED, "Suspended": Said.SUSPENDED}
"""By the type of a condition that is True."""


def own_state(obj: Mapping[str, Any]) -> OwnState:
    """What the conditions of a TrainJob say, and what its program has reported to Kubeflow's Trainer."""
    report, reported = own_report(obj.get("status"))
    state = OwnState(epoch=-1, started_at=started_of(obj), report=report, reported=reported)
    return verdict_of(obj, state, VERDICTS) or state


def _sample(size: int) -> dict[str, Any]:
    return {"trainer": {"numNodes": size}, "runtimeRef": {"name": "torch"}}


DECLARED: Final = (
    WatchedKind(
        TRAINJOB,
        (jobset.SOURCE,),
        plan_of,
        own_state,
        claims,
        level=0,
        about="TrainJobs; the nodes of their JobSet",
        members="by completion index",
        epochs="as the pods say",
        sample=Sample(_sample, jobset.pods_of(GROUP), container="node"),
        suspend={"spec": {"suspend": True}},
    ),
)
