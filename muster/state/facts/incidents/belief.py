"""The rules for when runs that share a subject are enough to name it.

Most subjects are named from reports of the API server, the scheduler or the registry. Three kinds of evidence need
more:

- **A tenant can cause it, or write it.** A tenant decides what its own pods answer, and often where they run. So a node
  is a subject only if runs of two namespaces show it, or if Kubernetes reports it of the node (``OF_NODE``).
- **Three nodes may have the same trouble by chance.** A driver, a network plugin or a storage that fails shows on many
  nodes within minutes, and in two namespaces.
- **The program may be the reason as well** (``Sign.weak``): a crash, a hang. Such signs are one subject's if several
  namespaces have them together: four runs on one node, five gangs that hang over one storage, five images that a
  registry refuses. They prove nothing of a node on which as many runs are well (``faulty_nodes``): on the only node of
  a cluster every failure is on that node. Gangs that hang over one storage are compared with the other runs, too
  (``proven``).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from muster.state.facts.causes.table import Causes
from muster.state.facts.hang import HANGS
from muster.state.facts.incidents.readings import classes_of, servers_of
from muster.state.facts.incidents.signs import Run, Sign, bursts
from muster.state.facts.incidents.subjects import FILE_SERVER, LABELS, NODE, NODES, STORAGE_CLASS
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Record

OF_NODE: Final = frozenset(map(str, (Causes.NODE_NOT_READY, Causes.NODE_LOST, Causes.UNKNOWN, Causes.NODE_PRESSURE)))
"""Causes that the node's own condition, its kubelet, or the control plane reports."""
OF_NODES: Final = frozenset({NODE, NODES, *LABELS})
"""Kinds that are one node or several."""


class Asked(NamedTuple):
    """The least number of runs, and of their namespaces, whose signs follow each other within so many seconds."""

    runs: int
    namespaces: int
    within: float
    images: int = 0
    nodes: int = 0


MASS: Final = Asked(4, 2, 120.0, nodes=3)
WEAK: Final[Mapping[str, Asked]] = {
    NODE: Asked(4, 3, 900.0),
    "storage class": Asked(5, 2, 120.0),
    "file server": Asked(5, 2, 120.0),
    "registry": Asked(5, 3, 120.0, images=5),
}
"""The least numbers for signs whose reason may be the programs."""
REFUSED: Final = Asked(3, 3, 600.0, images=3)
"""The least numbers for a registry that refuses the credentials sent to it."""
SILENT: Final = 3
"""Runs that a registry does not answer, if it refuses others."""
FIRM: Final = 3
"""Runs with signs that are not weak, beside which weak ones of a node count too."""
TENANTS: Final = 2
"""Namespaces whose runs show a node's fault, if Kubernetes does not report it."""
_MASSES: Final = frozenset({"device driver", "network plugin", "volume driver", "file server"})
_BY_EVENT: Final = frozenset({Causes.VOLUME_FAILS.value})


def believed(key: tuple[str, str], runs: Mapping[Run, list[Sign]]) -> bool:
    """Return True if the runs are enough to name that kind of subject."""
    kind = key[0]
    signs = [sign for some in runs.values() for sign in some]
    if kind == "registry":
        return _of_registry(signs)
    firm = [sign for sign in signs if not sign.weak]
    if kind not in OF_NODES:
        mass = kind in _MASSES or all(sign.cause in _BY_EVENT for sign in firm)
        if firm and (not mass or _together(firm, MASS)):
            return True
        return len(firm) < len(signs) and _together(signs, WEAK[kind])
    sure = any(sign.cause in OF_NODE for sign in firm) or len({sign.run.namespace for sign in firm}) >= TENANTS
    if sure and (len(firm) == len(signs) or len({sign.run for sign in firm}) >= FIRM):
        return True
    return len(firm) < len(signs) and _together(signs, WEAK[NODE])


def faulty_nodes(signs: Iterable[Sign]) -> Counter[str]:
    """Return the nodes that runs enough show by weak signs alone, with the number of these runs."""
    runs = {(sign.subject, sign.run) for sign in signs if sign.kind == NODE and sign.weak}
    counts = Counter(node for node, _ in runs)
    return Counter({node: count for node, count in counts.items() if count >= WEAK[NODE].runs})


def _of_registry(signs: list[Sign]) -> bool:
    """Return True if the registry does not answer, or refuses the requests of many runs."""
    refused = [sign for sign in signs if sign.image]
    silent = {sign.run for sign in signs if not sign.image}
    if not refused or len(silent) >= SILENT:
        return True
    sent = [sign for sign in refused if not sign.weak]
    return _together(sent, REFUSED) or _together(refused, WEAK["registry"])


def _together(signs: Iterable[Sign], asked: Asked) -> bool:
    """Return True if enough of the signs follow each other closely enough."""
    return any(_are_enough(some, asked) for some in bursts(signs, asked.within))


def _are_enough(signs: list[Sign], asked: Asked) -> bool:
    runs = {sign.run for sign in signs}
    return (
        len(runs) >= asked.runs
        and len({run.namespace for run in runs}) >= asked.namespaces
        and len({sign.image for sign in signs}) >= asked.images
        and len({sign.where for sign in signs}) >= asked.nodes
    )


STORAGES: Final = frozenset({STORAGE_CLASS, FILE_SERVER})
FEW: Final = 10
"""One run that is well for so many that hang does not acquit a storage: it may be about to hang, or read nothing."""

Use = tuple[str, str]
"""Kind and name of a storage."""


def storages_of(plan: Plan) -> frozenset[Use]:
    """Return the storages that a run uses."""
    classes = ((STORAGE_CLASS, name) for name in classes_of(plan))
    return frozenset((*classes, *((FILE_SERVER, name) for name in servers_of(plan))))


def hangs(record: Record) -> bool:
    """Return True if the run is Stuck because its programs hang."""
    return not record.finished and record.stuck_reason in HANGS


def suspected(hung: Iterable[Collection[Use]]) -> Counter[Use]:
    """Return the storages that so many hung gangs use that one may be the cause. ``hung`` has those of each gang."""
    counts = Counter(use for uses in hung for use in uses)
    return Counter({use: gangs for use, gangs in counts.items() if gangs >= WEAK[use[0]].runs})


def proven(hung: Collection[Collection[Use]], well: Counter[Use], *, others: bool) -> set[Use]:
    """Return the storages over which gangs hang.

    That the gangs share one proves little: most runs of a fleet may use it. So other runs are compared. A storage is
    the subject only if few runs that use it are well, most gangs that hang use such a storage, and a run is well
    without one: that is ``others``, a run that is well and uses none that is suspected. ``well`` has how many runs that
    are well use each.
    """
    counts = suspected(hung)
    blamed = {use for use, gangs in counts.items() if others and well[use] <= gangs // FEW}
    strays = sum(blamed.isdisjoint(uses) for uses in hung)
    return {use for use in blamed if strays <= counts[use]}
