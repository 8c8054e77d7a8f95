"""Masses: many runs that fail of one thing. Each kind states what they show, how fast, and how it is rightly named.

A kind plants runs of several namespaces beside all that happens to the fleet independently. ``since`` the trouble
begins until musterd can know it, the seconds are those of Kubernetes: 40 for a node that is silent and 15 of patience,
15 for an image, 60 for volumes and network, about 60 for a hang.
"""

from collections.abc import Callable, Iterable
from functools import partial
from random import Random
from typing import Final, NamedTuple

from muster.state.facts.incidents.signs import Sign
from tests.fleet_hours import messages as say
from tests.fleet_hours.fleet import NODES, RACK
from tests.fleet_hours.shown import FleetRun


class Victim(NamedTuple):
    """A run that a mass failure hits: where it is, and after how many seconds it shows what."""

    nodes: tuple[str, ...]
    after: float
    shows: Callable[[FleetRun, float], tuple[Sign, ...]]
    image: str = "registry.example/team/train:1"
    storage: str = ""


class Mass(NamedTuple):
    """A mass failure: those that it hits, and the kinds and subjects that name it rightly."""

    kind: str
    victims: tuple[Victim, ...]
    names: frozenset[tuple[str, str]]
    used_no_more: frozenset[tuple[str, str]] = frozenset()
    """What no healthy run uses while it lasts."""


Plant = Callable[[Random], Mass]


Shows = Callable[[FleetRun, float], tuple[Sign, ...]]


def hit(draw: Random, nodes: Iterable[str], least: float, most: float, shows: Shows, **more: str) -> tuple[Victim, ...]:
    """A run on each of these nodes, which shows that after so many seconds at the least and at the most."""
    return tuple(Victim((node,), draw.uniform(least, most), shows, **more) for node in nodes)


def spread(draw: Random, count: int) -> list[str]:
    """As many nodes of all racks."""
    return [f"n{n}" for n in draw.sample(range(NODES), count)]


def alone(draw: Random) -> str:
    """One node."""
    return f"n{draw.randrange(NODES)}"


def driver_update(draw: Random) -> Mass:
    """The driver was updated on thirty nodes, and the module is still the old one."""
    text = draw.choice((say.MISMATCH, say.NOT_LOADED))
    words = say.start_error(text)
    name = "nvidia, driver not loaded" if text is say.NOT_LOADED else "nvidia, driver/library version mismatch"
    victims = hit(draw, spread(draw, 30), 0, 40, lambda r, t: r.fails(t, words))
    return Mass("driver update", victims, frozenset({("device driver", name)}))


def driver_of_a_node(draw: Random) -> Mass:
    """The driver of one node fails, under five tenants."""
    node, words = alone(draw), say.start_error(draw.choice((say.MISMATCH, say.GPU_LOST, say.DRIVER_SILENT)))
    victims = hit(draw, [node] * 5, 0, 50, lambda r, t: r.fails(t, words))
    return Mass("driver of a node", victims, frozenset({("node", node)}))


def network_plugin(draw: Random) -> Mass:
    """The network plugin is down on thirty nodes."""
    plugin, why = draw.choice((("calico", say.UNAUTHORIZED), ("cilium-cni", say.CNI_DOWN), ("aws-cni", say.NO_ADDRESS)))
    words = say.SANDBOX.format(plugin=plugin, why=why)
    victims = hit(draw, spread(draw, 30), 60, 70, lambda r, t: r.no_sandbox(t, "FailedCreatePodSandBox", words))
    return Mass("network plugin", victims, frozenset({("network plugin", plugin)}))


def network_of_a_node(draw: Random) -> Mass:
    """The network plugin is down on one node, under four tenants."""
    node, words = alone(draw), say.SANDBOX.format(plugin="calico", why=say.UNAUTHORIZED)
    victims = hit(draw, [node] * 4, 60, 70, lambda r, t: r.no_sandbox(t, "FailedCreatePodSandBox", words))
    return Mass("network of a node", victims, frozenset({("node", node)}))


def csi_driver(draw: Random) -> Mass:
    """A CSI driver attaches no volumes."""
    driver = draw.choice(("ebs.csi.aws.com", "pd.csi.storage.gke.io", "cephfs.csi.ceph.com"))
    reason, text = draw.choice((("FailedAttachVolume", say.ATTACH), ("FailedMount", say.UNREGISTERED)))
    words = text.format(driver=driver)
    victims = hit(draw, spread(draw, 20), 60, 70, lambda r, t: r.no_sandbox(t, reason, words))
    return Mass("CSI driver", victims, frozenset({("volume driver", driver)}))


def file_server(draw: Random) -> Mass:
    """A server of files cannot be reached."""
    server = draw.choice(("fs01.example", "10.20.30.40"))
    words = say.NO_NFS.format(server=server)
    victims = hit(draw, spread(draw, 15), 60, 70, lambda r, t: r.no_sandbox(t, "FailedMount", words))
    return Mass("file server", victims, frozenset({("file server", server)}))


def storage_is_slow(draw: Random) -> Mass:
    """No volume of a StorageClass is mounted in time, and no message names a driver."""
    shows: Shows = lambda r, t: r.no_sandbox(t, "FailedMount", say.TOO_SLOW)  # noqa: E731
    victims = hit(draw, spread(draw, 15), 60, 70, shows, storage="premium")
    return Mass("slow storage", victims, frozenset({("storage class", "premium")}))


