"""The injected environment variables of a member, and the volume with its proof for the progress endpoint."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from muster.api.names import ANNOTATION_PROGRESS_CA, PROGRESS_VOLUME
from muster.api.progress import CA_CERT, CA_FILE, MOUNT, PREFIXES, TOKEN, TOKEN_FILE, URL, audience, status_path
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Env, Source

Cell = str | msgspec.Raw
"""A text that differs from member to member, or the slot for it in a template."""


@dataclass(frozen=True, slots=True)
class Restarts:
    """Restarts of a gang, and of single jobs by their index among the jobs of all groups."""

    gang: int = 0
    jobs: Mapping[int, int] = field(default_factory=dict)


NO_RESTARTS = Restarts()


@dataclass(frozen=True, slots=True)
class Place:
    """Everything in which the pods of one group and epoch differ. What is the value of a ``Source`` has its name."""

    name: Cell
    hostname: Cell
    node_job: Cell
    """Namespace and job, as a label of nodes."""
    rank: Cell
    attempt: Cell
    job_index: Cell
    pod_index: Cell
    job_global_index: Cell
    """The job's index among the jobs of all groups."""
    job_group_index: Cell
    job_name: Cell
    job_key: Cell
    restarts: Cell
    job_restarts: Cell


def environment(plan: Plan, group: Group, epoch: int, place: Place) -> list[dict[str, object]]:
    """Return core/v1 EnvVars, each name once, in their order: ``$(NAME)`` refers to a variable listed earlier.

    If a name is repeated, the last variable stays, at its own place: it would win in Kubernetes too, and server-side
    apply rejects a repeated name.
    """
    wanted: dict[str, Env] = {}
    for env in group.env:
        wanted.pop(env.name, None)
        wanted[env.name] = env
    return [variable(env, plan, epoch, place) for env in wanted.values()]


_OF_POD: Final = {Source.POD_IP: "status.podIP", Source.POD_NAME: "metadata.name"}
"""Fields of the pod from which the kubelet fills in a variable (core/v1 ObjectFieldSelector)."""


def variable(env: Env, plan: Plan, epoch: int, place: Place) -> dict[str, object]:
    """Return one core/v1 EnvVar."""
    value: Cell
    match env.source:
        case Source.LITERAL:
            value = env.value
        case Source.EPOCH:
            value = str(epoch)
        case Source.COORDINATOR_HOST:
            value = plan.coordinator_host(epoch)
        case Source.MEMBER_HOSTS:
            value = ",".join(plan.member_hosts(epoch))
        case Source.POD_IP | Source.POD_NAME:
            field = {"apiVersion": "v1", "fieldPath": _OF_POD[env.source]}
            return {"name": env.name, "valueFrom": {"fieldRef": field}}
        case _:
            value = getattr(place, env.source.name.lower())
    return {"name": env.name, "value": value}


TOKEN_SECONDS = 3600
"""The life of a token; the kubelet renews it after four fifths of that."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The progress endpoint as members reach it: its https address without a path, and PEM text of its authority."""

    url: str
    authority: str


def endpoint_variables(plan: Plan, endpoint: Endpoint) -> dict[str, str]:
    """Return the address of the endpoint and the paths of the pod's proof, by name.

    The names are Kubeflow Trainer's, of both alphas (``muster.api.progress``).
    """
    values = {
        URL: f"{endpoint.url}{status_path(plan.namespace, plan.name)}",
        TOKEN: f"{MOUNT}/{TOKEN_FILE}",
        CA_CERT: f"{MOUNT}/{CA_FILE}",
    }
    return {prefix + name: value for prefix in PREFIXES for name, value in values.items()}


def endpoint_volume(plan: Plan) -> dict[str, object]:
    """Return the core/v1 Volume with the token and the authority.

    The token is a projected one of the pod's service account, for this run and nothing else: no API server accepts it.
    The authority is an annotation of the pod that the volume shows as a file, so neither a ConfigMap nor a right to
    make one is needed (as ADR 54).
    """
    token = {
        "audience": audience(plan.namespace, plan.name),
        "expirationSeconds": TOKEN_SECONDS,
        "path": TOKEN_FILE,
    }
    field = {"apiVersion": "v1", "fieldPath": f"metadata.annotations['{ANNOTATION_PROGRESS_CA}']"}
    shown = {"items": [{"path": CA_FILE, "fieldRef": field}]}
    return {
        "name": PROGRESS_VOLUME,
        "projected": {"sources": [{"serviceAccountToken": token}, {"downwardAPI": shown}]},
    }
