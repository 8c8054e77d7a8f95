"""PyTorchJobs of Kubeflow as Experiments."""

from functools import partial
from typing import Final

from muster.kinds.convert.draft import Converter
from muster.kinds.kubeflow.convert import Framework, job_of

PYTORCHJOB: Final = Framework("pytorch", "pytorchReplicaSpecs", "pytorch", "OnFailure", (("PYTHONUNBUFFERED", "1"),))
DECLARED: Final = (Converter("PyTorchJob", "kubeflow.org/v1", partial(job_of, PYTORCHJOB)),)
