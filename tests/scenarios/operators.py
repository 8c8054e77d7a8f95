"""The operators of the simulated world: how a gang of each is declared, how its members meet, and how they end.

Objects of other kinds count as operators of their own: a plan names one as it names ``pytorch``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from muster.api.names import JAX_PORT, PYTORCH_PORT, RAY_PORT, XGBOOST_PORT
from muster.kinds.jax.jaxjob import PORT as JAXJOB_PORT
from muster.state.vocabulary.subject import EXPERIMENT, JAXJOB, JOBSET, Subject
from tests.scenarios.objects import jaxjob_spec, jobset_spec

RESOURCES = {"cpus": 1, "ramRatio": 2}
SIGABRT = 134


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator."""

    name: str
    operator: str
    types: Callable[[int], dict[str, Any]]
    """``spec.types`` of a gang of that size; of an object of another kind, its whole spec."""
    host_variable: str = ""
    """The variable that holds the coordinator's host; empty: members do not meet."""
    port: int = JAX_PORT
    """Where the coordinator serves."""
    probed: bool = False
    """Muster asks the coordinator who has arrived; elsewhere the readiness of pods must do."""
    counted: bool = False
    """The coordinator counts who has arrived and names no rank (a TCPStore while NCCL has not connected)."""
    survivor_exit: int = SIGABRT
    """The exit code of a member whose peer is lost."""
    survivors_known: bool = True
    """The operator states that exit code as a survivor's. Elsewhere nothing but its time sets a survivor apart from a
    member that failed by itself."""
    sequential: bool = False
    """One member runs at a time."""
    cluster: bool = False
    """A head (rank 0) and workers serve for as long as they are let, and the last rank, a submitter, ends with its job.
    The members find each other one by one, a lost one is run again, and without the head none can go on."""
    subject: Subject = EXPERIMENT
    """The kind of the object that is submitted."""

    @property
    def meets(self) -> bool:
        """The members of a gang meet at rank 0, and cannot go on without each other."""
        return bool(self.host_variable)

    @property
    def of_run_kind(self) -> bool:
        """The object is of another kind than Experiment."""
        return self.subject is not EXPERIMENT

    @property
    def jobs(self) -> bool:
        """The rules are those of JobSets and Jobs: a pod may run again alone, and a restart waits for nothing."""
        return self.subject is JOBSET


def _workers(size: int) -> dict[str, Any]:
    return {"worker": {"count": size, "resources": RESOURCES}}


def _jobs(size: int) -> dict[str, Any]:
    """One job per member: all of them run together."""
    return {"worker": {"count": size, "completions": 1, "resources": RESOURCES}}


def _completions(size: int) -> dict[str, Any]:
    """One job with JobSet's default parallelism of 1: its members run one after another."""
    return {"worker": {"count": 1, "completions": size, "resources": RESOURCES}}


def _ray(size: int) -> dict[str, Any]:
    """A head, one group of workers, and the submitter, which is not stated."""
    return {"Head": {"resources": RESOURCES}, "Workers": [{"name": "w", "count": size - 2, "resources": RESOURCES}]}


JAX = Operator("jax", "jax", _workers, "JAXOPERATOR_COORDINATOR_HOST", probed=True)
OPERATORS = {
    each.name: each
    for each in (
        JAX,
        Operator("pytorch", "pytorch", _workers, "MASTER_ADDR", PYTORCH_PORT, probed=True, counted=True),
        Operator("xgboost", "xgboost", _workers, "MASTER_ADDR", XGBOOST_PORT, survivor_exit=255, survivors_known=False),
        Operator("jobset", "jobset", _jobs),
        Operator("jobset-sequential", "jobset", _completions, sequential=True),
        Operator("kuberay", "kuberay", _ray, "FQ_RAY_IP", RAY_PORT, probed=True, cluster=True),
        Operator("jobset-object", "", jobset_spec, subject=JOBSET),
        Operator("jaxjob-object", "", jaxjob_spec, "COORDINATOR_ADDRESS", JAXJOB_PORT, probed=True, subject=JAXJOB),
    )
}
CLUSTERS = tuple(each.name for each in OPERATORS.values() if each.cluster)
JOBSETS = tuple(each.name for each in OPERATORS.values() if each.subject is JOBSET)
JAXJOBS = tuple(each.name for each in OPERATORS.values() if each.subject is JAXJOB)
GANGS = {name: each for name, each in OPERATORS.items() if not (each.cluster or each.of_run_kind)}
"""The operators of Experiments whose members begin, work and end together."""
MEETING = tuple(each.name for each in GANGS.values() if each.meets)
TOGETHER = tuple(each.name for each in GANGS.values() if not each.sequential)
PROBED = tuple(each.name for each in GANGS.values() if each.probed)
COUNTED = tuple(each.name for each in GANGS.values() if each.counted)
NAMED = tuple(each.name for each in GANGS.values() if each.probed and not each.counted)
