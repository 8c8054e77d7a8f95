"""JAXJobs, as Muster runs them."""

from typing import Final

from muster.kinds.declaration.run_kind import RunKind
from muster.kinds.jax import plan, status
from muster.kinds.jax.jaxjob import parse_jaxjob
from muster.state.vocabulary.subject import JAXJOB

DECLARED: Final = (
    RunKind(
        JAXJOB,
        ("spec", "runPolicy", "managedBy"),
        parse_jaxjob,
        plan.plan_of,
        status.status_of,
        plan.with_sizes,
        install="install the CRD of Kubeflow's training operator v1.9",
        unmanaged=True,  # Kubeflow ignores managedBy, so one without it may be either's
        ended=status.ENDED,
    ),
)
