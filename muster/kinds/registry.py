"""The kinds that are declared: those that Muster runs beside Experiments, and those that it watches over.

Nothing else in the daemon asks which kind an object is of. Watched kinds are listed outermost first: an object whose
controller is one of an earlier row is a part of that. A pod that the watches of two kinds bring belongs to the first of
them that is watched and has a place for it.
"""

from collections.abc import Mapping, Set
from typing import Any, Final

from muster.api.declared import declared
from muster.kinds.declaration import RunKind, WatchedKind

RUN_KINDS: Final[dict[str, RunKind]] = {each.subject.kind: each for each in declared("run", RunKind)}
"""By kind."""


def runs(plurals: Set[str], kind: str, obj: Mapping[str, Any]) -> bool:
    """Return True if Muster runs that object: its kind is among those of ``plurals``, and the object names Muster."""
    own = RUN_KINDS.get(kind)
    return own is not None and own.subject.plural in plurals and own.ours(obj)


WATCHED_KINDS: Final[dict[str, WatchedKind]] = {
    each.name: each for each in sorted(declared("watched", WatchedKind), key=lambda each: (each.level, each.name))
}
"""By the name that ``--watch-kinds`` has for it: the kind's plural."""
