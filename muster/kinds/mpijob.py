"""MPIJobs that Kubeflow's MPI operator runs (kubeflow.org/v2beta1: pkg/controller/mpi_job_controller.go).

Workers are pods of the MPIJob, named ``<job>-worker-<index>``. They serve the launcher, most often by ``sshd``, and end
when the operator removes them. The launcher is the pod of a Job, ``<job>-launcher``, which may be tried again; the
MPIJob ends with it. Members are counted in the order of the host file, and the launcher comes last. No process can
be asked who has arrived: ``mpirun`` starts the ranks of MPI, one for each slot of a worker.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec

from muster.api.values.printable import small_number, word
from muster.kinds.declaration import Place, PlanError, PodFacts, PodSource, WatchedKind
from muster.kinds.kubeflow.watched import INDEX, LABEL, PREFIX, SUSPEND, groups_of, job_plan, replicas_of, state_in
from muster.kinds.planning.watched_plan import Framework, read
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.rules import Gate, GateCondition
from muster.state.vocabulary.subject import Subject

MPIJOB: Final = Subject("kubeflow.org/v2beta1", "MPIJob", "mpijobs")
FIELD: Final = "mpiReplicaSpecs"
LAUNCHER: Final = "launcher"
WORKER: Final = "worker"
ROLE: Final = f"{PREFIX}job-role"
OPERATOR: Final = f"{PREFIX}operator-name"
NAME: Final = "mpi-operator"
_NUMBER: Final = re.compile(r"-worker-(0|[1-9][0-9]{0,5})\Z")


class _MPIJob(msgspec.Struct, frozen=True):
    launcherCreationPolicy: str | None = None  # noqa: N815 - the wire's name


def place_of(pod: PodFacts) -> Place | None:
    """Return the place of a worker, or of the launcher.

    The number in a worker's name is its index: the label begins at 1 where the launcher is a worker, too.
    """
    name = pod.labels.get(LABEL)
    if not name or pod.labels.get(OPERATOR) != NAME:
        return None
    owner, role = f"mpijob/{word(name)}", pod.labels.get(ROLE)
    if role == LAUNCHER and pod.kind == "Job":
        return Place(owner, LAUNCHER, 0, -1)
    if role != WORKER or pod.kind != MPIJOB.kind:
        return None
    number = _NUMBER.search(pod.name)
    index = int(number[1]) if number else small_number(pod.labels.get(INDEX))
    return Place(owner, WORKER, 0, index, uid=word(pod.owner_uid))


def plan_of(obj: Mapping[str, Any]) -> Plan:
    """Return the plan of an MPIJob. Raises ``PlanError``."""
    replicas = replicas_of(obj, FIELD, (WORKER, LAUNCHER))
    if LAUNCHER not in replicas:
        raise PlanError(f"spec.{FIELD}: no Launcher")
    waits = read(obj, _MPIJob).launcherCreationPolicy == "WaitForWorkersReady"
    gates = (Gate(GateCondition.READY, WORKER),) if waits and WORKER in replicas else ()
    groups = groups_of(FIELD, replicas, {WORKER: 0})
    gated = (replace(each, gates=gates if each.name == LAUNCHER else ()) for each in groups)
    return job_plan(obj, MPIJOB, gated, Framework())


DECLARED: Final = (
    WatchedKind(
        MPIJOB,
        (PodSource("mpijobs", LABEL, place_of),),
        plan_of,
        state_in(MPIJOB),
        about="all MPIJobs of version v2beta1",
        members="the workers by the number in their names, then the launcher",
        makes=("podgroup/{name}", "job/{name}-launcher"),
        suspend=SUSPEND,
    ),
)
