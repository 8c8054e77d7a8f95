"""Plans and pods for tests."""

from dataclasses import fields
from typing import Any

from muster.api.names import API_VERSION, KIND
from muster.kube.resources import core, custom
from muster.state.vocabulary.group import Member
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Env, Pod, PodSpec, Source
from muster.state.vocabulary.record import Phase, Record
from muster.state.vocabulary.subject import EXPERIMENT
from tests import builders
from tests.builders import sure, worker_group
from tests.fakes.api import FakeApi
from tests.fakes.history import Object

UID = "0f8fad5b-d9cb-469f-a165-70867728950e"
JAX_ENV = (
    Env("JAXOPERATOR_COORDINATOR_HOST", Source.COORDINATOR_HOST),
    Env("JAXOPERATOR_COORDINATOR_ADDRESS", Source.LITERAL, "$(JAXOPERATOR_COORDINATOR_HOST):1234"),
    Env("JAXOPERATOR_NUM_PROCESSES", Source.LITERAL, "4"),
    Env("JAXOPERATOR_PROCESS_ID", Source.RANK),
)

POD = {"image": "registry.example/train:1", "command": "python3 -u main.py"}
POD_FIELDS = tuple(field.name for field in fields(PodSpec))


def gang(workers: int = 4, **changes: Any) -> Plan:
    """A JAX experiment with that many workers. Changes of its pods are taken by name, too."""
    pod = {name: changes.pop(name) for name in POD_FIELDS if name in changes}
    group = worker_group(workers, env=changes.pop("env", JAX_ENV), pod=PodSpec(**(POD | pod)))
    return builders.plan(**{"uid": UID, "namespace": "lab", "name": "moe", "groups": (group,)} | changes)


def member_of(plan: Plan, rank: int) -> Member:
    """The member of that rank, which the plan must have."""
    return sure(plan.member(rank))


def record(epoch: int = 0) -> Record:
    """A persisted record in that epoch."""
    return Record(generation=1, phase=Phase.PENDING, phase_at=0.0, epoch=epoch)


def members(plan: Plan) -> tuple[Member, ...]:
    """All members of the gang."""
    return tuple(plan.members())


def pod_path(plan: Plan, rank: int, epoch: int = 0) -> str:
    """The path of a member's pod."""
    return core(plan.namespace, "pods", plan.pod_name(member_of(plan, rank), epoch))


def experiment_path(namespace: str, name: str) -> str:
    """The path of the Experiment of that name."""
    return custom(EXPERIMENT.api_version, namespace, EXPERIMENT.plural, name)


def submitted(api: FakeApi, plan: Plan, *, epoch: int = 0, **spec: Any) -> Object:
    """Store the Experiment on the server, with that epoch persisted."""
    path = experiment_path(plan.namespace, plan.name)
    kept: Object = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"uid": plan.uid}, "spec": spec}
    return api.put(path, {**kept, "status": {"epoch": epoch}} if epoch else kept)


def seen(api: FakeApi, path: str, **changes: Any) -> Pod:
    """A pod of the server, as the watcher decodes it."""
    metadata = api.objects[path]["metadata"]
    labels = metadata["labels"]
    facts: dict[str, Any] = {
        "uid": metadata["uid"],
        "name": metadata["name"],
        "namespace": metadata["namespace"],
        "resource_version": int(metadata["resourceVersion"]),
        "owner": metadata["ownerReferences"][0]["uid"],
        "group": labels["muster.dev/group"],
        "job": int(labels["muster.dev/job-index"]),
        "index": int(labels["muster.dev/pod-index"]),
        "epoch": int(labels["muster.dev/epoch"]),
        "node": "node-1",
        "ip": "10.0.0.1",
    }
    return builders.pod(int(labels["muster.dev/rank"]), **{**facts, **changes})
