"""The rules of a batch/v1 Job as data: when it has failed, when it has succeeded, what a failed pod means.

A group of a plan that stands for Jobs (those of a JobSet) has ``JobRules``. The gang's own rules then judge failed
*jobs*, and a failed pod goes through the rules of its job first, as it does where the Job controller runs
(kubernetes: pkg/controller/job).
"""

from dataclasses import dataclass
from enum import StrEnum


class PodAction(StrEnum):
    """What the failure of a pod means to its job (batch/v1 PodFailurePolicyAction)."""

    FAIL_JOB = "FailJob"
    FAIL_INDEX = "FailIndex"
    """The index has failed; the other indexes go on."""
    IGNORE = "Ignore"
    """The pod is replaced, and not counted."""
    COUNT = "Count"
    """The pod is replaced, and counted against ``backoff_limit``."""


@dataclass(frozen=True, slots=True)
class PodRule:
    """One rule of a podFailurePolicy: by exit codes, or by the condition DisruptionTarget."""

    action: PodAction
    container: str = ""
    """Only exits of that container; empty: of any."""
    exit_codes: tuple[int, ...] = ()
    excluded: bool = False
    """The exit code is none of ``exit_codes`` (operator NotIn)."""
    disruption: bool = False
    """Match disrupted pods, whatever they ended with."""


@dataclass(frozen=True, slots=True)
class JobSuccess:
    """One rule of a Job's successPolicy: ``count`` of ``indexes`` have succeeded."""

    indexes: tuple[int, ...] = ()
    """Empty: every index."""
    count: int | None = None
    """None: all of them."""


@dataclass(frozen=True, slots=True)
class JobRules:
    """The rules of the jobs of one group."""

    backoff_limit: int = 6
    """Failed pods that a job survives."""
    per_index: int | None = None
    """Failed pods that one index survives; None: only ``backoff_limit`` counts."""
    max_failed: int | None = None
    """Failed indexes that a job survives while it runs. A job with any of them fails at its end."""
    pods: tuple[PodRule, ...] = ()
    success: tuple[JobSuccess, ...] = ()
    """The job has succeeded when one of them holds; empty: when every member has."""
    deadline: float | None = None
    """Seconds that a job may take."""
    in_place: bool = False
    """The kubelet restarts containers in their pod (restartPolicy OnFailure); restarts count like failed pods."""
    queue: bool = False
    """The pods work off a queue: the first success means that the others end too, and none is replaced."""
    indexed: bool = True
    """Members have an index each, and host names."""
    backoff: float = 10.0
    """Seconds before the first failed pod is replaced; doubled with each failure."""
    longest_backoff: float = 600.0

    @property
    def early(self) -> bool:
        """A job may succeed before all of its members have."""
        return bool(self.success) or self.queue
