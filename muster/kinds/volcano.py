"""Jobs of Volcano (batch.volcano.sh/v1alpha1, v1.12), which people call vcjobs: ``vcjob/NAME`` here, too.

A Job has tasks, each with a number of pods, ``<job>-<task>-<index>``, which bear the names of job and task, and their
index within the task. A task is a group of the plan. A pod that ends is replaced by one of the same name, if a policy
of the Job or task requires it.

While the queue has no room, the scheduler keeps the PodGroup pending, and the controller makes no pod: the Job is
Pending and counts none. A Command aborts and resumes a Job; no field of its spec does. The plugin ``pytorch`` lets the
tasks ``master`` and ``worker`` meet at the one pod of the master. Facts: volcano pkg/controllers/job (and its state,
plugins/distributed-framework) and apis pkg/apis/batch/v1alpha1.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from muster.api.names import PYTORCH_PORT
from muster.api.values.durations import count_of
from muster.api.values.printable import clean, small_number, word
from muster.api.values.timestamps import seconds_of
from muster.kinds.declaration import Place, PlanError, PodFacts, PodSource, WatchedKind, part_of
from muster.kinds.planning.watched_plan import (
    MAX_MESSAGE,
    MAX_PORT,
    MOST,
    Framework,
    framework_of,
    number_of,
    read,
    started_of,
    watched_plan,
)
from muster.kinds.pods import VOLCANO
from muster.state.view.own import OwnState, OwnVerdict
from muster.state.vocabulary.group import Group, ProbeKind
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import PodSpec
from muster.state.vocabulary.rules import Gate, GateCondition
from muster.state.vocabulary.subject import Names, Subject

VCJOB: Final = Subject("batch.volcano.sh/v1alpha1", "Job", "jobs", called="VCJob")
LABEL: Final = f"{VOLCANO}job-name"
TASK: Final = f"{VOLCANO}task-spec"
INDEX: Final = f"{VOLCANO}task-index"
PLUGIN: Final = "pytorch"
MOST_TASKS: Final = 1000
_NUMBER: Final = re.compile(r"-(0|[1-9][0-9]{0,5})\Z")
COUNTS: Final = ("pending", "running", "succeeded", "failed", "terminating", "unknown")
"""Counters of pods in the status."""
VERDICTS: Final[Mapping[str, OwnVerdict]] = {
    "Completing": OwnVerdict.SUCCEEDED,
    "Completed": OwnVerdict.SUCCEEDED,
    "Terminating": OwnVerdict.FAILED,
    "Terminated": OwnVerdict.FAILED,
    "Failed": OwnVerdict.FAILED,
    "Aborting": OwnVerdict.SUSPENDED,
    "Aborted": OwnVerdict.SUSPENDED,
}
"""By ``status.state.phase``. Those in -ing end in the other of their pair, when its pods are gone."""


class _DependsOn(msgspec.Struct, frozen=True):
    name: list[str] = []
    iteration: str = ""


class _Task(msgspec.Struct, frozen=True):
    name: str = ""
    replicas: int | None = None
    dependsOn: _DependsOn | None = None  # noqa: N815 - the wire's name


class _Shape(msgspec.Struct, frozen=True):
    """The part of the spec that defines which pods are expected, and where they meet."""

    tasks: list[_Task] | None = None
    plugins: dict[str, list[str] | None] | None = None


def place_of(pod: PodFacts) -> Place | None:
    """Return the place of a pod of a Volcano Job. Older releases have the index in its name alone."""
    name, task = pod.labels.get(LABEL), pod.labels.get(TASK)
    if not name or not task or pod.kind != VCJOB.kind:
        return None
    number = _NUMBER.search(pod.name)
    index = small_number(pod.labels.get(INDEX) or (number[1] if number else ""))
    return Place(f"vcjob/{word(name)}", word(task), 0, index, uid=word(pod.owner_uid))


def plan_of(obj: Mapping[str, Any]) -> Plan:
    """Return the plan of a Volcano Job. Raises ``PlanError``."""
    spec = read(obj, _Shape)
    tasks = spec.tasks or []
    if len(tasks) > MOST_TASKS:
        raise PlanError(f"spec.tasks: {len(tasks)} tasks, and at most {MOST_TASKS} are watched over")
    master = _master(spec, tasks)
    known = Framework(PLUGIN, ProbeKind.TORCH, master[1]) if master is not None else Framework()
    ordered = sorted(tasks, key=lambda each: master is None or each.name != master[0])
    return watched_plan(
        obj, VCJOB, _groups(ordered), framework=framework_of(obj, known), names=Names.KUBEFLOW, suspend=False
    )


def _groups(tasks: list[_Task]) -> Iterator[Group]:
    names = {each.name for each in tasks}
    if len(names) < len(tasks):
        raise PlanError("spec.tasks: two have one name")
    for each in tasks:
        size = 0 if each.replicas is None else max(0, each.replicas)
        if size > MOST:
            raise PlanError(f"spec.tasks: more than {MOST} pods of the task {word(each.name)!r}")
        yield Group(word(each.name), 1, size, PodSpec(), 0, gates=_gates(each, names))


def _gates(task: _Task, names: set[str]) -> tuple[Gate, ...]:
    """Return the gates of a task: the tasks that it depends on. With ``any`` of several no single one is awaited."""
    awaited = task.dependsOn.name if task.dependsOn else []
    if task.dependsOn and task.dependsOn.iteration == "any" and len(awaited) > 1:
        return ()
    return tuple(Gate(GateCondition.READY, word(name)) for name in dict.fromkeys(awaited[:MOST_TASKS]) if name in names)


def _master(spec: _Shape, tasks: list[_Task]) -> tuple[str, int] | None:
    """Return the task at whose pod the others meet, and the port; None where no plugin states one."""
    plugins = spec.plugins or {}
    if PLUGIN not in plugins:
        return None
    pairs = (each.removeprefix("--").partition("=") for each in (plugins[PLUGIN] or [])[:MOST_TASKS])
    stated = {name: value for name, _, value in pairs}
    master, worker = stated.get("master") or "master", stated.get("worker") or "worker"
    port = small_number(stated.get("port")) if "port" in stated else PYTORCH_PORT
    found = {each.name: each.replicas for each in tasks}
    whole = found.get(master) == 1 and found.keys() <= {master, worker}
    return (master, port) if whole and 0 < port <= MAX_PORT else None


def own_state(obj: Mapping[str, Any]) -> OwnState:
    """Return the state that the status of a Volcano Job shows."""
    state, now = OwnState(started_at=started_of(obj)), part_of(obj, "status", "state")
    phase = now.get("phase")
    if not isinstance(phase, str):
        return state
    if phase == "Pending" and not any(number_of(obj, name) for name in COUNTS):
        return msgspec.structs.replace(state, verdict=OwnVerdict.SUSPENDED, reason="Queued", queued=_queued(obj))
    verdict = VERDICTS.get(phase, OwnVerdict.NOTHING)
    if verdict is OwnVerdict.NOTHING:
        return msgspec.structs.replace(state, word=word(phase))
    at = seconds_of(str(now.get("lastTransitionTime") or "")) or None
    why, retries = clean(str(now.get("message") or ""), MAX_MESSAGE), number_of(obj, "retryCount")
    after = f" after {count_of(retries, 'restart')}" if retries and verdict is OwnVerdict.FAILED else ""
    message = f"the Volcano Job is {word(phase)}{after}{f': {why}' if why else ''}"
    return msgspec.structs.replace(
        state, verdict=verdict, reason=f"VCJob{word(phase)}", message=message, finished_at=at if verdict.over else None
    )


def _queued(obj: Mapping[str, Any]) -> str:
    queue = word(str(part_of(obj, "spec").get("queue") or "default"))
    return f"waits in the queue {queue} of Volcano, which makes no pods before its scheduler has let the PodGroup in"


DECLARED: Final = (
    WatchedKind(
        VCJOB,
        (PodSource("vcjobs", LABEL, place_of),),
        plan_of,
        own_state,
        about="all Jobs of Volcano (`batch.volcano.sh`)",
        members="by task, in their order, and index; with the plugin `pytorch` the master comes first",
        makes=("podgroup/{name}-{uid}",),
    ),
)
