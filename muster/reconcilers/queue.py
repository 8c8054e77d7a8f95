"""Carries out the actions on a Workload: create, read its admission, patch, delete. Each may be carried out twice."""

import contextlib
from collections.abc import Iterable, Mapping
from typing import assert_never

import msgspec

from muster.api.errors import AlreadyExists, ApiError, NotFound
from muster.api.names import LABEL_UID
from muster.kube.resources import MERGE_PATCH, Object, ask, custom, read
from muster.reconcilers.render.objects import to_json
from muster.reconcilers.render.workload import API_VERSION, queue_patch, release_patch, render_workload, status_patch
from muster.reconcilers.requests.batch import Calls, as_sent, delete_options, owned
from muster.reconcilers.requests.refusals import refusal_or_raise
from muster.reconcilers.result import Outcome
from muster.state.view.engine_facts import Refusal
from muster.state.vocabulary.actions import (
    DeleteWorkload,
    EnsureWorkload,
    MoveWorkload,
    PatchWorkloadStatus,
    QueueAction,
    ReadAdmission,
    ReleaseWorkload,
)
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Toleration
from muster.state.vocabulary.workload import Placement, PodSetPlacement, Workload
from muster.watchers.workloads import WorkloadDocument, flatten

KIND = "Workload"


class _Update(msgspec.Struct, frozen=True, gc=False):
    name: str
    node_selector: dict[str, str] | None = msgspec.field(name="nodeSelector", default=None)
    tolerations: tuple[Toleration, ...] | None = None


class _Check(msgspec.Struct, frozen=True, gc=False):
    updates: tuple[_Update, ...] | None = msgspec.field(name="podSetUpdates", default=None)


class _Assignment(msgspec.Struct, frozen=True, gc=False):
    name: str
    flavors: dict[str, str] | None = None


class _Admission(msgspec.Struct, frozen=True, gc=False):
    assignments: tuple[_Assignment, ...] | None = msgspec.field(name="podSetAssignments", default=None)


class _Status(msgspec.Struct, frozen=True, gc=False):
    admission: _Admission | None = None
    checks: tuple[_Check, ...] | None = msgspec.field(name="admissionChecks", default=None)


class _Admitted(msgspec.Struct, frozen=True, gc=False):
    """The part of a Workload that no watch reads."""

    status: _Status = _Status()


class _FlavorSpec(msgspec.Struct, frozen=True, gc=False):
    node_labels: dict[str, str] | None = msgspec.field(name="nodeLabels", default=None)
    tolerations: tuple[Toleration, ...] | None = None


class _Flavor(msgspec.Struct, frozen=True, gc=False):
    spec: _FlavorSpec = _FlavorSpec()


async def read_admission(calls: Calls, action: ReadAdmission, plan: Plan) -> Outcome:
    """Return the placement of the epoch's pods if the Workload is admitted; else the caches will show why not.

    The Workload is read before the first pod of an epoch is created. The cache may be late, and a gang that is launched
    on a withdrawn admission runs beside the one that has the quota now. The same answer names the assigned flavors,
    whose labels and tolerations the pods need.
    """
    path = custom(API_VERSION, plan.namespace, "workloads", action.workload.name)
    try:
        answer = await calls.do("GET", path)
    except NotFound:
        return Outcome(ahead=True)
    document = read(answer, WorkloadDocument, f"GET {path}")
    if document.metadata.uid != action.workload.uid or not flatten(document).admitted:
        return Outcome(ahead=True)
    status = read(answer, _Admitted, f"GET {path}").status
    assignments = (status.admission.assignments or ()) if status.admission else ()
    assigned = [(each.name, dict.fromkeys((each.flavors or {}).values())) for each in assignments]
    flavors: dict[str, _Flavor] = {}
    for name in dict.fromkeys(name for _, names in assigned for name in names):
        found = await _flavor(calls, name)
        if isinstance(found, Refusal):
            return Outcome(refusal=found)
        flavors[name] = found
    updates = [update for check in status.checks or () for update in check.updates or ()]
    groups = tuple(_placement(group, [flavors[name] for name in names], updates) for group, names in assigned)
    return Outcome(placement=Placement(action.epoch, action.workload.uid, groups))


async def _flavor(calls: Calls, name: str) -> _Flavor | Refusal:
    try:
        return await ask(calls.do, "GET", f"/apis/{API_VERSION}/resourceflavors/{name}", _Flavor)
    except NotFound:
        return Refusal(
            "FlavorMissing",
            f"The Workload was admitted with ResourceFlavor {name!r}, and the cluster has none of that name. Create it "
            "again, or change the ClusterQueue. Muster tries again.",
            final=False,
        )


