"""A headless Service without a selector: EndpointSlices written in batches by a watcher of the pods.

It is the other way to give members their names. The controller manager writes Endpoints and EndpointSlices anew for
each few pods that get an address; this writer waits ``BATCH`` seconds first. ADR 73 has what was measured.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from benchmarks.real.loops import each
from benchmarks.real.pods import Event, following
from muster.api.errors import Conflict
from muster.kube.transport import Transport

BATCH = 0.5
"""Seconds for which changes are gathered: a name must resolve within a second of the pod's address."""
MOST = 1_000
"""Endpoints of a slice at most (kube-apiserver's validation of EndpointSlice)."""


def without_selector(service: dict[str, Any]) -> dict[str, Any]:
    """The same headless Service, which no controller follows."""
    return {**service, "spec": {name: value for name, value in service["spec"].items() if name != "selector"}}


class Slices:
    """The slices of one namespace; ``writes`` and ``sent`` (bytes) count what was written."""

    def __init__(self, transport: Transport, namespace: str) -> None:
        self.writes = self.sent = 0
        self._transport = transport
        self._namespace = namespace
        self._path = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
        self._endpoints: dict[str, dict[str, dict[str, object]]] = defaultdict(dict)
        self._places: dict[str, dict[str, int]] = defaultdict(dict)
        self._dirty: set[tuple[str, int]] = set()
        self._made: set[str] = set()

    def sees(self, event: Event) -> None:
        """One event of the watch of pods."""
        pod, service = event.object, event.object.spec.subdomain
        if not (service and pod.spec.hostname and pod.status.podIP):
            return
        name = pod.metadata.name
        place = self._places[service].setdefault(name, len(self._places[service]))
        ready = any(each.type == "Ready" and each.status == "True" for each in pod.status.conditions)
        endpoint: dict[str, object] = {
            "addresses": [pod.status.podIP],
            "hostname": pod.spec.hostname,
            "nodeName": pod.spec.nodeName,
            "conditions": {"ready": True, "serving": ready, "terminating": False},
            "targetRef": {"kind": "Pod", "namespace": self._namespace, "name": name, "uid": pod.metadata.uid},
        }
        known = self._endpoints[service]
        if event.type == "DELETED":
            known.pop(name, None)
        elif known.get(name) == endpoint:
            return
        else:
            known[name] = endpoint
        self._dirty.add((service, place // MOST))

    async def write(self) -> None:
        """Write what has changed since the last batch, every ``BATCH`` seconds, until cancelled."""
        while True:
            await asyncio.sleep(BATCH)
            dirty, self._dirty = self._dirty, set()
            await each(sorted(dirty), self._put)

    async def _put(self, part: tuple[str, int]) -> None:
        service, number = part
        places = self._places[service]
        name = f"{service}-{number}"
        endpoints = [each for pod, each in self._endpoints[service].items() if places[pod] // MOST == number]
        body = msgspec.json.encode(
            {
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": {"name": name, "labels": {"kubernetes.io/service-name": service}},
                "addressType": "IPv4",
                "endpoints": endpoints,
            }
        )
        self.writes += 1
        self.sent += len(body)
        if name in self._made:
            await self._transport.request("PUT", f"{self._path}/{name}", body=body)
            return
        self._made.add(name)
        try:
            await self._transport.request("POST", self._path, body=body)
        except Conflict:
            await self._transport.request("PUT", f"{self._path}/{name}", body=body)


@asynccontextmanager
async def sliced(transport: Transport, namespace: str) -> AsyncIterator[Slices]:
    """Write the slices of a namespace while the block runs."""
    made = Slices(transport, namespace)
    async with following(transport, namespace, made.sees), asyncio.TaskGroup() as group:
        task = group.create_task(made.write(), name=f"slices of {namespace}")
        yield made
        task.cancel()
