"""Functions that read a subject from the texts about a finding, or about an end.

The texts may be a stranger's: they are searched with bounded expressions, and a name is cut (``subjects.NAME``).
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

from muster.api.values.accelerators import USUAL
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.classifier import Finding
from muster.state.vocabulary.node_faults import disk_is_full, driver_fault
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.refusals import refusal_reason

LONGEST: Final = 4096
"""Characters of a sentence that are read."""
_NODES: Final = re.compile(r"\b0/(\d{1,6}) nodes are available: ")
_ENDS: Final = re.compile(r"\. (?:preemption|no new claims)|\.?$", re.DOTALL)
_REASON: Final = re.compile(r"(?:^|, )(\d{1,6}) ")
TAINT: Final = re.compile(r"node\(s\) had (?:untolerated )?taint \{([^{}\s:]{1,200})")
DEVICE: Final = re.compile(r"Insufficient ([a-z0-9.-]{1,100}/[A-Za-z0-9._-]{0,62}[A-Za-z0-9])")
_NOT_SELECTED: Final = re.compile(r"node\(s\) didn't match (?:Pod's node affinity|node selector)")
CONTROL_PLANE: Final = frozenset({"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"})


class Reason(NamedTuple):
    """The reason why so many nodes do not fit, in the scheduler's words."""

    nodes: int
    words: str


class Unfit(NamedTuple):
    """The scheduler's sentence about why no node fits a pod, read as a whole: the number of nodes, and the reasons.

    ``0/9 nodes are available: 1 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }, 8 Insufficient
    nvidia.com/gpu. preemption: ...``: each reason has the number of nodes that it excludes.
    """

    nodes: int
    reasons: tuple[Reason, ...]

    def decides(self, pattern: re.Pattern[str]) -> str:
        """Return what the pattern finds in the reason that excludes most nodes that are meant for the pod, or empty.

        A reason that excludes no more than half of them decides nothing.
        """
        others = [each for each in self.reasons if not _not_meant(each)]
        most = max((each.nodes for each in others), default=0)
        if 2 * most <= self.nodes - sum(each.nodes for each in self.reasons if _not_meant(each)):
            return ""
        first = (pattern.match(each.words) for each in others if each.nodes == most)
        return next((match[1] for match in first if match), "")


def _not_meant(reason: Reason) -> bool:
    """Return True for nodes of the control plane, not selected by the pod, or kept free for pods with accelerators."""
    if _NOT_SELECTED.match(reason.words):
        return True
    taint = TAINT.match(reason.words)
    return taint is not None and (taint[1] in CONTROL_PLANE or USUAL.has(taint[1]))


def unfit(text: str) -> Unfit | None:
    """Return the sentence in ``text``; None without one."""
    text = text[:LONGEST]
    opening = _NODES.search(text)
    if opening is None:
        return None
    rest = text[opening.end() :]
    end = _ENDS.search(rest)
    return Unfit(int(opening[1]), tuple(_reasons(rest[: end.start()] if end else rest)))


def _reasons(text: str) -> Iterator[Reason]:
    marks = list(_REASON.finditer(text))
    ends = [*(each.start() for each in marks[1:]), len(text)]
    for mark, after in zip(marks, ends, strict=False):
        yield Reason(int(mark[1]), text[mark.end() : after])


MOST_CLAIMS: Final = 16
"""Claims of a run that are read."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One finding of one run, or its end: then ``finding`` is None.

    ``text`` has the words about it; ``nodes`` counts the members by their node.
    """

    context: Context
    finding: Finding | None
    text: str
    nodes: Mapping[str, int]

    @property
    def pulled(self) -> str:
        """Return the image that the kubelet names, else that of the members."""
        match = _IMAGE.search(self.text)
        return match[1] if match else self.image

    @property
    def image(self) -> str:
        """Return the image of the first of these members; empty if only the pod template has it."""
        ranks = self.finding.ranks if self.finding is not None else ()
        group = self.context.plan.group_of(ranks[0]) if ranks else None
        return group.pod.image if group is not None else ""


