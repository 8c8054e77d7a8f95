"""The table of subjects: what several runs may share that keeps all of them, and how it is read from a finding.

A row names its subject from evidence that Muster has: the nodes of pods, the image, what kubelet, scheduler, API server
or queue say. Of one cause the first row that finds a name holds, so the rows go from what is most definite to what is
least. The texts may be a stranger's: they are searched with bounded expressions, and a name is cut (``NAME``).
"""

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from muster.api.values.printable import printable
from muster.state.facts.causes.cause import MissingCause
from muster.state.facts.causes.table import Causes
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.finding import Finding
from muster.state.facts.incidents.scheduler import unfit

LASTING: Final = 600.0
"""Seconds: what waits for room, or for an owner's correction, wakes no person. An autoscaler brings nodes within it."""
NAME: Final = 120
"""Characters of the name of a subject."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One finding of one run. ``text`` is what others say of it; ``nodes`` counts its members by their node."""

    context: Context
    finding: Finding
    text: str
    nodes: Mapping[str, int]

    @property
    def image(self) -> str:
        """The image of the first of these members; empty where the pod template alone says it."""
        ranks = self.finding.ranks
        group = self.context.plan.group_of(ranks[0]) if ranks else None
        return group.pod.image if group is not None else ""


@dataclass(frozen=True, slots=True)
class Subject:
    """A kind of subject. ``name`` gives that of a finding; empty where it has none of this kind."""

    kind: str
    meaning: str
    causes: tuple[MissingCause, ...]
    name: Callable[[Evidence], str]
    remedy: str
    """What to do. ``{}`` is the subject, quoted for a shell."""
    placed: bool = False
    """It is a node: nodes that fail together are one incident (``grouping``)."""
    owned: bool = False
    """The owner of the runs can mend it, where all of them are of one namespace."""
    patience: float = 0.0
    """Seconds that it must last before it is alerted about, and then as a warning. 0: at once, and as critical."""


def _searched(pattern: str) -> Callable[[Evidence], str]:
    return partial(_first, re.compile(pattern))


def _first(pattern: re.Pattern[str], seen: Evidence) -> str:
    match = pattern.search(seen.text)
    return match[1] if match else ""


def _within(seen: Evidence, name: str) -> str:
    """A name that holds within a namespace only."""
    return f"{seen.context.plan.namespace}/{name}" if name else ""


def _node(seen: Evidence) -> str:
    """The node of all these members: one of many is not it."""
    if seen.finding.node:
        return seen.finding.node
    return next(iter(seen.nodes)) if len(seen.nodes) == 1 else ""


_DNS = re.compile(r"lookup [^\s:]{1,253} on ([^\s,]{1,60}):53|(no such host|Temporary failure in name resolution)")


def _dns(seen: Evidence) -> str:
    match = _DNS.search(seen.text)
    return (match[1] or "cluster DNS") if match else ""


_IMAGE = re.compile(r'image "([^"\s]{1,300})"')
_TRANSPORT = re.compile(
    r"i/o timeout|connection refused|connection reset|TLS handshake|context deadline exceeded|no route to host|"
    r"x509:|certificate |toomanyrequests|429 Too Many|50[0-4] |unexpected EOF|server misbehaving|RegistryUnavailable"
)


def _pulled(seen: Evidence) -> str:
    match = _IMAGE.search(seen.text)
    return match[1] if match else seen.image


def _registry(seen: Evidence) -> str:
    """The host, where the registry itself does not answer. An image that it does not have is the image's matter."""
    image = _pulled(seen)
    if not image or not _TRANSPORT.search(seen.text):
        return ""
    host = image.partition("/")[0]
    return host if "/" in image and ("." in host or ":" in host or host == "localhost") else "docker.io"


_ITSELF: Final = frozenset({"ApiServerBusy", "ApiServerSilent", "ApiServerErrors"})
"""Reasons of a refusal that are the API server's own state."""


def _api_server(seen: Evidence) -> str:
    refusal = seen.context.view.engine.refusal
    return refusal.reason if refusal is not None and refusal.reason in _ITSELF else ""


_QUOTA: Final = re.compile(r"exceeded quota: ([a-z0-9][-a-z0-9.]{0,252})")
_CONFIG: Final = re.compile(r'((?:secret|configmap) "[^"\s]{1,253}") not found')

