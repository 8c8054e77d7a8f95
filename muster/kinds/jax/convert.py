"""JAXJobs of Kubeflow as Experiments."""

from functools import partial
from typing import Final

from muster.kinds.convert.draft import Converter
from muster.kinds.kubeflow.convert import Framework, job_of

JAXJOB: Final = Framework(
    "jax",
    "jaxReplicaSpecs",
    "jax",
    "Never",
    (
        ("PYTHONUNBUFFERED", "1"),
        ("COORDINATOR_ADDRESS", "$(JAXOPERATOR_COORDINATOR_HOST)"),
        ("COORDINATOR_PORT", "1234"),
        ("NUM_PROCESSES", "$(JAXOPERATOR_NUM_PROCESSES)"),
        ("PROCESS_ID", "$(JAXOPERATOR_PROCESS_ID)"),
    ),
    master=False,
)
DECLARED: Final = (Converter("JAXJob", "kubeflow.org/v1", partial(job_of, JAXJOB)),)
