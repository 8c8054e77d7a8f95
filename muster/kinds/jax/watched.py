"""JAXJobs that Kubeflow's training operator runs (kubeflow.org/v1, v1.9.4: pkg/controller.v1/jax)."""

from typing import Final

from muster.kinds.jax.jaxjob import PORT
from muster.kinds.kubeflow.watched import training_kind
from muster.kinds.planning.watched_plan import Framework
from muster.state.vocabulary.group import ProbeKind
from muster.state.vocabulary.subject import JAXJOB

DECLARED: Final = (
    training_kind(
        JAXJOB,
        "jaxReplicaSpecs",
        ("worker",),
        Framework("jax", ProbeKind.JAX, PORT),
        about="all JAXJobs that Muster does not run",
        members="by replica index",
    ),
)