def searched(pattern: str) -> Callable[[Evidence], str]:
    """Read the first group of that pattern."""
    return partial(first, re.compile(pattern))


def first(pattern: re.Pattern[str], seen: Evidence) -> str:
    """Return the first group of the pattern in the text; empty if it does not match."""
    match = pattern.search(seen.text)
    return match[1] if match else ""


def within(seen: Evidence, name: str) -> str:
    """Return a name that holds within a namespace only."""
    return f"{seen.context.plan.namespace}/{name}" if name else ""


_OWNERS = ("CreateContainerConfigError", 'exec: "', "executable file not found")
"""Texts about an object that the owner has left out, or a command that the image does not have."""


def node_unless_config(seen: Evidence) -> str:
    """Return the node, unless the text reports an object of the owner as missing or wrong."""
    return "" if any(each in seen.text for each in _OWNERS) else node(seen)


def node_whose_disk_is_full(seen: Evidence) -> str:
    """Return the node, if the container runtime reports that its disk is full."""
    return node(seen) if disk_is_full(seen.text) else ""


def node(seen: Evidence) -> str:
    """Return the node that all these members share; empty if they have several."""
    if seen.finding is not None and seen.finding.node:
        return seen.finding.node
    return next(iter(seen.nodes)) if len(seen.nodes) == 1 else ""


_DNS = re.compile(r"lookup [^\s:]{1,253} on ([^\s,]{1,60}):53|(no such host|Temporary failure in name resolution)")


def dns(seen: Evidence) -> str:
    """Return the name server at which a lookup failed."""
    match = _DNS.search(seen.text)
    return (match[1] or "cluster DNS") if match else ""


_IMAGE = re.compile(r'image "([^"\s]{1,300})"')
_TRANSPORT = re.compile(
    r"i/o timeout|connection refused|connection reset|TLS handshake|context deadline exceeded|no route to host|"
    r"x509:|certificate |toomanyrequests|429 Too Many|50[0-4] |unexpected EOF|server misbehaving|RegistryUnavailable"
)


def pulled(seen: Evidence) -> str:
    """Return the image; empty if the fault is the disk and not the image."""
    return "" if disk_is_full(seen.text) else seen.pulled


def registry(seen: Evidence) -> str:
    """Return the host, if the registry itself does not answer. A missing image is a fault of the image."""
    image = pulled(seen)
    return host_of(image) if image and _TRANSPORT.search(seen.text) else ""


def host_of(image: str) -> str:
    """Return the host of the registry that an image names."""
    host = image.partition("/")[0]
    return host if "/" in image and ("." in host or ":" in host or host == "localhost") else "docker.io"


_DENIED = re.compile(r"\b(?:401|403)\b|no basic auth credentials|authorization token has expired")
_SENT = re.compile(r"fetch oauth token|authorization token has expired|incorrect username or password")
"""Texts of a registry that refuses the credentials themselves."""
_ANONYMOUS = re.compile(r"fetch anonymous token|repository does not exist|insufficient_scope")
"""Texts about an image that does not exist, or needs credentials: its owner can fix it."""


def denying(seen: Evidence) -> str:
    """Return the host, if the registry refuses the credentials sent to it."""
    return host_of(pulled(seen)) if _SENT.search(seen.text) and _refuses(seen) else ""


def denying_perhaps(seen: Evidence) -> str:
    """Return the host, if the registry refuses and its text does not show whether credentials were sent."""
    return host_of(pulled(seen)) if not _SENT.search(seen.text) and _refuses(seen) else ""


def _refuses(seen: Evidence) -> bool:
    text = seen.text
    return bool(pulled(seen) and _DENIED.search(text)) and not _ANONYMOUS.search(text) and not registry(seen)


_DRIVER_OF_ALL = re.compile(r"version mismatch|driver not loaded")
"""Faults that an update of drivers causes. A lost GPU is a fault of one node."""


