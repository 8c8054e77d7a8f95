"""JobSets, as Muster runs them."""

from typing import Final

from muster.kinds.declaration.run_kind import RunKind
from muster.kinds.jobset import plan, status
from muster.kinds.jobset.checks import parse_jobset
from muster.kinds.jobset.traps import traps_of
from muster.state.vocabulary.subject import JOBSET

DECLARED: Final = (
    RunKind(
        JOBSET,
        ("spec", "managedBy"),
        parse_jobset,
        plan.plan_of,
        status.status_of,
        plan.with_sizes,
        install="install the CRD of JobSet v0.10 or later (its controller need not run)",
        by_phase=True,
        traps=traps_of,
        ended=status.ENDED,
        refused=status.refused,
    ),
)
