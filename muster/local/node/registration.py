"""The Node object and its Lease: labels, capacity, conditions and heartbeat.

See kubernetes.io/docs/reference/node/node-status.
"""

import asyncio
import os
import platform
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from muster.api.errors import AlreadyExists, ApiError, NotFound
from muster.kube.resources import ResourceClient
from muster.local.node import objects
from muster.local.node.context import LOG
from muster.local.node.isolation.levels import Choice
from muster.local.node.objects import LEASES, NODES, Clock, micro_time, whole_time

LEASE_SECONDS = 40
RENEW_SECONDS = 10.0
STATUS_EVERY = 6
"""The status of the node is written with every sixth renewal of its lease."""

DEFAULT_PODS = 250


def machine_capacity() -> dict[str, str]:
    """Return the CPUs and memory of this machine, and the maximum number of pods."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {"cpu": str(os.cpu_count() or 1), "memory": f"{memory // 1024}Ki", "pods": str(DEFAULT_PODS)}


def node_labels(name: str) -> dict[str, str]:
    """Return the labels that a kubelet gives its node, and ours."""
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": architecture,
        "muster.dev/local": "true",
    }


@dataclass(slots=True, eq=False)
class Registration:
    """Creates the Node, then renews its lease and status."""

    api: ResourceClient
    name: str
    _: KW_ONLY
    capacity: Mapping[str, str]
    address: str
    isolation: Choice
    clock: Clock
    labels: dict[str, str] = field(init=False)
    _since: str = field(init=False)

    def __post_init__(self) -> None:
        self.labels = node_labels(self.name)
        self._since = whole_time(self.clock())

    async def register(self) -> None:
        """Create the Node or update an existing one. Raises ApiError if the API server does not answer."""
        annotations = {"muster.dev/isolation": str(self.isolation)}
        metadata = {"name": self.name, "labels": self.labels, "annotations": annotations}
        try:
            created = await self.api.create(
                NODES, {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}}
            )
        except AlreadyExists:
            created = await self.api.merge(
                f"{NODES}/{self.name}", {"metadata": {k: v for k, v in metadata.items() if k != "name"}}
            )
        self.labels = dict(objects.labels(created)) or self.labels
        await self._write_status(ready=True)
        await self._renew()

    async def run(self) -> None:
        """Renew until cancelled. After a failed request, the next renewal tries again."""
        beats = 0
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            beats += 1
            try:
                await self._renew()
                if beats % STATUS_EVERY == 0:
                    await self._write_status(ready=True)
            except ApiError as error:
                LOG.info("node lease not renewed", error=str(error))

    async def leave(self) -> None:
        """Set the node to NotReady."""
        self._since = whole_time(self.clock())
        await self._write_status(ready=False)

    async def _renew(self) -> None:
        spec = {
            "holderIdentity": self.name,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": micro_time(self.clock()),
        }
        try:
            await self.api.merge(f"{LEASES}/{self.name}", {"spec": spec})
        except NotFound:
            metadata = {"name": self.name, "namespace": "kube-node-lease"}
            lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
            try:
                await self.api.create(LEASES, lease)
            except NotFound:  # a new API server without this namespace
                namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-node-lease"}}
                await self.api.create("/api/v1/namespaces", namespace)
                await self.api.create(LEASES, lease)

    async def _write_status(self, *, ready: bool) -> None:
        text = f"pods run as processes, isolation {self.isolation}" if ready else "the node agent has stopped"
        status: dict[str, Any] = {
            "capacity": self.capacity,
            "allocatable": self.capacity,
            "addresses": [
                {"type": "InternalIP", "address": self.address},
                {"type": "Hostname", "address": self.name},
            ],
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True" if ready else "False",
                    "reason": "KubeletReady" if ready else "KubeletStopped",
                    "message": text,
                    "lastHeartbeatTime": whole_time(self.clock()),
                    "lastTransitionTime": self._since,
                }
            ],
            "nodeInfo": {
                "architecture": self.labels.get("kubernetes.io/arch", ""),
                "operatingSystem": "linux",
                "kernelVersion": platform.release(),
                "osImage": platform.platform(terse=True),
                "containerRuntimeVersion": "process://1",
                "kubeletVersion": "v1.34.0-muster",
                "kubeProxyVersion": "",
                "machineID": "",
                "systemUUID": "",
                "bootID": "",
            },
        }
        await self.api.merge(f"{NODES}/{self.name}/status", {"status": status})
