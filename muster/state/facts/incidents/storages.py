"""The proof that gangs which hang together hang over a storage that they share.

That they share one proves little: most runs of a fleet may use it. So other runs are compared. A storage is the subject
only if few runs that use it are well, a run without it is well, and most gangs that hang use such a storage.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Final

from muster.state.facts.hang import HANGS
from muster.state.facts.incidents.belief import WEAK
from muster.state.facts.incidents.readings import classes_of, servers_of
from muster.state.facts.incidents.subjects import FILE_SERVER, STORAGE_CLASS
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Record

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

    ``well`` has how many runs that are well use each. ``others``: a run that is well uses none that is suspected.
    """
    counts = suspected(hung)
    blamed = {use for use, gangs in counts.items() if others and well[use] <= gangs // FEW}
    strays = sum(blamed.isdisjoint(uses) for uses in hung)
    return {use for use in blamed if strays <= counts[use]}
