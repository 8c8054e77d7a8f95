"""The foreign kinds that Muster runs, one row each. Nothing else in the daemon asks which kind an object is of."""

from collections.abc import Mapping, Set
from typing import Any, Final

from muster.kinds.declaration.run_kind import ForeignKind
from muster.kinds.jax import run as jaxjob
from muster.kinds.jax import status as jaxjob_status
from muster.kinds.jobset import run as jobset
from muster.kinds.jobset import status as jobset_status
from muster.state.vocabulary.subject import JAXJOB, JOBSET

SUBJECTS: Final[dict[str, ForeignKind]] = {
    JOBSET.kind: ForeignKind(
        JOBSET,
        jobset.ours,
        jobset.plan_of,
        jobset_status.status_of,
        jobset.with_sizes,
        ended=jobset_status.ENDED,
        refused=jobset_status.refused,
    ),
    JAXJOB.kind: ForeignKind(
        JAXJOB, jaxjob.ours, jaxjob.plan_of, jaxjob_status.status_of, jaxjob.with_sizes, ended=jaxjob_status.ENDED
    ),
}
"""By kind."""


def runs(foreign: Set[str], kind: str, obj: Mapping[str, Any]) -> bool:
    """Muster runs that object: its kind is among those of ``foreign``, by their plurals, and it says so."""
    own = SUBJECTS.get(kind)
    return own is not None and own.subject.plural in foreign and own.ours(obj)
