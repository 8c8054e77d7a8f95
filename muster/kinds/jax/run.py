"""JAXJobs, as Muster runs them."""

from typing import Final

from muster.kinds.declaration.run_kind import RunKind
from muster.kinds.jax import plan, status
from muster.state.vocabulary.subject import JAXJOB

DECLARED: Final = (RunKind(JAXJOB, plan.ours, plan.plan_of, status.status_of, plan.with_sizes, ended=status.ENDED),)
