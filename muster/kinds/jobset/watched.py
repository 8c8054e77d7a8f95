"""JobSets that JobSet's own controller runs: their plan, and the state that it reports.

A replicated job is a group, a Job of it a job, a pod of that a member. Each restart of the JobSet is an epoch: the pods
bear the label ``restart-attempt``, and ``status.restarts`` counts it. Facts: jobset pkg/controllers,
jobset_controller.go, and the recorded traces in tests/kinds/jobset/lives/golden.

The coordinator is that of ``spec.coordinator``, else the first pod of the first replicated job.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec

from muster.api.names import MANAGED_BY
from muster.api.values.printable import small_number, word
from muster.kinds.declaration import SUBMITTED, Place, PlanError, PodFacts, PodSource, WatchedKind, part_of
from muster.kinds.job.watched import INDEX, JobShape
from muster.kinds.planning.watched_plan import (
    Framework,
    framework_of,
    number_of,
    ranked,
    read,
    state_by_conditions,
    watched_plan,
)
from muster.state.view.own import OwnState
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import PodSpec
from muster.state.vocabulary.rules import Gate, GateCondition
from muster.state.vocabulary.subject import JOBSET, Names

PREFIX: Final = "jobset.sigs.k8s.io/"
LABEL: Final = f"{PREFIX}jobset-name"
MOST_JOBS: Final = 100_000


class _DependsOn(msgspec.Struct, frozen=True):
    name: str
    status: str


class _JobTemplate(msgspec.Struct, frozen=True):
    spec: JobShape = JobShape()


class _ReplicatedJob(msgspec.Struct, frozen=True):
    name: str
    template: _JobTemplate = _JobTemplate()
    replicas: int | None = None
    dependsOn: list[_DependsOn] | None = None  # noqa: N815 - the wire's names


class _Network(msgspec.Struct, frozen=True):
    subdomain: str | None = None


class _StartupPolicy(msgspec.Struct, frozen=True):
    startupPolicyOrder: str | None = None  # noqa: N815


class _Coordinator(msgspec.Struct, frozen=True):
    replicatedJob: str  # noqa: N815
    jobIndex: int = 0  # noqa: N815
    podIndex: int = 0  # noqa: N815


class JobSetShape(msgspec.Struct, frozen=True):
    """The part of a JobSet's spec that defines which pods are expected."""

    replicatedJobs: list[_ReplicatedJob] | None = None  # noqa: N815
    network: _Network | None = None
    startupPolicy: _StartupPolicy | None = None  # noqa: N815
    coordinator: _Coordinator | None = None
    suspend: bool | None = None


def place_of(pod: PodFacts) -> Place | None:
    """Return the place of a JobSet's pod."""
    labels = pod.labels
    name, group = labels.get(LABEL), labels.get(f"{PREFIX}replicatedjob-name")
    if not name or not group:
        return None
    index = labels.get(INDEX) or pod.annotations.get(INDEX)
    return Place(
        f"jobset/{word(name)}",
        word(group),
        small_number(labels.get(f"{PREFIX}job-index")),
        small_number(index) if index is not None else -1,
        epoch=small_number(labels.get(f"{PREFIX}restart-attempt") or "0"),
        uid=word(labels.get(f"{PREFIX}jobset-uid")),
    )


def plan_of(obj: Mapping[str, Any]) -> Plan:
    """Return the plan of a JobSet. Raises ``PlanError``."""
    spec, name = read(obj, JobSetShape), str(part_of(obj, "metadata").get("name") or "")
    groups = tuple(ranked(_groups(spec)))
    framework = framework_of(obj, Framework())
    coordinator = framework.of_members(sum(group.size for group in groups)).coordinator
    if coordinator is not None:
        coordinator = replace(coordinator, rank=_leader(spec, groups))
    return watched_plan(
        obj,
        JOBSET,
        groups,
        framework=framework,
        coordinator=coordinator,
        names=Names.JOBSET,
        subdomain=(spec.network.subdomain if spec.network else None) or name,
        in_order=_in_order(spec),
        suspend=bool(spec.suspend),
    )


def _in_order(spec: JobSetShape) -> bool:
    return spec.startupPolicy is not None and spec.startupPolicy.startupPolicyOrder == "InOrder"


def _groups(spec: JobSetShape) -> Iterator[Group]:
    before = ""
    names: set[str] = set()
    for job in spec.replicatedJobs or ():
        if job.name in names:
            raise PlanError(f"spec.replicatedJobs: two are named {word(job.name)!r}")
        names.add(job.name)
        shape = job.template.spec
        replicas = 1 if job.replicas is None else max(0, job.replicas)
        if max(replicas, shape.pods) > MOST_JOBS:
            raise PlanError(f"spec.replicatedJobs: {word(job.name)!r} asks for more than {MOST_JOBS} jobs or pods")
        yield Group(
            name=word(job.name),
            replicas=replicas,
            completions=shape.pods,
            parallelism=min(shape.at_a_time, shape.pods),
            pod=PodSpec(),
            first_rank=0,
            gates=_gates(spec, job, before),
        )
        before = word(job.name)


def _gates(spec: JobSetShape, job: _ReplicatedJob, before: str) -> tuple[Gate, ...]:
    if _in_order(spec):
        return (Gate(GateCondition.READY, before),) if before else ()
    known = {GateCondition.READY.value, GateCondition.COMPLETE.value}
    return tuple(
        Gate(GateCondition(each.status), word(each.name)) for each in job.dependsOn or () if each.status in known
    )


def _leader(spec: JobSetShape, groups: tuple[Group, ...]) -> int:
    stated = spec.coordinator
    group = next((each for each in groups if stated is not None and each.name == stated.replicatedJob), None)
    if stated is None or group is None:
        return 0
    within = 0 <= stated.jobIndex < group.replicas and 0 <= stated.podIndex < group.completions
    return group.first_rank + stated.jobIndex * group.completions + stated.podIndex if within else 0


def own_state(obj: Mapping[str, Any]) -> OwnState:
    """Return the state that the status of a JobSet shows."""
    return state_by_conditions("Completed", obj, epoch=number_of(obj, "restarts"), suspended="SuspendedJobs")


SOURCE: Final = PodSource("jobsets", LABEL, place_of)
DECLARED: Final = (
    WatchedKind(
        JOBSET,
        (SOURCE,),
        plan_of,
        own_state,
        about="all JobSets that Muster does not run",
        members="by replicated job, job index and completion index",
        epochs="its restarts",
        makes=("job/{name}-{group}-{job}",),
        suspend={"spec": {"suspend": True}},
        handed=f"set spec.managedBy: {MANAGED_BY}, or {SUBMITTED}",
    ),
)
