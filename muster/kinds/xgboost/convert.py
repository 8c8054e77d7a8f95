"""XGBoostJobs of Kubeflow as Experiments."""

from functools import partial
from typing import Final

from muster.kinds.convert.draft import Converter
from muster.kinds.kubeflow.convert import Framework, job_of

XGBOOSTJOB: Final = Framework("xgboost", "xgbReplicaSpecs", "xgboost", "Never", (("PYTHONUNBUFFERED", "1"),))
DECLARED: Final = (Converter("XGBoostJob", "kubeflow.org/v1", partial(job_of, XGBOOSTJOB)),)