def _placement(group: str, flavors: Iterable[_Flavor], updates: list[_Update]) -> PodSetPlacement:
    """Return the placement of one podSet: from its flavors, and from status.admissionChecks[].podSetUpdates."""
    selector: dict[str, str] = {}
    tolerations: dict[Toleration, None] = {}
    for flavor in flavors:
        selector |= flavor.spec.node_labels or {}
        tolerations |= dict.fromkeys(flavor.spec.tolerations or ())
    for update in updates:
        if update.name == group:
            selector |= update.node_selector or {}
            tolerations |= dict.fromkeys(update.tolerations or ())
    return PodSetPlacement(group, tuple(sorted(selector.items())), tuple(tolerations))


class _Class(msgspec.Struct, frozen=True, gc=False):
    value: int = 0


async def carry_out_for_queue(calls: Calls, action: QueueAction, plan: Plan) -> Outcome:
    """Carry out one action; the caller holds a slot. Raises ``ApiError`` if only the next attempt can help."""
    match action:
        case EnsureWorkload():
            return await _ensure(calls, plan)
        case ReadAdmission():
            return await read_admission(calls, action, plan)
        case PatchWorkloadStatus(workload):
            return await _change(calls, plan, workload, status_patch(action), "/status")
        case MoveWorkload(workload, queue):
            return await _change(calls, plan, workload, queue_patch(workload, queue))
        case ReleaseWorkload(workload):
            return await _change(calls, plan, workload, release_patch(workload))
        case DeleteWorkload(workload):
            return await _change(calls, plan, workload, None)
        case _:
            assert_never(action)


async def let_go(calls: Calls, workload: Workload) -> None:
    """Remove Muster's finalizer from a Workload whose Experiment is gone. Raises ``ApiError``."""
    path = custom(API_VERSION, workload.namespace, "workloads", workload.name)
    with contextlib.suppress(NotFound):
        await calls.do("PATCH", path, body=msgspec.json.encode(release_patch(workload)), content_type=MERGE_PATCH)


async def _ensure(calls: Calls, plan: Plan) -> Outcome:
    name = plan.queue.workload if plan.queue else ""
    path = custom(API_VERSION, plan.namespace, "workloads")
    try:
        priority = await _priority(calls, plan)
    except NotFound:
        wanted = plan.queue.priority_class if plan.queue else ""
        return Outcome(
            refusal=Refusal(
                "PriorityClassMissing",
                f"The cluster has no WorkloadPriorityClass {wanted!r}, which the label of the Experiment names. Create "
                "it, or name another. Muster tries again.",
                final=False,
            )
        )
    body = to_json(render_workload(plan, priority), f"the Workload of experiment {plan.namespace}/{plan.name}")
    try:
        made = await ask(calls.do, "POST", path, Object, body=body)
    except AlreadyExists:
        return await _recognise(calls, plan, name)
    except ApiError as error:
        return Outcome(refusal=refusal_or_raise(error, plan, "create", KIND, name))
    return _known(as_sent(KIND, made.metadata, plan, {LABEL_UID: plan.uid}))


async def _priority(calls: Calls, plan: Plan) -> int | None:
    """Return the value of the WorkloadPriorityClass; None if none is named."""
    if plan.queue is None or not plan.queue.priority_class:
        return None
    path = f"/apis/{API_VERSION}/workloadpriorityclasses/{plan.queue.priority_class}"
    return (await ask(calls.do, "GET", path, _Class)).value


async def _recognise(calls: Calls, plan: Plan, name: str) -> Outcome:
    """Return the outcome if a Workload of that name exists already."""
    try:
        found = await ask(calls.do, "GET", custom(API_VERSION, plan.namespace, "workloads", name), Object)
    except NotFound:
        return Outcome(ahead=True)
    return _known(owned(KIND, found.metadata, plan, {LABEL_UID: plan.uid}))


def _known(found: int | Refusal) -> Outcome:
    return Outcome(refusal=found) if isinstance(found, Refusal) else Outcome(workloads=found)


async def _change(
    calls: Calls, plan: Plan, workload: Workload, patch: Mapping[str, object] | None, subresource: str = ""
) -> Outcome:
    """Patch the Workload; None: delete it. Raises ``Conflict`` when it has changed since: the caches will show how."""
    path = custom(API_VERSION, plan.namespace, "workloads", workload.name) + subresource
    verb = "DELETE" if patch is None else "PATCH"
    try:
        if patch is None:
            left = await ask(calls.do, verb, path, Object, body=delete_options(workload.uid, None))
        else:
            body = msgspec.json.encode(patch)
            left = await ask(calls.do, verb, path, Object, body=body, content_type=MERGE_PATCH)
    except NotFound:
        return Outcome(ahead=True)
    except ApiError as error:
        return Outcome(refusal=refusal_or_raise(error, plan, verb.lower(), KIND, workload.name))
    return Outcome(workloads=left.metadata.version)
