"""The table of subjects: things that several runs may share and that keep all of them, and their readings.

A row names its subject from evidence that Muster has: the nodes of pods, the image, what kubelet, scheduler, API server
or queue report. For a cause the first row that finds a name holds, so the rows go from the most definite to the
least definite (see ``readings``). A row ``beside`` the others gives a further reading.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from muster.api.values.printable import printable
from muster.state.facts.causes.cause import MissingCause
from muster.state.facts.causes.table import Causes
from muster.state.facts.incidents import readings
from muster.state.facts.incidents.readings import unfit

LASTING: Final = 600.0
"""Seconds: a lack of room, or an owner's error, wakes no person before that. An autoscaler brings nodes within it."""
NAME: Final = 120
"""Characters of the name of a subject."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A kind of subject. ``name`` returns the subject of a finding; empty if it has none of this kind."""

    kind: str
    causes: tuple[MissingCause, ...]
    name: Callable[[readings.Evidence], str]
    remedy: str
    """The step of a person. ``{}`` is the subject, quoted for a shell."""
    placed: bool = False
    """True if it is a node: nodes that fail together are one incident (``grouping``)."""
    owned: bool = False
    """True if the owner of the runs can fix it when all of them are of one namespace."""
    beside: bool = False
    """True for a further reading of a finding that another row names too: the one that explains more counts."""
    weak: bool = False
    """True if the programs may be the reason as well: such signs count only together (``belief``)."""
    patience: float = 0.0
    """Seconds that it must last before an alert, which is then a warning. 0: an alert at once, and critical."""


_REFUSED = (Causes.ADMISSION_DENIED, Causes.REFUSED, Causes.RIGHTS_MISSING, Causes.QUOTA_EXCEEDED)
_NODE_AWAY = (Causes.NODE_NOT_READY, Causes.NODE_LOST, Causes.UNKNOWN, Causes.COORDINATOR_UNREACHABLE)
_ON_NODE = (Causes.HEARTBEAT_LOST, Causes.COORDINATOR_FROZEN, Causes.SANDBOX)
"""Causes whose reason may be a process as well: such members on several nodes share nothing."""
_BY_NODE = (Causes.DRIVER_FAILS, Causes.DRIVER_FAILED, Causes.NETWORK_FAILS)
_SHORT = (Causes.NODE_PRESSURE, Causes.NODE_DISK_FULL)
_SYMPTOMS = (
    *(Causes.CRASHED, Causes.CONTAINER_CANNOT_START, Causes.STARTING, Causes.RESTARTED_IN_PLACE),
    *(Causes.HUNG, Causes.COLLECTIVE_BEHIND, Causes.NOT_ARRIVED),
)
"""Causes that a sick node shows in programs, and that programs show by themselves."""
_HANGS = (Causes.HUNG, Causes.COLLECTIVE_BEHIND)
FAULTS: Final = frozenset(map(str, (*_BY_NODE, *_SHORT, Causes.IMAGE_PULL)))
"""Causes of nodes that are ready and have a fault."""

FOLLOWS: Final = frozenset(
    {
        "PodsMissing",
        *map(str, (Causes.UNSCHEDULABLE, Causes.SCHEDULING, Causes.NOT_CREATED, Causes.TERMINATING)),
        *map(str, (Causes.EVICTED, Causes.LOST, Causes.QUEUED, Causes.AWAITS_COORDINATOR)),
    }
)
"""Causes, and reasons of Stuck, that a run has after it has lost a node."""
STORAGE_CLASS: Final = "storage class"
FILE_SERVER: Final = "file server"
DEVICE: Final = "device"
"""The kind of an extended resource. If runs that are well hold it, the cluster is full."""

_NODE: Final = "see why it is not well, and drain or delete it if it does not come back: kubectl describe node {}"
_NODES: Final = "see what these nodes share, such as a switch, a power supply or an update: kubectl get nodes -o wide"
_DNS_DOWN: Final = "see whether the pods of the cluster's DNS run: kubectl -n kube-system get pods -l k8s-app=kube-dns"
_REGISTRY: Final = (
    "see whether the registry answers from the nodes, and accepts their credentials: its own status, a proxy between, "
    "a rate limit, pull secrets that have expired"
)
_SERVER: Final = "see whether the server answers from the nodes, and exports that file system"
_STORAGE_IS_THERE: Final = (
    "see whether it exists, and whether its provisioner and storage work: kubectl get storageclass; kubectl get pvc -A"
)

