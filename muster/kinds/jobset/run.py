"""JobSets, as Muster runs them."""

from typing import Final

from muster.kinds.declaration.run_kind import RunKind
from muster.kinds.jobset import plan, status
from muster.state.vocabulary.subject import JOBSET

DECLARED: Final = (
    RunKind(
        JOBSET,
        plan.ours,
        plan.plan_of,
        status.status_of,
        plan.with_sizes,
        ended=status.ENDED,
        refused=status.refused,
    ),
)
