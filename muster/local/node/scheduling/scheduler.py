"""The scheduler: binds pending pods to this node, oldest first, and sets PodScheduled=False on those that do not fit.

It takes the place of kube-scheduler, with one node. It runs when a pod was created or has ended. The pods of a gang
get their places together or not at all. What a placed gang has not created yet is kept free for it.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import structlog

from muster.api.errors import ApiError
from muster.kube.resources import ResourceClient
from muster.local.node import objects
from muster.local.node.objects import Clock, Object, pod_path, whole_time
from muster.local.node.pods.events import report
from muster.local.node.scheduling import fit
from muster.local.node.scheduling.gangs import Gangs, Key, key_of
from muster.local.node.scheduling.shortage import Lack, Ledger, requests, sentence

RETRY_SECONDS = 2.0


class Scheduler:
    """Schedules `pods`, the informer's view of all pods by uid, which is updated while this runs."""

    def __init__(
        self,
        api: ResourceClient,
        pods: Mapping[str, Object],
        *,
        node: str,
        node_labels: Mapping[str, str],
        capacity: Mapping[str, Decimal],
        clock: Clock,
    ) -> None:
        self._api = api
        self._pods = pods
        self._node = node
        self._labels = node_labels
        self._capacity = capacity
        self._clock = clock
        self._woken = asyncio.Event()
        self._bound: dict[str, Object] = {}
        self._gangs = Gangs(api)
        self._log = structlog.get_logger("muster.local.node")

    def wake(self) -> None:
        """Schedule again, because a pod was created or has ended."""
        self._woken.set()

    async def run(self) -> None:
        """Schedule until cancelled."""
        while True:
            await self._woken.wait()
            self._woken.clear()
            if not await self.schedule():
                await asyncio.sleep(RETRY_SECONDS)
                self._woken.set()

    async def schedule(self) -> bool:
        """Try every pending pod once. False if a request failed and has to be retried."""
        self._bound = {
            uid: pod for uid, pod in self._bound.items() if uid in self._pods and not objects.node_name(self._pods[uid])
        }
        waiting = sorted(filter(self._pending, self._pods.values()), key=_age)
        if not waiting:
            return True
        pods = list(self._pods.values())
        here = [pod for pod in pods if objects.node_name(pod) == self._node and not objects.finished(pod)]
        here += self._bound.values()
        gangs = await self._gangs.of(pods)
        begun = {key_of(pod): pod for pod in here}
        ledger = Ledger(self._capacity, here)
        for key, pod in begun.items():
            if key in gangs:
                ledger.take(pod, gangs[key].missing(pods))
        complete = True
        for key, members in _by_gang(sorted(waiting, key=lambda pod: key_of(pod) not in begun)).items():
            why = ""
            if key in gangs and key not in begun:
                missing = gangs[key].missing(pods)
                need = fit.add([*map(requests, members), missing])
                if reasons := fit.insufficient(need, ledger.capacity, ledger.used):
                    why = _message(reasons, f"The {need['pods']} pods of the gang need", ledger.lacks(need), members[0])
                else:
                    ledger.take(members[0], missing)
            for pod in members:
                try:
                    if why:
                        await self._explain(pod, "Unschedulable", why)
                    elif await self._place(pod, ledger):
                        ledger.take(pod, requests(pod))
                except ApiError as error:
                    self._log.info("pod not scheduled", pod=objects.key(pod), error=str(error))
                    complete = complete and error.status in {404, 409}  # deleted, or bound by another scheduler
        return complete

    def _pending(self, pod: Object) -> bool:
        return (
            not objects.node_name(pod)
            and objects.uid(pod) not in self._bound
            and not objects.finished(pod)
            and not objects.metadata(pod).get("deletionTimestamp")
            and fit.ours(pod)
        )

    async def _place(self, pod: Object, ledger: Ledger) -> bool:
        if objects.spec(pod).get("schedulingGates"):
            await self._explain(pod, "SchedulingGated", "Scheduling is blocked due to non-empty scheduling gates")
            return False
        try:
            reasons = fit.misfits(pod, self._labels, ledger.capacity, ledger.used)
            why = _message(reasons, "Its containers need", ledger.lacks(fit.requests(pod)), pod) if reasons else ""
        except ValueError as error:
            why = f"the pod's resource requests cannot be read: {error}"
        if why:
            await self._explain(pod, "Unschedulable", why)
            return False
        metadata = objects.metadata(pod)
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": metadata["name"], "namespace": objects.namespace(pod), "uid": metadata.get("uid")},
            "target": {"apiVersion": "v1", "kind": "Node", "name": self._node},
        }
        await self._api.create(pod_path(pod, "binding"), binding)
        self._bound[objects.uid(pod)] = pod
        return True

    async def _explain(self, pod: Object, reason: str, message: str) -> None:
        """Set the condition PodScheduled=False, if it changes."""
        known: list[dict[str, Any]] = list(objects.status(pod).get("conditions") or ())
        before = next((each for each in known if each.get("type") == "PodScheduled"), {})
        if (before.get("status"), before.get("reason"), before.get("message")) == ("False", reason, message):
            return
        same = before.get("status") == "False"
        now = before.get("lastTransitionTime") if same else whole_time(self._clock())
        condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
        others = [each for each in known if each.get("type") != "PodScheduled"]
        patch = {
            "metadata": {"resourceVersion": objects.metadata(pod).get("resourceVersion")},
            "status": {"phase": "Pending", "conditions": [*others, condition | {"lastTransitionTime": now}]},
        }
        await self._api.merge(pod_path(pod, "status"), patch)
        if reason == "Unschedulable":
            await report(self._api, pod, "default-scheduler", self._clock, ("FailedScheduling", message))


def _message(reasons: Sequence[str], who: str, lacks: Sequence[Lack], pod: Object) -> str:
    rest = f" {sentence(who, lacks, objects.namespace(pod))}" if lacks else ""
    return f"{fit.message(reasons)}{rest}"


def _by_gang(pods: Iterable[Object]) -> dict[Key, list[Object]]:
    found: dict[Key, list[Object]] = {}
    for pod in pods:
        found.setdefault(key_of(pod), []).append(pod)
    return found


def _age(pod: Object) -> str:
    return str(objects.metadata(pod).get("creationTimestamp") or "")
