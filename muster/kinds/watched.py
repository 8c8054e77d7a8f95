"""The kinds that can be observed, outermost first: an object whose controller is one of an earlier row is part of it.

A pod that the watches of two kinds bring belongs to the first of them that is watched.
"""

from typing import Final

from muster.kinds.declaration.watched_kind import ObservedKind
from muster.kinds.jax.watched import JAXJOBS
from muster.kinds.job.watched import JOBS
from muster.kinds.jobset.watched import JOBSETS
from muster.kinds.pods.watched import LABELLED_PODS
from muster.kinds.ray.raycluster import RAYCLUSTERS
from muster.kinds.ray.rayjob import RAYJOBS
from muster.kinds.trainjob.watched import TRAINJOBS

OBSERVED: Final[dict[str, ObservedKind]] = {
    "trainjobs": TRAINJOBS,
    "rayjobs": RAYJOBS,
    "rayclusters": RAYCLUSTERS,
    "jobsets": JOBSETS,
    "jaxjobs": JAXJOBS,
    "jobs": JOBS,
    "pods": LABELLED_PODS,
}
"""By the name that ``--observe-kinds`` has for it: the kind's plural."""
