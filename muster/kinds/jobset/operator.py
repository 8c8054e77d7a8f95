"""Operator ``jobset``: groups of jobs of pods, without a coordinator.

Variables are AIchor's (its operators page); ``JOB_COMPLETION_INDEX`` is what Kubernetes gives the pods of an Indexed
Job.
"""

from muster.api.manifest.groups import Group
from muster.kinds.declaration import Operator
from muster.state.vocabulary.pod import Env, Source


def _env(group: Group, groups: tuple[Group, ...]) -> tuple[Env, ...]:
    return (
        Env("JOB_COMPLETION_INDEX", Source.POD_INDEX),
        Env("JOB_INDEX", Source.JOB_INDEX),
        Env("GLOBAL_REPLICAS", Source.LITERAL, str(sum(each.count for each in groups))),
        Env("JOB_GLOBAL_INDEX", Source.JOB_GLOBAL_INDEX),
        Env("REPLICATED_JOB_NAME", Source.LITERAL, group.name),
        Env("REPLICATED_JOB_REPLICAS", Source.LITERAL, str(group.count)),
    )


JOBSET = Operator("jobset", _env, lambda _groups: None)
DECLARED = (JOBSET,)
