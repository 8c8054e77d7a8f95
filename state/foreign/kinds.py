"""The foreign kinds that Muster runs, one row each. Nothing else in the daemon asks which kind an object is of."""

from typing import Final

from muster.state.foreign import jaxjob_status
from muster.state.foreign.foreign_kind import ForeignKind
from muster.state.operators import jaxjob
from muster.state.subject import JAXJOB

SUBJECTS: Final[dict[str, ForeignKind]] = {
    JAXJOB.kind: ForeignKind(JAXJOB, jaxjob.ours, jaxjob.plan_of, jaxjob_status.status_of, ended=jaxjob_status.ENDED),
}
"""By kind."""