_STORAGE = re.compile(r'storageclass(?:\.storage\.k8s\.io)? "([^"\s]{1,253})" not found')


def _storage(seen: Evidence) -> str:
    if match := _STORAGE.search(seen.text):
        return match[1]
    if "PersistentVolumeClaim" not in seen.text and "persistentvolumeclaim" not in seen.text:
        return ""
    for claim in seen.context.plan.claims:
        if isinstance(name := claim.spec.get("storageClassName"), str) and name:
            return name
    return ""


def _queue(seen: Evidence) -> str:
    if match := re.search(r"ClusterQueue ([a-z0-9][-a-z0-9.]{0,252})", seen.text):
        return match[1]
    queue = seen.context.plan.queue
    return _within(seen, queue.name) if queue is not None else ""


_REFUSED = (Causes.ADMISSION_DENIED, Causes.REFUSED, Causes.RIGHTS_MISSING, Causes.QUOTA_EXCEEDED)
_NODE_AWAY = (Causes.NODE_NOT_READY, Causes.NODE_LOST, Causes.UNKNOWN, Causes.COORDINATOR_UNREACHABLE)
_ON_NODE = (Causes.HEARTBEAT_LOST, Causes.COORDINATOR_FROZEN, Causes.SANDBOX)
"""A process may be the reason as well: such members on several nodes share nothing."""

FOLLOWS: Final = frozenset(
    {
        "PodsMissing",
        *(
            each.value
            for each in (
                Causes.UNSCHEDULABLE,
                Causes.SCHEDULING,
                Causes.NOT_CREATED,
                Causes.TERMINATING,
                Causes.EVICTED,
                Causes.LOST,
                Causes.QUEUED,
                Causes.AWAITS_COORDINATOR,
            )
        ),
    }
)
"""Causes, and reasons of Stuck, that a run has after it has lost a node."""
DEVICE: Final = "device"
"""The kind of an extended resource. Where runs that are well hold it, the cluster is full."""

_NODE: Final = "see why it is not well, and drain or delete it if it does not come back: kubectl describe node {}"
_NODES: Final = "see what these nodes share, such as a switch, a power supply or an update: kubectl get nodes -o wide"
_DNS_DOWN: Final = "see whether the pods of the cluster's DNS run: kubectl -n kube-system get pods -l k8s-app=kube-dns"
_REGISTRY: Final = "see whether the registry answers from the nodes: its own status, a proxy between, a rate limit"

