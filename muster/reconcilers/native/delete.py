"""Ends pods: deletes them, stops them so that their logs stay, or collects those of an Experiment that is gone."""

from collections.abc import Iterator
from dataclasses import replace

import msgspec

from muster.api.errors import ApiError, Conflict, Invalid, NotFound
from muster.api.names import LABEL_UID
from muster.kube.resources import MERGE_PATCH, Object, ask, core
from muster.reconcilers.native.live_pods import LivePod, named, pages
from muster.reconcilers.refs import path_of
from muster.reconcilers.requests.batch import Batch, Calls, delete_options
from muster.reconcilers.requests.refusals import refusal_or_raise
from muster.reconcilers.result import Outcome
from muster.state.view.engine_facts import Refusal
from muster.state.vocabulary.actions import DeletePods, StopPods
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod

DEADLINE = 1
"""Seconds: the shortest deadline that Kubernetes accepts."""


async def delete_pods(calls: Calls, action: DeletePods, plan: Plan) -> Outcome:
    """Delete pods by name and uid (DeletePods), so that a newer pod of the same name is left alone.

    If ended pods are to stay (``unless_ended``), each pod is read first: the watch may be late by minutes, and a
    deletion would take the log with it. It is then deleted as it was read, and not if it has changed since.
    """
    pods = list(_worth_deleting(action, calls.now()))
    batch = Batch[Pod]()

    async def delete(pod: Pod) -> int | Refusal | None:
        path = core(pod.namespace, "pods", pod.name)
        try:
            version = ""
            if action.unless_ended:
                found = await ask(calls.do, "GET", path, LivePod)
                if found.metadata.uid != pod.uid or not found.live:
                    return 0
                version = found.metadata.resource_version
            left = await ask(calls.do, "DELETE", path, Object, body=delete_options(pod.uid, action.grace, version))
        except NotFound:
            return 0
        except Conflict as error:
            # Another pod has the name by now, or this one was changed while the API server deleted it.
            if await _gone(calls, pod):
                return 0
            batch.postpone(error)
            return None
        except ApiError as error:
            return replace(refusal_or_raise(error, plan, "delete", "Pod", f"{pod.name} ({action.why})"), final=False)
        # Without the label no watch delivers it.
        return left.metadata.version if LABEL_UID in (left.metadata.labels or {}) else 0

    await batch.run(f"delete pods of {plan.namespace}/{plan.name}", pods, delete, calls.slots(plan))
    return replace(batch.outcome(), deleted=tuple(batch.done))


async def _gone(calls: Calls, pod: Pod) -> bool:
    """Return True if the live API has no pod of that uid any longer."""
    live = await named(calls, pod.namespace, pod.name)
    return live is None or live.metadata.uid != pod.uid


def _worth_deleting(action: DeletePods, now: float) -> Iterator[Pod]:
    """Yield the pods that a DELETE would change: it can only shorten a grace period (metav1 DeleteOptions).

    Grace 0 is always sent: only it removes a pod whose grace period is over on a node that does not answer.
    """
    for pod in action.pods:
        shortens = action.grace is not None and (action.grace == 0 or now + action.grace < pod.delete_by)
        if not pod.terminating or shortens:
            yield pod


async def stop_pods(calls: Calls, action: StopPods, plan: Plan) -> Outcome:
    """Let the kubelet end the containers of pods, which stay for their logs (StopPods).

    ``activeDeadlineSeconds`` may be set on a running pod, once (kubernetes: pkg/apis/core/validation,
    ValidatePodUpdate). It counts from the pod's start, so a second is over at once: the kubelet ends the containers
    within the pod's grace period and reports the pod as failed, reason DeadlineExceeded
    (pkg/kubelet/active_deadline.go).
    """
    batch = Batch[Pod]()

    async def stop(pod: Pod) -> int | Refusal | None:
        path = core(pod.namespace, "pods", pod.name)
        body = {"metadata": {"uid": pod.uid}, "spec": {"activeDeadlineSeconds": DEADLINE}}
        try:
            patch = msgspec.json.encode(body)
            left = await ask(calls.do, "PATCH", path, Object, body=patch, content_type=MERGE_PATCH)
        except (NotFound, Invalid):  # gone, or one that cannot be stopped so, and is deleted in time
            return 0
        except Conflict as error:  # another pod has the name by now, or the API server was writing this one
            batch.postpone(error)
            return None
        except ApiError as error:
            return replace(refusal_or_raise(error, plan, "stop", "Pod", f"{pod.name} ({action.why})"), final=False)
        return left.metadata.version

    await batch.run(f"stop pods of {plan.namespace}/{plan.name}", action.pods, stop, calls.slots(plan))
    return replace(batch.outcome(), stopped=tuple(batch.done))


async def collect_pods(calls: Calls, plan: Plan, vanished: tuple[Pod, ...] = ()) -> Outcome:
    """Delete the pods of an Experiment that is gone, as the garbage collector does, and sooner.

    An Experiment that is deleted in the usual way (background) is gone at once, and its pods are the garbage
    collector's, which deletes some 20 a second by default. Its rules hold here, too: one GET must show that the owner
    is gone (404, or another uid), one consistent LIST gives the pods that it still controls (after ``--cascade=orphan``
    there are none), and each is deleted by uid. What cannot be deleted is left to the garbage collector.

    Pods that lost the label or the owner reference are in no such LIST, and without an owner reference nothing would
    ever collect them. Those, ``vanished``, are deleted by the uid that they were seen with while they were members.
    """
    async with calls.slots(plan):
        if await _exists(calls, plan):
            return Outcome()
        found = [pod.metadata async for page in pages(calls, plan) for pod in page]
    pods = [(pod.name, pod.uid) for pod in found if pod.deletion_timestamp is None]
    if not plan.lifecycle.orphans:
        pods += [(pod.name, pod.uid) for pod in vanished if (pod.name, pod.uid) not in pods]

    async def delete(pod: tuple[str, str]) -> int:
        name, uid = pod
        path = core(plan.namespace, "pods", name)
        try:
            return (await ask(calls.do, "DELETE", path, Object, body=delete_options(uid, None))).metadata.version
        except (NotFound, Conflict):  # the garbage collector was first
            return 0

    batch = Batch[tuple[str, str]]()
    await batch.run(f"collect pods of {plan.namespace}/{plan.name}", pods, delete, calls.slots(plan))
    return batch.outcome()


async def _exists(calls: Calls, plan: Plan) -> bool:
    try:
        return (await ask(calls.do, "GET", path_of(plan), Object)).metadata.uid == plan.uid
    except NotFound:
        return False