def device_driver(seen: Evidence) -> str:
    """Return the driver of accelerators, with its message."""
    fault = driver_fault(seen.text)
    return f"nvidia, {fault.rpartition(': ')[2]}" if _DRIVER_OF_ALL.search(fault) else ""


PLUGIN = re.compile(r'plugin type=\\?"([a-z0-9][-a-z0-9.]{0,62})\\?"')
_CSI = re.compile(
    r"external-attacher of ([a-z0-9][-a-z0-9.]{0,62}) CSI driver"
    r"|driver name ([a-z0-9][-a-z0-9.]{0,62}) not found in the list of registered CSI drivers"
)
SERVER = re.compile(
    r"-t (?:nfs4?|lustre|ceph|glusterfs|cifs|beegfs|gpfs) (?:-o \S{1,256} )?([a-zA-Z0-9][-a-zA-Z0-9.@,]{0,120}):/"
)


def csi_driver(seen: Evidence) -> str:
    """Return the CSI driver that the attach/detach controller or the kubelet names."""
    match = _CSI.search(seen.text)
    return (match[1] or match[2]) if match else ""


def class_of_claims(seen: Evidence) -> str:
    """Return the StorageClass that all claims of the run have."""
    plan = seen.context.plan
    return next(iter(found), "") if len(found := classes_of(plan)) == 1 else ""


def classes_of(plan: Plan) -> set[str]:
    """Return the StorageClasses of its claims."""
    names = (claim.spec.get("storageClassName") for claim in plan.claims[:MOST_CLAIMS])
    return {name for name in names if isinstance(name, str) and name}


def server_of_volumes(seen: Evidence) -> str:
    """Return the file server of all volumes of the run that name one in its pod templates."""
    return next(iter(found), "") if len(found := servers_of(seen.context.plan)) == 1 else ""


def servers_of(plan: Plan) -> set[str]:
    """Return the file servers that volumes of its pod templates name: of NFS, and of a CSI driver for it."""
    found = set()
    for group in plan.groups:
        spec = group.template.get("spec")
        volumes = spec.get("volumes") if isinstance(spec, Mapping) else None
        for volume in volumes[:MOST_CLAIMS] if isinstance(volumes, list | tuple) else ():
            nfs, csi = (volume.get(kind) if isinstance(volume, Mapping) else None for kind in ("nfs", "csi"))
            stated = csi.get("volumeAttributes") if isinstance(csi, Mapping) else nfs
            server = stated.get("server") if isinstance(stated, Mapping) else None
            if isinstance(server, str) and server:
                found.add(server)
    return found


def api_server(seen: Evidence) -> str:
    """Return the reason of the API server's refusal, if that is its own state."""
    refusal = seen.context.view.engine.refusal
    row = refusal_reason(refusal.reason) if refusal is not None else None
    return row.name if row is not None and row.itself else ""


QUOTA: Final = re.compile(r"exceeded quota: ([a-z0-9][-a-z0-9.]{0,252})")
CONFIG: Final = re.compile(r'((?:secret|configmap) "[^"\s]{1,253}") not found')

_STORAGE = re.compile(r'storageclass(?:\.storage\.k8s\.io)? "([^"\s]{1,253})" not found')


def storage(seen: Evidence) -> str:
    """Return the missing StorageClass, or that of unbound claims."""
    if match := _STORAGE.search(seen.text):
        return match[1]
    if "PersistentVolumeClaim" not in seen.text and "persistentvolumeclaim" not in seen.text:
        return ""
    return min(classes_of(seen.context.plan), default="")


def queue(seen: Evidence) -> str:
    """Return the queue that does not admit."""
    if match := re.search(r"ClusterQueue ([a-z0-9][-a-z0-9.]{0,252})", seen.text):
        return match[1]
    queue = seen.context.plan.queue
    return within(seen, queue.name) if queue is not None else ""
