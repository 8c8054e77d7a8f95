"""Startup, readiness and liveness probes of one container (pkg/kubelet/prober).

The other two start after the startup probe has succeeded. A startup or liveness probe that fails ends the container; a
readiness probe only sets its readiness.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, Protocol

import aiohttp

from muster.local.node.objects import Object


class Runner(Protocol):
    """The runner of a container, as its probes use it."""

    async def execute(self, command: list[str], timeout: float) -> int:
        """Run a command in the container and return its exit code. Raises TimeoutError."""
        ...

    def on_ready(self, ready: bool) -> None:
        """Take a new result of the readiness probe."""
        ...

    def on_started(self) -> None:
        """Take the success of the startup probe."""
        ...

    def on_failed(self, kind: str) -> None:
        """End the container, whose startup or liveness probe has reached its failure threshold."""
        ...


async def watch_container(container: Object, address: str, runner: Runner) -> None:
    """Run the probes until cancelled, or until one has ended the container."""

    def results(kind: str) -> AsyncIterator[bool]:
        probe: Object = container[kind]
        return _results(probe, partial(_succeeds, probe, container, address, runner))

    async def watch_readiness() -> None:
        async for ready in results("readinessProbe"):
            runner.on_ready(ready)

    async def watch_liveness() -> None:
        async for alive in results("livenessProbe"):
            if not alive:
                runner.on_failed("Liveness")
                return

    if container.get("startupProbe") and not await anext(results("startupProbe")):
        runner.on_failed("Startup")
        return
    runner.on_started()
    async with asyncio.TaskGroup() as probes:
        if container.get("readinessProbe"):
            probes.create_task(watch_readiness(), name="readiness-probe")
        else:
            runner.on_ready(True)
        if container.get("livenessProbe"):
            probes.create_task(watch_liveness(), name="liveness-probe")


async def _results(probe: Object, run_probe: Callable[[], Awaitable[bool]]) -> AsyncIterator[bool]:
    """Run a probe forever, and yield each result that reaches its threshold of consecutive ones.

    Defaults are those of the Kubernetes API (pkg/apis/core/v1/defaults.go).
    """
    thresholds = {True: int(probe.get("successThreshold") or 1), False: int(probe.get("failureThreshold") or 3)}
    await asyncio.sleep(float(probe.get("initialDelaySeconds") or 0))
    last, count = False, 0
    while True:
        answer = await run_probe()
        count = count + 1 if answer == last else 1
        last = answer
        if count >= thresholds[answer]:
            yield answer
        await asyncio.sleep(float(probe.get("periodSeconds") or 10))


async def _succeeds(probe: Object, container: Object, address: str, runner: Runner) -> bool:
    timeout = float(probe.get("timeoutSeconds") or 1)
    try:
        async with asyncio.timeout(timeout):
            if command := (probe.get("exec") or {}).get("command"):
                return await runner.execute([str(part) for part in command], timeout) == 0
            if action := probe.get("tcpSocket"):
                return await _connects(str(action.get("host") or address), _port(action, container))
            if action := probe.get("httpGet"):
                return await _answers(action, str(action.get("host") or address), _port(action, container))
    except (OSError, aiohttp.ClientError, ValueError):
        return False
    return True  # grpc and newer probes are not supported; they always succeed


async def _connects(host: str, port: int) -> bool:
    _, writer = await asyncio.open_connection(host, port)
    writer.close()
    return True


async def _answers(action: Object, host: str, port: int) -> bool:
    scheme = str(action.get("scheme") or "HTTP").lower()
    path = "/" + str(action.get("path") or "").lstrip("/")
    headers = {str(each.get("name")): str(each.get("value")) for each in action.get("httpHeaders") or ()}
    url = f"{scheme}://{host}:{port}{path}"
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.get(url, ssl=False, allow_redirects=False) as response,
    ):
        return 200 <= response.status < 400


def _port(action: Object, container: Object) -> int:
    """Return the port of a probe: a number, or the name of a port of the container."""
    port: Any = action.get("port")
    for each in container.get("ports") or ():
        if each.get("name") == port:
            return int(each["containerPort"])
    return int(port)
