"""The kinds that can be observed, outermost first: an object whose controller is one of an earlier row is part of it.

A pod that the watches of two kinds bring belongs to the first of them that is watched.
"""

from typing import Final

from muster.state.observed.observed_kind import ObservedKind
from muster.state.operators.observed.pods import LABELLED_PODS
from muster.state.operators.observed.raycluster import RAYCLUSTERS
from muster.state.operators.observed.rayjob import RAYJOBS

OBSERVED: Final[dict[str, ObservedKind]] = {
    "rayjobs": RAYJOBS,
    "rayclusters": RAYCLUSTERS,
    "pods": LABELLED_PODS,
}
"""By the name that ``--observe-kinds`` has for it: the kind's plural."""
