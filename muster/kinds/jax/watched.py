"""JAXJobs that Kubeflow's training operator runs (kubeflow.org/v1, v1.9.4: pkg/controller.v1/jax).

A worker that ends is started again in place or replaced by a pod of the same name; the others are not. So a JAXJob has
one epoch. Its ``activeDeadlineSeconds`` is checked there only when something else changes; a deadline of Muster holds.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from muster.api.values.printable import small_number, word
from muster.kinds.declaration.plan_error import PlanError
from muster.kinds.declaration.watched_kind import ObservedKind, OwnState, Place, PodFacts, PodSource, Said, own_name
from muster.kinds.jax.jaxjob import CONTAINER, PORT, PORT_NAME, WORKER
from muster.kinds.planning.statuses import read, started_of, verdict_of
from muster.kinds.planning.watched_plan import MOST, Framework, framework_of, observed_plan
from muster.state.vocabulary.coordinator import ProbeKind
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod_spec import PodSpec
from muster.state.vocabulary.subject import JAXJOB, Names

LABEL: Final = "training.kubeflow.org/job-name"
INDEX: Final = "training.kubeflow.org/replica-index"
GROUP: Final = "worker"


class _Port(msgspec.Struct, frozen=True):
    name: str | None = None
    containerPort: int = 0  # noqa: N815 - the wire's names


class _Container(msgspec.Struct, frozen=True):
    name: str | None = None
    ports: list[_Port] | None = None


class _PodSpec(msgspec.Struct, frozen=True):
    containers: list[_Container] | None = None


class _Template(msgspec.Struct, frozen=True):
    spec: _PodSpec | None = None


class _Replicas(msgspec.Struct, frozen=True):
    replicas: int | None = None
    template: _Template | None = None


class _RunPolicy(msgspec.Struct, frozen=True):
    suspend: bool | None = None


class _JAXJob(msgspec.Struct, frozen=True):
    jaxReplicaSpecs: dict[str, _Replicas]  # noqa: N815
    runPolicy: _RunPolicy | None = None  # noqa: N815


def place_of(pod: PodFacts) -> Place | None:
    """The place of a worker. Pods of the operator's other kinds have none."""
    name = pod.labels.get(LABEL)
    if not name or pod.kind != JAXJOB.kind:
        return None
    return Place(f"jaxjob/{word(name)}", GROUP, 0, small_number(pod.labels.get(INDEX)), uid=word(pod.owner_uid))


def plan_of(obj: Mapping[str, Any]) -> Plan:
    """The plan of a JAXJob. Raises ``PlanError``."""
    spec = read(obj, _JAXJob)
    workers = next((each for name, each in spec.jaxReplicaSpecs.items() if name.lower() == WORKER.lower()), None)
    if workers is None:
        raise PlanError(f"spec.jaxReplicaSpecs: no {WORKER}")
    size = 1 if workers.replicas is None else max(0, workers.replicas)
    if size > MOST:
        raise PlanError(f"spec.jaxReplicaSpecs: more than {MOST} workers")
    framework = framework_of(obj, Framework("jax", ProbeKind.JAX, _port(workers)))
    policy = spec.runPolicy or _RunPolicy()
    group = Group(GROUP, 1, size, PodSpec(), 0)
    return observed_plan(obj, JAXJOB, (group,), framework=framework, names=Names.KUBEFLOW, suspend=bool(policy.suspend))


def _port(workers: _Replicas) -> int:
    spec = workers.template.spec if workers.template else None
    for container in (spec.containers if spec else None) or ():
        for port in container.ports or () if container.name == CONTAINER else ():
            if port.name == PORT_NAME and 0 < port.containerPort < 65_536:
                return port.containerPort
    return PORT


VERDICTS: Final = {"Succeeded": Said.SUCCEEDED, "Failed": Said.FAILED}
"""By the type of a condition that is True."""


def own_state(obj: Mapping[str, Any]) -> OwnState:
    """What the conditions of a JAXJob say."""
    spec = obj.get("spec")
    state = OwnState(started_at=started_of(obj))
    if (ended := verdict_of(obj, state, VERDICTS)) is not None:
        return ended
    policy = spec.get("runPolicy") if isinstance(spec, Mapping) else None
    if isinstance(policy, Mapping) and policy.get("suspend") is True:
        return msgspec.structs.replace(state, said=Said.SUSPENDED, reason="JAXJobSuspended")
    return state


SOURCE: Final = PodSource("jaxjobs", LABEL, place_of)
JAXJOBS: Final = ObservedKind(
    JAXJOB, (SOURCE,), plan_of, own_state, own_name(JAXJOB), suspend={"spec": {"runPolicy": {"suspend": True}}}
)
