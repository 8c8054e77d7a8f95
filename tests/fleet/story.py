"""What happens to the fleet, when, and what Muster must say of it: one incident, and one page, for each subject."""

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.fleet.cluster import RACK, RACKS, Cluster, node_of, nodes, runs_of

SILENT = 60.0
"""Seconds in which no scrape succeeds."""
HEALED = 540.0
"""The second from which nothing is wrong. MusterUnschedulable takes six minutes, which begin anew after SILENT."""
OVER = 660.0
"""Seconds after that in which each alert must have ended: five minutes of calm, three of ``keep_firing_for``, group."""
REGISTRY, DNS = "registry.example.com", "10.96.0.10"
BAD = node_of(7, 4)
FULL, TYPOS = (990, 991, 992), (993, 994, 998)
"""Runs of three teams each."""
NO_ROOM = "500 Insufficient nvidia.com/gpu"
NO_MATCH = (
    "3 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }, 497 node(s) didn't match Pod's node "
    "affinity/selector"
)


@dataclass(frozen=True, slots=True)
class Expected:
    """A subject of an incident: how many runs it has, and within how many seconds of the fault its page is to come."""

    kind: str
    subject: str
    runs: int
    fault: float
    within: float = 90.0


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens at a second of the story."""

    at: float
    what: str
    act: Callable[[Cluster], None]


def _registry(cluster: Cluster) -> None:
    for run in runs_of(20):
        image = f"{REGISTRY}/team/train-{run}:1"
        cluster.cannot_pull(run, image, f'dial tcp 10.0.0.9:443: i/o timeout: Head "https://{REGISTRY}/v2/": timed out')


def _dns(cluster: Cluster) -> None:
    for run in list(runs_of(21))[:12]:
        host = f"mirror-{run % 3}.example.net"
        cluster.cannot_pull(run, f"{host}/train:1", f"dial tcp: lookup {host} on {DNS}:53: server misbehaving")


def _full(cluster: Cluster) -> None:
    for run in FULL:
        cluster.finds_no_node(run, NO_ROOM)


def _typos(cluster: Cluster) -> None:
    for run in TYPOS:
        cluster.finds_no_node(run, NO_MATCH, {"gpu": f"h10{run}"})


def _dies(rack: int, part: int) -> Callable[[Cluster], None]:
    """A quarter of its nodes at a time, as the lease of each runs out."""
    return lambda cluster: cluster.loses(list(nodes(rack))[part * 5 : part * 5 + 5])


def _labels(cluster: Cluster) -> None:
    cluster.labels((node for rack in range(RACKS) for node in nodes(rack)), {"node.example.com/kernel": "6.18"})
    cluster.labels(list(nodes(8))[:3], {RACK: "r09"})


def _heals(cluster: Cluster) -> None:
    cluster.returns([*nodes(3), *nodes(4), BAD])
    for run in (*runs_of(20), *list(runs_of(21))[:12], *FULL, *TYPOS):
        cluster.ends(run)
        cluster.starts(run)


def _nothing(cluster: Cluster) -> None:
    """Prometheus, and not the cluster, is where it happens."""


GAP = Event(130, f"no scrape succeeds, for {SILENT:.0f} s", _nothing)
STORY = (
    Event(10, f"the registry {REGISTRY} does not answer: 40 runs of 8 teams", _registry),
    Event(10, f"the name server {DNS} fails: 12 runs, images of 3 hosts", _dns),
    Event(10, f"node {BAD} is lost: 4 runs of 4 teams", lambda cluster: cluster.loses([BAD])),
    Event(10, "the cluster is full: 3 runs of 3 teams find no GPU", _full),
    Event(10, "3 runs of 3 teams select nodes that do not exist", _typos),
    *(Event(60 + 10 * part, f"rack r03 dies, part {part + 1} of 4", _dies(3, part)) for part in range(4)),
    GAP,
    Event(215, "labels of all nodes change, and three nodes of r08 are moved to r09", _labels),
    Event(240, "rack r04 dies, at once", lambda cluster: cluster.loses(nodes(4))),
    Event(HEALED, "all is well again", _heals),
)
INCIDENTS = (
    Expected("registry", REGISTRY, 40, 10),
    Expected("dns", DNS, 12, 10),
    Expected("node", BAD, 4, 10),
    Expected("rack", "r03", 40, 60),
    Expected("rack", "r04", 40, 240),
)
ALONE = tuple(f"pods/run-{run:03}" for run in (*FULL, *TYPOS))
"""Runs with a reason of their own: each is one notification, and no page."""


@dataclass(frozen=True, slots=True)
class Said:
    """One alert of one notification. ``at`` is a second of the story."""

    at: float
    alert: str
    status: str
    severity: str
    about: str
    """Kind and subject of an incident, or the run."""


@dataclass(slots=True)
class Seen:
    """What was said: notifications, and the incidents of musterd at the last look before all was well again."""

    said: list[Said] = field(default_factory=list)
    incidents: dict[str, int] = field(default_factory=dict)
    """Their runs by kind and subject."""
    firing: list[str] = field(default_factory=list)
    """Alerts that fired at the end."""


def faults(seen: Seen) -> list[str]:
    """What was not right; empty if all was."""
    found = []
    wanted = {f"{each.kind} {each.subject}": each for each in INCIDENTS}
    if seen.incidents != {name: each.runs for name, each in wanted.items()}:
        found.append(f"the incidents and their runs were {seen.incidents}")
    for name, each in wanted.items():
        found += _once(seen, "MusterIncident", name, each.fault, each.within)
    for name in ALONE:
        found += _once(seen, "MusterUnschedulable", name, 10, HEALED - 10)
    right = {("MusterIncident", name) for name in wanted} | {("MusterUnschedulable", name) for name in ALONE}
    for said in seen.said:
        if said.alert == "MusterDaemonDown" and GAP.at < said.at < GAP.at + SILENT + 120:
            continue  # the gap is as long as its patience
        if (said.alert, said.about) not in right:
            found.append(f"{said.alert} {said.about} is no alert of these faults: {said.status} at {said.at:.0f} s")
        elif said.status == "resolved" and said.at < HEALED:
            found.append(f"{said.alert} {said.about} was resolved at {said.at:.0f} s, while nothing was well")
    found += [f"{name} fires at the end" for name in seen.firing]
    return found


def _once(seen: Seen, alert: str, about: str, fault: float, within: float) -> list[str]:
    fired = [each.at for each in seen.said if (each.alert, each.about, each.status) == (alert, about, "firing")]
    ended = [each.at for each in seen.said if (each.alert, each.about, each.status) == (alert, about, "resolved")]
    found = []
    if len(fired) != 1:
        found.append(f"{alert} {about}: {len(fired)} notifications that it fires, and not 1")
    elif fired[0] - fault > within:
        found.append(f"{alert} {about}: {fired[0] - fault:.0f} s after the fault, and not within {within:.0f} s")
    if not ended:
        found.append(f"{alert} {about} was never resolved")
    return found
