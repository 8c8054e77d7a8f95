"""The kinds that can be watched over, outermost first.

An object whose controller is one of an earlier row is a part of that. A pod that the watches of two kinds bring
belongs to the first of them that is watched and has a place for it.
"""

from typing import Final

from muster.api.declared import declared
from muster.kinds.declaration.watched_kind import WatchedKind

WATCHED_KINDS: Final[dict[str, WatchedKind]] = {
    each.name: each for each in sorted(declared("watched", WatchedKind), key=lambda each: (each.level, each.name))
}
"""By the name that ``--watch-kinds`` has for it: the kind's plural."""