SUBJECTS: Final = (
    Subject("node", (*_NODE_AWAY, *_SHORT), readings.node, _NODE, placed=True),
    Subject("node", (Causes.IMAGE_PULL,), readings.node_whose_disk_is_full, _NODE, placed=True),
    Subject(
        "device driver",
        (Causes.DRIVER_FAILS, Causes.DRIVER_FAILED),
        readings.device_driver,
        "restart the nodes whose driver was updated, or halt the update: kubectl get pods -A -o wide | grep -i driver",
    ),
    Subject(
        "network plugin",
        (Causes.NETWORK_FAILS,),
        lambda seen: readings.first(readings.PLUGIN, seen),
        "see whether the pods of the network plugin run on all nodes: kubectl -n kube-system get pods -o wide",
    ),
    Subject("node", _BY_NODE, readings.node, _NODE, placed=True, beside=True),
    Subject(
        "volume driver",
        (Causes.VOLUME_FAILS,),
        readings.csi_driver,
        "see whether the pods of the CSI driver run, and read their logs: kubectl get csidrivers,volumeattachments",
    ),
    Subject(FILE_SERVER, (Causes.VOLUME_FAILS,), lambda seen: readings.first(readings.SERVER, seen), _SERVER),
    Subject(STORAGE_CLASS, (Causes.VOLUME_FAILS,), readings.class_of_claims, _STORAGE_IS_THERE),
    Subject("node", (Causes.VOLUME_FAILS,), readings.node, _NODE, beside=True),
    Subject("dns", (Causes.IMAGE_PULL, *_REFUSED), readings.dns, _DNS_DOWN),
    Subject("registry", (Causes.IMAGE_PULL,), readings.registry, _REGISTRY),
    Subject(
        "image",
        (Causes.IMAGE_PULL,),
        readings.pulled,
        "push the image, or correct its name or its pull secret in the manifests",
        owned=True,
        patience=LASTING,
    ),
    Subject("registry", (Causes.IMAGE_PULL,), readings.denying, _REGISTRY, beside=True),
    Subject("registry", (Causes.IMAGE_PULL,), readings.denying_perhaps, _REGISTRY, beside=True, weak=True),
    Subject(
        "webhook",
        _REFUSED,
        readings.searched(r'webhook "([^"\s]{1,253})"'),
        "fix the webhook, or change what it forbids: kubectl get validatingwebhookconfigurations",
    ),
    Subject(
        "policy",
        _REFUSED,
        readings.searched(r"ValidatingAdmissionPolicy '([^'\s]{1,253})'"),
        "change the policy, or the manifests that it refuses: kubectl get validatingadmissionpolicy {} -o yaml",
    ),
    Subject(
        "quota",
        _REFUSED,
        lambda seen: readings.within(seen, readings.first(readings.QUOTA, seen)),
        "raise the ResourceQuota, or end what uses it up: kubectl describe resourcequota in that namespace",
        owned=True,
        patience=LASTING,
    ),
    Subject(
        "right",
        (Causes.RIGHTS_MISSING,),
        readings.searched(r'cannot ([a-z]{1,20} resource "[a-z./]{1,100}")'),
        "grant it to the ServiceAccount of musterd: install the rights of this version of Muster again",
    ),
    Subject(
        "priority class",
        _REFUSED,
        readings.searched(r"no PriorityClass with name ([a-z0-9][-a-z0-9.]{0,252})"),
        "create the PriorityClass, or name an existing one: kubectl get priorityclasses",
        owned=True,
        patience=LASTING,
    ),
    Subject(
        "api server",
        _REFUSED,
        readings.api_server,
        "check the health of the API server: kubectl get --raw '/readyz?verbose'",
    ),
    Subject(
        "queue",
        (Causes.QUEUED,),
        readings.queue,
        "see what holds its quota: kubectl get clusterqueues,localqueues -A",
        patience=LASTING,
    ),
    Subject(STORAGE_CLASS, (Causes.UNSCHEDULABLE, Causes.SANDBOX), readings.storage, _STORAGE_IS_THERE),
    Subject(
        DEVICE,
        (Causes.UNSCHEDULABLE,),
        lambda seen: sentence.decides(readings.DEVICE) if (sentence := unfit(seen.text)) else "",
        "add nodes that have it, or see whether its device plugin runs on those that should: kubectl describe nodes",
        patience=LASTING,
    ),
    Subject(
        "taint",
        (Causes.UNSCHEDULABLE,),
        lambda seen: sentence.decides(readings.TAINT) if (sentence := unfit(seen.text)) else "",
        "take the taint from the nodes, or tolerate it in the manifests: kubectl describe nodes",
        patience=LASTING,
    ),
    Subject(
        "config",
        (Causes.CONTAINER_CANNOT_START, Causes.SANDBOX),
        lambda seen: readings.within(seen, readings.first(readings.CONFIG, seen)),
        "create the Secret or ConfigMap, or correct its name in the manifests",
        owned=True,
        patience=LASTING,
    ),
    Subject("node", _ON_NODE, readings.node, _NODE),
    Subject("node", _SYMPTOMS, readings.node_unless_config, _NODE, weak=True),
    Subject(STORAGE_CLASS, _HANGS, readings.class_of_claims, _STORAGE_IS_THERE, beside=True, weak=True),
    Subject(FILE_SERVER, _HANGS, readings.server_of_volumes, _SERVER, beside=True, weak=True),
)
"""Subjects that are read from a finding alone."""

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
"""Kinds of subjects that are labels of nodes, from the narrowest, each with its labels."""

NODE: Final = "node"
NODES: Final = "nodes"
"""The kind of several nodes that failed at the same time, if no label shows what they share."""

OWNED: Final = frozenset(row.kind for row in SUBJECTS if row.owned)
"""Kinds that the owner of the runs can fix."""

PATIENT: Final = tuple(dict.fromkeys(row.kind for row in SUBJECTS if row.patience))
"""Kinds whose incidents are alerted about as a warning, once they have lasted ``LASTING`` seconds."""

KINDS: Final = tuple(dict.fromkeys((*(row.kind for row in SUBJECTS), *LABELS, NODES)))

_REMEDIES: Final = {row.kind: row.remedy for row in SUBJECTS} | dict.fromkeys((*LABELS, NODES), _NODES)

_BY_CAUSE: Final = {
    cause: tuple(row for row in SUBJECTS if cause in row.causes) for row in SUBJECTS for cause in row.causes
}


def remedy(kind: str, subject: str) -> str:
    """Return the remedy for that subject; empty for a kind that is not one of these."""
    return _REMEDIES.get(kind, "").replace("{}", shlex.quote(subject))


def subjects_of(cause: MissingCause, seen: readings.Evidence) -> Iterator[tuple[Subject, str]]:
    """Yield the first row that finds a subject, with its name, and those that name another one beside it."""
    named = False
    for row in _BY_CAUSE.get(cause, ()):
        if (row.beside or not named) and (name := row.name(seen)):
            named = named or not row.beside
            yield row, printable(name, NAME)
