"""Writes the status of one pod when it changes: one write at a time, with the latest state."""

import asyncio
from typing import Any

import structlog

from muster.api.errors import ApiError, Conflict, Invalid, NotFound
from muster.kube.backoff import Backoff
from muster.local.node import objects
from muster.local.node.context import NodeContext
from muster.local.node.objects import Object, pod_path, whole_time
from muster.local.node.pods.events import report, warnings
from muster.local.node.pods.pod_status import PodState, pod_status

CONFLICTS = 10
RETRY_SECONDS = 0.5
LAST_RETRY = 10.0


class StatusWriter:
    """Writes the status of one pod. `pod` is its newest known version; the watch passes others to `update`."""

    def __init__(self, node: NodeContext, pod: Object, state: PodState) -> None:
        self.pod = pod
        self.gone = False
        self._node = node
        self._state = state
        self._changed = asyncio.Event()
        self._writing = asyncio.Lock()

    def changed(self) -> None:
        """Write the status again when the writer is free."""
        self._changed.set()

    def update(self, pod: Object) -> None:
        """Take a version from the watch, unless it is older than the known one."""
        if _version(pod) >= _version(self.pod):
            self.pod = pod

    async def run(self) -> None:
        """Write on every change until cancelled."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            await self.write()

    async def write(self) -> None:
        """Write the current state. Retries until that succeeds or the pod is deleted."""
        backoff = Backoff(RETRY_SECONDS, LAST_RETRY)
        async with self._writing:
            while not self.gone:
                try:
                    await self._write()
                except ApiError as error:
                    log = structlog.get_logger("muster.local.node").bind(pod=objects.key(self.pod))
                    log.warning("pod status not written", error=str(error))
                    if isinstance(error, Invalid) or self._node.draining:
                        return
                    await asyncio.sleep(backoff.delay())
                else:
                    return

    async def delete(self) -> None:
        """Delete the object of a pod that has ended, if its uid is still the same."""
        backoff = Backoff(RETRY_SECONDS, LAST_RETRY)
        while not self.gone:
            try:
                await self._node.api.delete(pod_path(self.pod), delete_at_once(self.pod))
            except (NotFound, Conflict):
                self.gone = True  # deleted already, perhaps created again with this name
            except ApiError:
                if self._node.draining:
                    return
                await asyncio.sleep(backoff.delay())
            else:
                return

    async def _write(self) -> None:
        """Patch the status under the known resourceVersion, because `conditions` is one list with several writers."""
        for _ in range(CONFLICTS):
            wanted = pod_status(self.pod, self._state, whole_time(self._node.clock()))
            known = objects.status(self.pod)
            if all(known.get(name) == value for name, value in wanted.items()):
                return
            version = objects.metadata(self.pod).get("resourceVersion")
            patch = {"metadata": {"resourceVersion": version}, "status": wanted}
            try:
                self.update(await self._node.api.merge(pod_path(self.pod, "status"), patch))
                await report(self._node.api, self.pod, "kubelet", self._node.clock, *warnings(known, wanted))
            except Conflict:
                if await self._replaced():
                    return
            except NotFound:
                self.gone = True
                return
            else:
                return

    async def _replaced(self) -> bool:
        """Read the pod again. True if it is gone, or another pod has its name."""
        try:
            fresh = await self._node.api.get(pod_path(self.pod))
        except NotFound:
            fresh = {}
        if objects.uid(fresh) == objects.uid(self.pod):
            self.pod = fresh
        else:
            self.gone = True
        return self.gone


def delete_at_once(pod: Object) -> dict[str, Any]:
    """Return DeleteOptions for that pod, and no later one of its name."""
    preconditions = {"uid": objects.uid(pod)}
    return {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "preconditions": preconditions}


def _version(pod: Object) -> int:
    text = str(objects.metadata(pod).get("resourceVersion") or "0")
    return int(text) if text.isdecimal() else 0
