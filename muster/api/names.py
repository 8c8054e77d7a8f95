"""Names that other programs rely on: API group, labels, annotations, environment variables, pod names.

The pod of a member is named ``<experiment>-<group>-<job>-<pod>-<suffix>``; its DNS name in the headless Service is
``<group>-<job>-<pod>-<suffix>.<experiment>``. The suffix is derived from the experiment's uid and the epoch, and in
the pod's name from the attempt too. So a create that is sent twice gets AlreadyExists and makes no second pod, and a
process of an older epoch can neither hold nor resolve the address of the new coordinator.
"""

from functools import lru_cache
from hashlib import sha256

GROUP = "muster.dev"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
KIND = "Experiment"
PLURAL = "experiments"
AICHOR_KIND = "AIchorManifest"

MANAGER = "muster"
"""Field manager of our writes and the value of ``app.kubernetes.io/managed-by``."""

MANAGED_BY = "muster.dev/muster"
"""The value of ``spec.managedBy`` that hands an object to Muster."""
LABEL_MANAGED_BY = "app.kubernetes.io/managed-by"
LABEL_EXPERIMENT = "muster.dev/experiment"
LABEL_UID = "muster.dev/experiment-uid"
"""The label that pods and Services are selected by everywhere: watches, live reads, barrier, Service, SDK, CLI."""
LABEL_GROUP = "muster.dev/group"
LABEL_JOB = "muster.dev/job-index"
LABEL_POD = "muster.dev/pod-index"
LABEL_RANK = "muster.dev/rank"
LABEL_EPOCH = "muster.dev/epoch"
LABEL_ATTEMPT = "muster.dev/attempt"
LABEL_ROLE = "muster.dev/role"

SELECTOR = LABEL_UID
"""Label selector of the pods and Services of all experiments: those that have the label."""


def selector_of(uid: str) -> str:
    """Return the label selector of the pods and the Service of the Experiment of that uid, their one definition."""
    return f"{LABEL_UID}={uid}"


ANNOTATION_COMMAND_SOURCE = "muster.dev/manifest"
"""File name of the manifest that an Experiment came from, for people."""
ANNOTATION_ASSIST = "muster.dev/assist"
"""Annotation of a pod with ``spec.assist``: the code that is mounted in it."""
ANNOTATION_ASSIST_RECORDER = "muster.dev/assist-recorder"
"""Annotation of such a pod: the mounted code that publishes which collectives its program has entered."""
ANNOTATION_ASSIST_WATCH = "muster.dev/assist-watch"
"""Annotation of such a pod: the mounted code that watches the place of its program."""
ANNOTATION_ASSIST_WORK = "muster.dev/assist-work"
"""Annotation of such a pod: the mounted code that shows whether its process works."""

ANNOTATION_PROGRESS_CA = "muster.dev/progress-ca"
"""Annotation of a pod with ``spec.progressEndpoint``: the authority of that endpoint's certificate, PEM."""

ANNOTATION_ABOUT = "muster.dev/about"
"""Annotation of an Event: what it is about, for programs, which do not read its message."""
ANNOTATION_RESTART = "muster.dev/restart"
"""Annotation of an Experiment: who asks for a restart of its gang, and when. Each other value is another restart."""
ANNOTATION_CANCELLED = "muster.dev/cancelled"
"""Annotation of an Experiment with ``spec.cancel``: who cancelled it, and when."""

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
"""Label of an Experiment: the LocalQueue it waits in. Kueue's own owner check reads it, too."""
PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
"""Label of an Experiment: the WorkloadPriorityClass of its Workload."""
JOB_UID_LABEL = "kueue.x-k8s.io/job-uid"
"""Label of a Workload: the uid of its job, as Kueue's own integrations write it (kueue: pkg/controller/constants)."""
FINALIZER_QUOTA = "muster.dev/quota"
"""Finalizer of a Workload: it keeps its quota until no pod of the experiment runs."""

CONTAINER = "main"
"""The member's own container: its exit is the member's result. A pod template may add others."""

SHM_PATH = "/dev/shm"  # noqa: S108 - a mount point in the container, not a file of ours
SHM_VOLUME = "shm"
SCRATCH_VOLUME = "muster-scratch"
ASSIST_VOLUME = "muster-assist"
PROGRESS_VOLUME = "muster-progress"
CLAIM_VOLUME = "claim-"
"""Prefix of the volumes for ``spec.storage`` and ``spec.tensorboard``; a number follows."""

ENV_PREFIX = "MUSTER_"
"""Every environment variable with this prefix is Muster's."""

JAX_PORT = 1234
"""Port of the JAX coordinator (AIchor's convention: the address is ``$(JAXOPERATOR_COORDINATOR_HOST):1234``)."""
PYTORCH_PORT = 23456
XGBOOST_PORT = 9999
RAY_PORT = 6379
"""Port of the Ray head's GCS."""
RAY_DASHBOARD_PORT = 8265
RAY_AGENT_PORT = 52365
"""Port of the dashboard's agent on each Ray node."""
RAY_METRICS_PORT = 8080
RAY_NODE_TYPE = "RAY_NODE_TYPE_NAME"
"""Variable of a Ray node: the name of its group, ``headgroup`` of the head, as KubeRay sets it."""
RAY_HEAD_TYPE = "headgroup"
RAY_RUNTIME_ENV = "RAY_JOB_RUNTIME_ENV"
"""Variable that a pod template may set: the runtime environment of the Ray job, as JSON. The submitter hands it to Ray.
"""

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # no vowels and no look-alikes: a suffix never spells a word


@lru_cache(maxsize=512)  # every decision names the coordinator
def name_suffix(uid: str, epoch: int, attempt: int = 0) -> str:
    """Return five characters that differ per experiment, per epoch and per attempt."""
    life = f"{uid}/{epoch}/{attempt}" if attempt else f"{uid}/{epoch}"
    digest = sha256(life.encode()).digest()
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest[:5])


def member_hostname(group: str, job: int, pod: int, suffix: str) -> str:
    """Return the member's host name inside its experiment's headless Service."""
    return f"{group}-{job}-{pod}-{suffix}"


def pod_name(experiment: str, group: str, job: int, pod: int, suffix: str) -> str:
    """Return the deterministic name of a member's pod."""
    return f"{experiment}-{member_hostname(group, job, pod, suffix)}"
