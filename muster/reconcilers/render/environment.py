"""The injected environment variables of a member.

Variables keep their order: ``$(NAME)`` refers to a variable listed earlier.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

import msgspec

from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod_spec import Env, Source

Cell = str | msgspec.Raw
"""A text that differs from member to member, or the slot for it in a template."""


@dataclass(frozen=True, slots=True)
class Restarts:
    """How often a gang was restarted, and jobs of it alone, by their index among the jobs of all groups."""

    gang: int = 0
    jobs: Mapping[int, int] = field(default_factory=dict)


NO_RESTARTS = Restarts()


@dataclass(frozen=True, slots=True)
class Place:
    """Everything in which the pods of one group and epoch differ."""

    name: Cell
    hostname: Cell
    job: Cell
    pod: Cell
    rank: Cell
    attempt: Cell
    global_job: Cell
    """The job's index among the jobs of all groups."""
    label_job: Cell
    """The job's index among the jobs of the groups that share a label."""
    job_name: Cell
    node_job: Cell
    """Namespace and job, as a label of nodes."""
    job_key: Cell
    restarts: Cell
    """How often the gang was restarted."""
    job_restarts: Cell
    """How often the job was restarted alone."""


def environment(plan: Plan, group: Group, epoch: int, place: Place) -> list[dict[str, object]]:
    """core/v1 EnvVars, each name once.

    Of a repeated name the last variable stays, at its own place: it would win in Kubernetes too, and server-side apply
    rejects a repeated name.
    """
    wanted: dict[str, Env] = {}
    for env in group.env:
        wanted.pop(env.name, None)
        wanted[env.name] = env
    return [variable(env, plan, epoch, place) for env in wanted.values()]


def variable(env: Env, plan: Plan, epoch: int, place: Place) -> dict[str, object]:
    """One core/v1 EnvVar."""
    value: Cell
    match env.source:
        case Source.LITERAL:
            value = env.value
        case Source.RANK:
            value = place.rank
        case Source.EPOCH:
            value = str(epoch)
        case Source.ATTEMPT:
            value = place.attempt
        case Source.JOB_INDEX:
            value = place.job
        case Source.POD_INDEX:
            value = place.pod
        case Source.JOB_GLOBAL_INDEX:
            value = place.global_job
        case Source.JOB_GROUP_INDEX:
            value = place.label_job
        case Source.JOB_NAME:
            value = place.job_name
        case Source.JOB_KEY:
            value = place.job_key
        case Source.RESTARTS:
            value = place.restarts
        case Source.JOB_RESTARTS:
            value = place.job_restarts
        case Source.COORDINATOR_HOST:
            value = plan.coordinator_host(epoch)
        case Source.MEMBER_HOSTS:
            value = ",".join(plan.member_hosts(epoch))
        case Source.POD_IP:
            return _field(env.name, "status.podIP")
        case Source.POD_NAME:
            return _field(env.name, "metadata.name")
        case _:
            assert_never(env.source)
    return {"name": env.name, "value": value}


def _field(name: str, path: str) -> dict[str, object]:
    """A variable that the kubelet fills in from a field of the pod (core/v1 ObjectFieldSelector)."""
    return {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}