SUBJECTS: Final = (
    Subject("node", "the node of all members that have the cause", _NODE_AWAY, _node, _NODE, placed=True),
    Subject("node", "the node of all members that have the cause", _ON_NODE, _node, _NODE),
    Subject("dns", "the name server that a lookup failed at", (Causes.IMAGE_PULL, *_REFUSED), _dns, _DNS_DOWN),
    Subject("registry", "the host of the image, where it does not answer", (Causes.IMAGE_PULL,), _registry, _REGISTRY),
    Subject(
        "image",
        "the image",
        (Causes.IMAGE_PULL,),
        _pulled,
        "push the image, or correct its name or its pull secret in the manifests",
        owned=True,
        patience=LASTING,
    ),
    Subject(
        "webhook",
        "the admission webhook",
        _REFUSED,
        _searched(r'webhook "([^"\s]{1,253})"'),
        "mend the webhook, or what it forbids: kubectl get validatingwebhookconfigurations",
    ),
    Subject(
        "policy",
        "the ValidatingAdmissionPolicy",
        _REFUSED,
        _searched(r"ValidatingAdmissionPolicy '([^'\s]{1,253})'"),
        "change the policy, or the manifests that it refuses: kubectl get validatingadmissionpolicy {} -o yaml",
    ),
    Subject(
        "quota",
        "the ResourceQuota, in its namespace",
        _REFUSED,
        lambda seen: _within(seen, _first(_QUOTA, seen)),
        "raise the ResourceQuota, or end what uses it up: kubectl describe resourcequota in that namespace",
        owned=True,
        patience=LASTING,
    ),
    Subject(
        "right",
        "what musterd may not do",
        (Causes.RIGHTS_MISSING,),
        _searched(r'cannot ([a-z]{1,20} resource "[a-z./]{1,100}")'),
        "grant it to the ServiceAccount of musterd: install the rights of this version of Muster again",
    ),
    Subject(
        "priority class",
        "the PriorityClass that is missing",
        _REFUSED,
        _searched(r"no PriorityClass with name ([a-z0-9][-a-z0-9.]{0,252})"),
        "create the PriorityClass, or name one that is there: kubectl get priorityclasses",
        owned=True,
        patience=LASTING,
    ),
    Subject(
        "api server",
        "how the API server answers",
        _REFUSED,
        _api_server,
        "see what the API server says of itself: kubectl get --raw '/readyz?verbose'",
    ),
    Subject(
        "queue",
        "the ClusterQueue, or the LocalQueue in its namespace",
        (Causes.QUEUED,),
        _queue,
        "see what holds its quota: kubectl get clusterqueues,localqueues -A",
        patience=LASTING,
    ),
    Subject(
        "storage class",
        "the StorageClass of its claims",
        (Causes.UNSCHEDULABLE, Causes.SANDBOX),
        _storage,
        "see whether it is there and its provisioner runs: kubectl get storageclass; kubectl get pvc -A",
    ),
    Subject(
        DEVICE,
        "the extended resource that most nodes lack",
        (Causes.UNSCHEDULABLE,),
        lambda seen: sentence.device if (sentence := unfit(seen.text)) else "",
        "add nodes that have it, or see whether its device plugin runs on those that should: kubectl describe nodes",
        patience=LASTING,
    ),
    Subject(
        "taint",
        "the taint that keeps pods off most nodes",
        (Causes.UNSCHEDULABLE,),
        lambda seen: sentence.taint if (sentence := unfit(seen.text)) else "",
        "take the taint from the nodes, or tolerate it in the manifests: kubectl describe nodes",
        patience=LASTING,
    ),
    Subject(
        "config",
        "the Secret or ConfigMap that is missing, in its namespace",
        (Causes.CONTAINER_CANNOT_START,),
        lambda seen: _within(seen, _first(_CONFIG, seen)),
        "create the Secret or ConfigMap, or correct its name in the manifests",
        owned=True,
        patience=LASTING,
    ),
)
"""What is read from a finding alone."""

LABELS: Final[Mapping[str, tuple[str, ...]]] = {
    "rack": (
        "topology.kubernetes.io/rack",
        "cloud.google.com/gce-topology-block",
        "topology.k8s.aws/network-node-layer-3",
    ),
    "pool": (
        "cloud.google.com/gke-nodepool",
        "eks.amazonaws.com/nodegroup",
        "karpenter.sh/nodepool",
        "kubernetes.azure.com/agentpool",
    ),
    "zone": ("topology.kubernetes.io/zone",),
}
"""Kinds of subjects that are labels of nodes, from the narrowest, each with the labels that say it."""

NODE: Final = "node"
"""The kind of one node."""
NODES: Final = "nodes"
"""The kind of several nodes that failed at the same time, where no label says what they share."""

OWNED: Final = frozenset(row.kind for row in SUBJECTS if row.owned)
"""Kinds that the owner of the runs can mend."""

PATIENT: Final = tuple(dict.fromkeys(row.kind for row in SUBJECTS if row.patience))
"""Kinds whose incidents are alerted about as a warning, once they have lasted ``LASTING`` seconds."""

KINDS: Final = tuple(dict.fromkeys((*(row.kind for row in SUBJECTS), *LABELS, NODES)))
"""Every kind."""

_REMEDIES: Final = {row.kind: row.remedy for row in SUBJECTS} | dict.fromkeys((*LABELS, NODES), _NODES)

_BY_CAUSE: Final = {
    cause: tuple(row for row in SUBJECTS if cause in row.causes) for row in SUBJECTS for cause in row.causes
}


def remedy(kind: str, subject: str) -> str:
    """What to do about that subject; empty for a kind that is not one of these."""
    return _REMEDIES.get(kind, "").replace("{}", shlex.quote(subject))


def subject_of(seen: Evidence) -> tuple[Subject, str] | None:
    """The row that finds a subject, with its name; None where none does."""
    for row in _BY_CAUSE.get(seen.finding.cause, ()):
        if name := row.name(seen):
            return row, printable(name, NAME)
    return None
