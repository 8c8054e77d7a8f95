"""The Workload of an experiment (kueue.x-k8s.io/v1beta2), and the patches of it.

One Workload serves all epochs: one podSet for each group, with the number of pods that run at a time and the requests
of the rendered pod. Only what decides quota and flavor is copied from the pod: the podSets cannot be changed while
quota is reserved, and the name holds a hash of them, so a Workload whose podSets are others is another object.
"""

from hashlib import sha256
from typing import Any, Final

import msgspec

from muster.api.names import FINALIZER_QUOTA, JOB_UID_LABEL
from muster.reconcilers.render.objects import labels, owner_reference
from muster.reconcilers.render.pod import render_pod
from muster.state.vocabulary.actions import PatchWorkloadStatus
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.workload import Workload, WorkloadCondition

API_VERSION: Final = "kueue.x-k8s.io/v1beta2"
"""The version that Kueue 0.15 and later serve."""
KUEUE: Final = "kueue.x-k8s.io"
_CONTAINERS: Final = ("name", "image", "resources", "restartPolicy")
_POD: Final = ("restartPolicy", "nodeSelector", "tolerations", "affinity", "runtimeClassName", "overhead", "resources")
"""Fields that Kueue reads: requests, and the fields that decide the flavor."""
_DIGEST: Final = 8
"""Characters of the hash in a Workload's name."""


def render_workload(plan: Plan, priority: int | None) -> dict[str, Any]:
    """Return the Workload. ``priority`` is the value of its WorkloadPriorityClass, None if it names none.

    The class is not looked up later: the value must be written with the name.
    """
    if plan.queue is None:
        raise ValueError(f"experiment {plan.namespace}/{plan.name} has no queue")
    spec: dict[str, Any] = {"queueName": plan.queue.name, "podSets": pod_sets(plan)}
    if priority is not None:
        spec["priority"] = priority
        spec["priorityClassRef"] = {"group": KUEUE, "kind": "WorkloadPriorityClass", "name": plan.queue.priority_class}
    return {
        "apiVersion": API_VERSION,
        "kind": "Workload",
        "metadata": {
            "name": plan.queue.workload,
            "namespace": plan.namespace,
            "labels": {**labels(plan), JOB_UID_LABEL: plan.uid},
            "finalizers": [FINALIZER_QUOTA],
            "ownerReferences": [owner_reference(plan)],
        },
        "spec": spec,
    }


def pod_sets(plan: Plan) -> list[dict[str, Any]]:
    """Return one podSet for each group that has members."""
    return [_pod_set(plan, group) for group in plan.groups if group.size]


def workload_name(plan: Plan) -> str:
    """Return the name of the Workload: that of the experiment, and a hash of uid and podSets."""
    text = msgspec.json.encode([plan.uid, pod_sets(plan)], order="deterministic")
    return f"{plan.name}-{sha256(text).hexdigest()[:_DIGEST]}"


def _pod_set(plan: Plan, group: Group) -> dict[str, Any]:
    rendered = render_pod(plan, group.member(0), 0)["spec"]
    spec = {name: rendered[name] for name in _POD if name in rendered}
    for place in ("initContainers", "containers"):
        if rendered.get(place):
            spec[place] = [{name: each[name] for name in _CONTAINERS if name in each} for each in rendered[place]]
    return {"name": group.name, "count": group.at_a_time, "template": {"spec": spec}}


def status_patch(action: PatchWorkloadStatus) -> dict[str, Any]:
    """Return the merge patch of a Workload's status. It replaces the list of conditions as a whole.

    Only a merge patch can remove the admission: its fields belong to Kueue's field manager.
    """
    status: dict[str, Any] = {"conditions": [_condition(each) for each in action.conditions]}
    if action.release:
        status["admission"] = None
    return {"metadata": _precondition(action.workload), "status": status}


def release_patch(workload: Workload) -> dict[str, Any]:
    """Return the merge patch that removes Muster's finalizer."""
    left = [each for each in workload.finalizers if each != FINALIZER_QUOTA]
    return {"metadata": {**_precondition(workload), "finalizers": left}}


def queue_patch(workload: Workload, queue: str) -> dict[str, Any]:
    """Return the merge patch that puts the Workload into another queue."""
    return {"metadata": _precondition(workload), "spec": {"queueName": queue}}


def _precondition(workload: Workload) -> dict[str, str]:
    return {"uid": workload.uid, "resourceVersion": str(workload.resource_version)}


def _condition(condition: WorkloadCondition) -> dict[str, object]:
    rendered: dict[str, object] = {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": condition.since,
    }
    if condition.generation:
        rendered["observedGeneration"] = condition.generation
    return rendered
