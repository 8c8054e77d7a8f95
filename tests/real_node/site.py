"""What one situation uses: that of `make real`, with members that are containers, and machines of its own."""

import asyncio
import contextlib
import shlex
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from muster.api.errors import ApiError
from muster.client import Client, Snapshot
from muster.kube.resources import core
from tests.real.ground import SYSTEM, TOLERATIONS, Ground
from tests.real.namespace import SLOW, WITHIN, Object, eventually
from tests.real.rows import Row
from tests.real.screen import Screen
from tests.real.site import Site as RealSite
from tests.real_node.ground import POOL, RELEASE, WORK_POOL, Nodes, helm
from tests.real_node.machine.machine import Machine

WORK = {POOL: WORK_POOL}
OF_MUSTERD = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": SYSTEM}}}
"""The peers of a NetworkPolicy in the namespace of musterd."""
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"


class Site(RealSite):
    """A namespace on real nodes, with members that run a command of a shell in the image `base`."""

    command, cpus = "sleep 600", 0.05
    on = WORK

    def __init__(self, ground: Ground, nodes: Nodes, client: Client, screen: Screen, namespace: str, row: Row) -> None:
        super().__init__(ground, client, screen, namespace, row)
        self.nodes = nodes
        self.image = nodes.images["base"]

    async def goes_on(self, *, charged: bool = False, seconds: float = SLOW) -> None:
        """The gang `run` runs again; whether its restart was charged goes into the row."""
        seen = await self.until("run", lambda seen: seen.phase == "Running" and seen.status.epoch > 0, seconds)
        self.charges(seen, charged)

    def charges(self, seen: Snapshot, charged: bool) -> None:
        """Whether a restart was charged, as it is and as it should be."""
        self.row.said += f"; {'charged' if seen.status.restarts else 'not charged'}"
        assert bool(seen.status.restarts) == charged, f"charged: {seen.status.restarts}"

    @contextlib.asynccontextmanager
    async def machines(self, count: int = 1, **more: Any) -> AsyncIterator[list[Machine]]:
        """Machines for this situation alone, with Ready nodes; `on` of them is `{POOL: here.namespace}`."""
        made = [self.nodes.machine(self.namespace, **more) for _ in range(count)]
        try:
            await asyncio.gather(*(asyncio.to_thread(each.start) for each in made))
            await self.ready(*made)
            yield made
        finally:
            for machine in made:
                await asyncio.to_thread(machine.power_off)
                for path in (f"/api/v1/nodes/{machine.plan.name}", f"{LEASES}/{machine.plan.name}"):
                    with contextlib.suppress(ApiError):
                        await self.request("DELETE", path)

    @property
    def own(self) -> dict[str, str]:
        """Selects the machines of this situation."""
        return {POOL: self.namespace}

    async def ready(self, *machines: Machine) -> None:
        """Their nodes are Ready."""
        names = [f"node/{each.plan.name}" for each in machines]

        async def there() -> bool:
            return all([await self.get(f"/api/v1/{each.replace('node/', 'nodes/')}") is not None for each in names])

        await eventually(there)
        await self.kubectl("wait", "--for=condition=Ready", *names, WITHIN)

    def machine_of(self, pod: Object) -> Machine:
        """The machine on which a pod is."""
        return self.nodes.started(pod["spec"]["nodeName"])

    def kill(self, pod: Object, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to the first process of the pod's container."""
        container = pod["status"]["containerStatuses"][0]["containerID"].removeprefix("containerd://")
        kill = ("tasks", "kill", "--signal", number.name, container)
        self.machine_of(pod).within(self.nodes.programs["ctr"], "-n", "k8s.io", *kill)

    async def sh(self, pod: Object, script: str) -> str:
        """A shell in the container of a pod, by the real kubelet."""
        return await self.kubectl("exec", str(pod["metadata"]["name"]), "--", "sh", "-c", script)

    async def helm(self, verb: str, *options: str) -> str:
        """helm as an administrator, with the release of musterd. Raises ProgramFailed with its error text."""
        where = ("--namespace", SYSTEM)
        return await asyncio.to_thread(
            helm, self.ground.admin, Path(self.ground.folder), verb, RELEASE, *options, *where
        )

    async def policy(self, name: str, *peers: Object, pods: Object | None = None) -> None:
        """A NetworkPolicy: only these peers reach the pods with these labels, or all pods of the namespace."""
        selector = {"matchLabels": pods} if pods else {}
        spec = {"podSelector": selector, "policyTypes": ["Ingress"], "ingress": [{"from": [*peers]}]}
        metadata = {"name": name, "namespace": self.namespace}
        kind = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy"}
        await self.apply({**kind, "metadata": metadata, "spec": spec})

    async def trains(self, steps: int, before: str = "", **more: Any) -> None:
        command, image = f"{before}python3 -u examples/jax/train.py --steps {steps}", self.nodes.images["train"]
        await self.submit("run", command, operator="jax", cpus=0.2, image=image, **more)

    async def pod(self, name: str, command: str, **spec: Any) -> Object:
        """A pod of no experiment, and of no one's but ours."""
        container = {"name": "main", "image": self.nodes.images["base"], "command": ["sh", "-c", command]}
        container |= spec.pop("container", {})
        whole = {"restartPolicy": "Never", "nodeSelector": WORK, "tolerations": TOLERATIONS, "containers": [container]}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {**whole, **spec}}
        return await self.request("POST", core(self.namespace, "pods"), body)


def python(code: str) -> str:
    return f"python3 -u -c {shlex.quote(code)}"