def full_disk(draw: Random) -> Mass:
    """The disk of a node is full: pods are evicted, containers cannot be made, images cannot be unpacked."""
    node = alone(draw)
    shows: tuple[Shows, ...] = (
        lambda r, t: r.evicted(t, say.LOW),
        lambda r, t: r.evicted(t, say.LOW_INODES),
        lambda r, t: r.waits(t, "CreateContainerError", say.NO_SPACE),
        lambda r, t: r.pulls(t, say.NO_SPACE_TO_PULL),
    )
    victims = [Victim((node,), draw.uniform(15, 40), draw.choice(shows)) for _ in range(5)]
    return Mass("full disk", tuple(victims), frozenset({("node", node)}))


def registry_refuses(draw: Random) -> Mass:
    """A registry refuses the credentials of all, for fifteen images."""
    host, text = "registry.internal", draw.choice((say.DENIED, say.EXPIRED, say.FORBIDDEN))
    images = [f"{host}/team/model-{n}:{draw.randrange(9)}" for n in range(15)]
    victims = [
        Victim(
            (alone(draw),),
            15 + draw.uniform(0, 40),
            lambda r, t: r.pulls(t, text.format(image=r.image, host=host)),
            image,
        )
        for image in images
    ]
    return Mass("registry refuses", tuple(victims), frozenset({("registry", host)}))


def registry_is_silent(draw: Random) -> Mass:
    """A registry does not answer."""
    host = "registry.internal"
    victims = [
        Victim(
            (n,),
            15 + draw.uniform(0, 30),
            lambda r, t: r.pulls(t, say.SILENT.format(image=r.image, host=host)),
            f"{host}/team/m-{n}:1",
        )
        for n in spread(draw, 12)
    ]
    return Mass("registry is silent", tuple(victims), frozenset({("registry", host)}))


def no_names(draw: Random) -> Mass:
    """The name server of the cluster does not know any host."""
    why = partial(say.NO_HOST.format, host="registry.internal")
    victims = hit(draw, spread(draw, 12), 15, 45, lambda r, t: r.pulls(t, why(image=r.image)))
    return Mass("DNS", victims, frozenset({("dns", "10.96.0.10")}))


def dead_node(draw: Random) -> Mass:
    """A node dies under six tenants."""
    node = alone(draw)
    victims = hit(draw, [node] * 6, 55, 60, lambda r, t: r.away(t, node))
    return Mass("dead node", victims, frozenset({("node", node)}))


def dead_rack(draw: Random) -> Mass:
    """A rack dies, with a run on each node of it."""
    rack = draw.randrange(NODES // RACK)
    nodes = [f"n{n}" for n in range(rack * RACK, (rack + 1) * RACK)]
    victims = hit(draw, nodes, 55, 65, lambda r, t: r.away(t, r.nodes[0]))
    return Mass("dead rack", victims, frozenset({("rack", f"r{rack}")}))


def sick_node(draw: Random) -> Mass:
    """A node is sick: five tenants, five symptoms."""
    node, other = alone(draw), alone(draw)
    shows: tuple[Shows, ...] = (
        lambda r, t: r.fails(t, say.start_error(say.GPU_LOST), node=node),
        lambda r, t: r.fails(t, say.exited(139), node=node, times=2),
        lambda r, t: r.hangs(t, r.nodes.index(node)),
        lambda r, t: r.waits(t, "CreateContainerError", "context deadline exceeded", 1),
        lambda r, t: r.no_sandbox(t, "FailedMount", say.TOO_SLOW),
    )
    nodes = ((node,), (node,), (other, node), (node,), (node,))
    victims = [Victim(at, draw.uniform(15, 60), show) for at, show in zip(nodes, shows, strict=True)]
    return Mass("sick node", tuple(victims), frozenset({("node", node)}))


def crashes_on_a_node(draw: Random) -> Mass:
    """Programs of five tenants crash again and again on one node."""
    node, words = alone(draw), say.exited(draw.choice((1, 134, 139)), "RuntimeError: CUDA error: misaligned address")
    victims = hit(draw, [node] * 5, 10, 60, lambda r, t: r.fails(t, words, times=3))
    return Mass("crashes on a node", victims, frozenset({("node", node)}))


def shared_storage(draw: Random) -> Mass:
    """Forty gangs hang over one file system."""
    name, head = draw.choice(("lustre", "weka")), alone(draw)  # their coordinators share a node
    victims = [
        Victim((head, *spread(draw, 4)), 60 + draw.uniform(0, 8), lambda r, t: r.hangs(t), storage=name)
        for _ in range(40)
    ]
    return Mass("shared storage", tuple(victims), frozenset({("storage class", name)}))


def webhook(draw: Random) -> Mass:
    """An admission webhook does not answer."""
    victims = [
        Victim((alone(draw),), draw.uniform(5, 40), lambda r, t: r.refused(t, "WebhookFailed", say.WEBHOOK))
        for _ in range(10)
    ]
    return Mass("webhook", tuple(victims), frozenset({("webhook", "pods.gatekeeper.example")}))


KINDS: Final[tuple[Plant, ...]] = (
    *(driver_update, driver_of_a_node, network_plugin, network_of_a_node, csi_driver, file_server, storage_is_slow),
    *(full_disk, registry_refuses, registry_is_silent, no_names, dead_node, dead_rack, sick_node, crashes_on_a_node),
    *(shared_storage, webhook),
)
