"""The program of one group's pods and their requests to the node: data that the renderer turns into a core/v1 Pod.

Nothing here belongs to one framework. Quantities are canonical Kubernetes strings, sizes are bytes, spans are seconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Source(StrEnum):
    """The source of the value of an injected environment variable."""

    LITERAL = "literal"
    RANK = "rank"
    EPOCH = "epoch"
    ATTEMPT = "attempt"
    JOB_INDEX = "job-index"
    POD_INDEX = "pod-index"
    JOB_GLOBAL_INDEX = "job-global-index"
    JOB_GROUP_INDEX = "job-group-index"
    """The job's index among the jobs of the groups that share a JobSet's ``groupName``."""
    JOB_NAME = "job-name"
    """``<name>-<group>-<job>``: the name of the Job that a JobSet would have."""
    JOB_KEY = "job-key"
    """SHA-1 of ``<namespace>/<job name>``, in hexadecimal digits (jobset: pkg/controllers, jobHashKey)."""
    RESTARTS = "restarts"
    """The number of restarts of the gang."""
    JOB_RESTARTS = "job-restarts"
    """The number of restarts of the job alone."""
    COORDINATOR_HOST = "coordinator-host"
    MEMBER_HOSTS = "member-hosts"
    """``<hostname>.<subdomain>`` of all members in rank order, separated by commas."""
    POD_IP = "pod-ip"
    POD_NAME = "pod-name"


@dataclass(frozen=True, slots=True)
class Env:
    """One injected variable. Order matters: ``$(NAME)`` expands only variables listed before (core/v1 EnvVar)."""

    name: str
    source: Source
    value: str = ""


@dataclass(frozen=True, slots=True)
class Port:
    """A port that the member's container listens on (core/v1 ContainerPort); informational, as in Kubernetes."""

    name: str
    number: int


@dataclass(frozen=True, slots=True)
class Volume:
    """An existing PersistentVolumeClaim mounted in every member of the group."""

    claim: str
    path: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A PersistentVolumeClaim that is created before the first pod."""

    name: str
    spec: Mapping[str, Any]
    """core/v1 PersistentVolumeClaimSpec."""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    owned: bool = True
    """True if it is deleted with the object of the plan."""
    exclusive: bool = False
    """True if an existing claim of that name is used only if the object of the plan controls it."""


@dataclass(frozen=True, slots=True)
class Toleration:
    """A node taint a member tolerates (core/v1 Toleration)."""

    key: str
    operator: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class PodSpec:
    """One member's pod, apart from its names, labels and environment.

    ``requests`` and ``limits`` are those of the container, ``shm_bytes`` sizes ``/dev/shm`` (0: the runtime's default),
    ``grace`` is the time between SIGTERM and SIGKILL, ``pre_stop`` the command of the preStop hook and ``ptrace``
    whether the container gets the capability SYS_PTRACE.
    """

    image: str = ""
    command: str = ""
    """One line for ``/bin/sh -c``."""
    argv: tuple[str, ...] = ()
    """The program and its arguments, which no shell reads; unless empty, it is used in place of ``command``."""
    requests: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, str] = field(default_factory=dict)
    shm_bytes: int = 0
    scratch: str = ""
    """Path at which each pod has an empty directory of its own, gone with the pod; empty: it has none."""
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Toleration, ...] = ()
    volumes: tuple[Volume, ...] = ()
    grace: int = 30
    pre_stop: tuple[str, ...] = ()
    ptrace: bool = False
    assist: bool = False
    """True if the code of ``muster.assist`` is mounted, and Python finds it."""
    progress_endpoint: bool = False
    """True if members get the address of musterd's progress endpoint."""
    quotes_log: bool = True
    """True if the kubelet copies the last lines of a failed container into the status; False if they hold a secret."""
