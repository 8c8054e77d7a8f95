"""A namespace on the ground as an administrator uses it: requests, kubectl, pods, and nodes of its own."""

import asyncio
import contextlib
import json
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from muster.api.errors import ApiError, NotFound
from muster.api.names import LABEL_EXPERIMENT, LABEL_RANK
from muster.client import Client
from muster.kube.resources import core
from muster.local.node.objects import LEASES
from tests.real.ground import TAINT, Ground
from tests.real.nodes.standin import CUT_OFF, GO_ON, LABEL, PODS_LABEL

MERGE = "application/merge-patch+json"
SLOW = 120.0
"""Seconds within which anything comes true, on a busy machine too. What is judged are events and sentences; seconds are
printed."""
WITHIN = f"--timeout={SLOW:g}s"
"""The same for `kubectl wait`."""

Object = dict[str, Any]


class Refused(Exception):
    """kubectl or the API server said no; the text says why."""


class Namespace:
    """One namespace on the ground."""

    def __init__(self, ground: Ground, client: Client, namespace: str) -> None:
        self.ground = ground
        self.client = client
        self.namespace = namespace

    async def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        content_type: str = "application/json",
        params: Mapping[str, str] | None = None,
    ) -> Object:
        """One request to the API server. Raises ApiError."""
        data = None if body is None else msgspec.json.encode(body)
        send = self.client.transport.request
        answer = await send(method, path, params=params, body=data, content_type=content_type)
        return msgspec.json.decode(answer.body, type=dict)

    async def get(self, path: str) -> Object | None:
        """An object, or None where there is none."""
        with contextlib.suppress(NotFound):
            return await self.request("GET", path)
        return None

    async def kubectl(self, *arguments: str, body: Any = None) -> str:
        """The real kubectl in the test's namespace. Raises Refused with its words."""
        command = [self.ground.kubectl, "--kubeconfig", self.ground.admin, "--namespace", self.namespace, *arguments]
        status, output, errors = await run(command, body)
        if status != 0:
            raise Refused(errors.strip() or output.strip())
        return output

    async def apply(self, *items: Object) -> str:
        return await self.kubectl("apply", "-f", "-", body={"apiVersion": "v1", "kind": "List", "items": list(items)})

    async def refusal(self, obj: Object) -> str:
        """The words with which the API server refuses an object; empty where it would take it. Nothing is kept."""
        try:
            await self.kubectl("create", "--dry-run=server", "-f", "-", body=obj)
        except Refused as error:
            return str(error)
        return ""

    async def pods(self, experiment: str = "") -> list[Object]:
        """The pods of one experiment, or all of the namespace, by name."""
        params = {"labelSelector": f"{LABEL_EXPERIMENT}={experiment}"} if experiment else None
        answer = await self.request("GET", core(self.namespace, "pods"), params=params)
        return sorted(answer["items"], key=lambda pod: str(pod["metadata"]["name"]))

    async def all_run(self, count: int, experiment: str = "", seconds: float = SLOW) -> None:
        """Wait until there are so many pods of an experiment, or in the namespace, and each runs."""
        wanted = ["Running"] * count
        await eventually(
            lambda: self.pods(experiment),
            seconds,
            holds=lambda found: [each["status"].get("phase") for each in found] == wanted,
        )

    async def emptied(self, experiment: str = "") -> None:
        """Wait until there is no pod of an experiment, or none at all."""
        await eventually(lambda: self.pods(experiment), holds=lambda found: not found)

    @contextlib.asynccontextmanager
    async def node(self, *names: str, pods: int = 100) -> AsyncIterator[dict[str, str]]:
        """Stand-in nodes for this test alone; the selector that chooses them."""
        selector = {LABEL: self.namespace}
        labels = {**selector, PODS_LABEL: str(pods)}
        made = [f"{self.namespace}-{name}"[-63:].strip("-") for name in names or ("node",)]
        for name in made:
            metadata = {"name": name, "labels": labels}
            body = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"taints": [TAINT]}}
            await self.request("POST", "/api/v1/nodes", body)
        try:
            await self.kubectl("wait", "--for=condition=Ready", *(f"node/{name}" for name in made), WITHIN)
            yield selector
        finally:
            for name in made:
                for path in (f"/api/v1/nodes/{name}", f"{LEASES}/{name}"):
                    with contextlib.suppress(ApiError):
                        await self.request("DELETE", path)

    async def cut_off(self, node: str, *, cut: bool = True) -> None:
        """A stand-in node loses its network, or has it again."""
        annotations = {"metadata": {"annotations": {LABEL: CUT_OFF if cut else None}}}
        await self.request("PATCH", f"/api/v1/nodes/{self.namespace}-{node}", annotations, MERGE)

    async def lets_go(self, experiment: str, rank: int) -> None:
        """The pretended pod of a rank goes on behind `hold` in its script."""
        for pod in await self.pods(experiment):
            if pod["metadata"]["labels"][LABEL_RANK] == str(rank):
                path = core(self.namespace, "pods", str(pod["metadata"]["name"]))
                await self.request("PATCH", path, {"metadata": {"annotations": {LABEL: GO_ON}}}, MERGE)

    def kill(self, pod: Object, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to the processes of a pod on the node `processes`: the shell and what it runs."""
        container = pod["status"]["containerStatuses"][0]["containerID"]
        os.killpg(int(container.removeprefix("process://")), number)


def trial(**container: Any) -> Object:
    """A pod of one container, to try whether it is taken."""
    spec = {"containers": [{"name": "main", "image": "b", **container}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "try"}, "spec": spec}


async def eventually(
    ask: Callable[[], Awaitable[Any]], seconds: float = SLOW, *, holds: Callable[[Any], object] = bool
) -> Any:
    """Ask again until the answer is true, or something holds of it: for what no watch of this test shows."""
    deadline = time.monotonic() + seconds
    while not holds(answer := await ask()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s: {ask.__qualname__}, but {str(answer)[:1000]}")
        await asyncio.sleep(0.2)
    return answer


async def run(command: list[str], body: Any = None, cwd: Path | None = None) -> tuple[int, str, str]:
    """Run a program with a body as JSON on its standard input: exit status, output and errors."""
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, cwd=cwd
    )
    try:
        data = b"" if body is None else json.dumps(body).encode()
        output, errors = await asyncio.wait_for(process.communicate(data), SLOW)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, output.decode(errors="replace"), errors.decode(errors="replace")
