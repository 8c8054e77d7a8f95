"""The pods that are bound to this node: starts and stops their workers when the watch reports changes.

The launcher ends all processes with the agent, so a pod that an earlier run of the agent started has ended. Its final
status is that of a pod whose node was rebooted: the end of its containers was not observed, and it has the condition
DisruptionTarget.
"""

import asyncio
import re
import shutil
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

from muster.api.errors import ApiError
from muster.kube.cancellation import cancel_and_wait
from muster.local.node import objects
from muster.local.node.containers.states import UNKNOWN
from muster.local.node.context import LOG, NodeContext
from muster.local.node.objects import Object, condition, pod_path, whole_time
from muster.local.node.pods.pod_worker import PodWorker
from muster.local.node.pods.status_writer import delete_at_once

_UID = re.compile(r"[A-Za-z0-9-]{1,64}")


class AssignedPods:
    """Runs a worker for every pod that is bound to this node.

    `on_room` is called when a pod waits for a node, or resources may have become free.
    """

    def __init__(self, node: NodeContext, folder: Path, on_room: Callable[[], None]) -> None:
        self._node = node
        self._folder = folder
        self._on_room = on_room
        self._workers: dict[str, PodWorker] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def handle(self, pod: Object, deleted: bool) -> None:
        """Handle one watch event. A pod with an invalid uid is logged and ignored."""
        uid = objects.uid(pod)
        if not _UID.fullmatch(uid):
            LOG.warning("ignoring a pod with an invalid uid", pod=objects.key(pod))
            return
        if deleted or objects.finished(pod) or not objects.node_name(pod):
            self._on_room()
        if deleted:
            self._remove(pod)
        elif objects.node_name(pod) != self._node.name:
            return
        elif worker := self._workers.get(uid):
            worker.update(pod)
        elif uid in self._tasks or self._node.draining:
            return
        elif objects.finished(pod) or was_started(pod):
            self._node.logs.register(objects.namespace(pod), objects.name(pod), self._folder / uid / "logs")
            if not objects.finished(pod):
                self._start_task(uid, self._report_lost(pod))
        else:
            self._start(uid, pod)

    def worker(self, namespace: str, name: str) -> PodWorker | None:
        """Return the worker of the pod of that name; None where none runs."""
        of_name = (each for each in self._workers.values() if objects.key(each.pod) == f"{namespace}/{name}")
        return next(of_name, None)

    async def drain(self, grace: float) -> None:
        """Stop every pod, as a kubelet does when its node shuts down."""
        for worker in self._workers.values():
            worker.shut_down(grace)
        if self._tasks:
            await asyncio.wait(set(self._tasks.values()))

    async def abandon(self) -> None:
        """Cancel the remaining workers."""
        await cancel_and_wait(*self._tasks.values())

    def sweep(self, present: Mapping[str, Object]) -> None:
        """Remove the folders of pods that were deleted."""
        for folder in self._folder.iterdir():
            if folder.name not in present and folder.name not in self._tasks:
                shutil.rmtree(folder, ignore_errors=True)

    def _start(self, uid: str, pod: Object) -> None:
        folder = self._folder / uid
        worker = self._workers[uid] = PodWorker(self._node, pod, folder)
        self._node.logs.register(objects.namespace(pod), objects.name(pod), folder / "logs")
        if objects.metadata(pod).get("deletionTimestamp"):
            worker.update(pod)
        self._start_task(uid, worker.run())

    def _start_task(self, uid: str, work: Coroutine[Any, Any, None]) -> None:
        task = self._tasks[uid] = asyncio.create_task(work, name=f"pod-{uid}")
        task.add_done_callback(lambda done: self._ended(uid, done))

    def _ended(self, uid: str, task: asyncio.Task[None]) -> None:
        self._tasks.pop(uid, None)
        self._workers.pop(uid, None)
        self._on_room()
        if not task.cancelled() and (error := task.exception()) is not None:
            LOG.error("pod worker exited unexpectedly", uid=uid, exc_info=error)

    def _remove(self, pod: Object) -> None:
        uid = objects.uid(pod)
        if worker := self._workers.get(uid):
            worker.object_deleted()
        folder = self._folder / uid
        self._node.logs.unregister(objects.namespace(pod), objects.name(pod), folder / "logs")
        task = self._tasks.get(uid)
        if task is None:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            task.add_done_callback(lambda _: shutil.rmtree(folder, ignore_errors=True))

    async def _report_lost(self, pod: Object) -> None:
        """Report a pod of an earlier agent as failed, or finish its deletion."""
        try:
            if objects.metadata(pod).get("deletionTimestamp"):
                await self._node.api.delete(pod_path(pod), delete_at_once(pod))
            else:
                await self._node.api.merge(pod_path(pod, "status"), {"status": lost_status(pod, self._node.clock())})
        except ApiError as error:
            LOG.warning("lost pod not reported", pod=objects.key(pod), error=str(error))


REASON = "Terminated"
MESSAGE = "The local node was restarted; the processes of the pod ended with its earlier run."


def was_started(pod: Object) -> bool:
    """Return True if a kubelet had started the pod: only a kubelet sets startTime."""
    return bool(objects.status(pod).get("startTime"))


def lost_status(pod: Object, now: int) -> dict[str, Any]:
    """Return phase Failed, all containers terminated, and DisruptionTarget, as after an eviction or a node shutdown."""
    status = objects.status(pod)
    stamp = whole_time(now)
    changed = {
        "Ready": (False, "PodFailed", ""),
        "ContainersReady": (False, "PodFailed", ""),
        "PodReadyToStartContainers": (False, "", ""),
        "DisruptionTarget": (True, "TerminationByKubelet", MESSAGE),
    }
    conditions = [dict(each) for each in status.get("conditions") or () if each.get("type") not in changed]
    conditions += [condition(kind, *about, stamp) for kind, about in changed.items()]
    made: dict[str, Any] = {"phase": "Failed", "reason": REASON, "message": MESSAGE, "conditions": conditions}
    for kind in ("containerStatuses", "initContainerStatuses"):
        if kind in status:
            made[kind] = [_ended(each, stamp) for each in status[kind]]
    return made


def _ended(container: Object, stamp: str) -> dict[str, Any]:
    state: Object = container.get("state") or {}
    if "terminated" in state:
        return dict(container)
    ended: dict[str, Any] = UNKNOWN | {"finishedAt": stamp}
    if "running" in state:
        ended["startedAt"] = state["running"].get("startedAt")
        ended["containerID"] = container.get("containerID")
    return dict(container) | {"state": {"terminated": ended}, "ready": False, "started": False}
