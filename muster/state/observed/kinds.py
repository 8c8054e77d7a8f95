"""The kinds that can be observed, outermost first: an object whose controller is one of an earlier row is part of it.

A pod that the watches of two kinds bring belongs to the first of them that is watched.
"""

from typing import Final

from muster.state.observed.observed_kind import ObservedKind
from muster.state.operators.observed.jaxjob import JAXJOBS
from muster.state.operators.observed.job import JOBS
from muster.state.operators.observed.jobset import JOBSETS
from muster.state.operators.observed.pods import LABELLED_PODS
from muster.state.operators.observed.raycluster import RAYCLUSTERS
from muster.state.operators.observed.rayjob import RAYJOBS
from muster.state.operators.observed.trainjob import TRAINJOBS

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
