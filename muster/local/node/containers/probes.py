"""Startup, readiness and liveness probes of one container (pkg/kubelet/prober).

While a startup probe has not succeeded, the other two wait. A failing startup or liveness probe ends the container; a
readiness probe only says whether it is ready.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

import aiohttp

from muster.local.node.objects import Object


class Prober(Protocol):
    """What a probe needs of the container it asks."""

    async def execute(self, command: list[str], timeout: float) -> int:
        """Run a command in the container; its exit code. Raises TimeoutError."""
        ...

    def on_ready(self, ready: bool) -> None:
        """The readiness probe has changed its result."""
        ...

    def on_started(self) -> None:
        """The startup probe has succeeded."""
        ...

    def on_failed(self, kind: str) -> None:
        """A startup or liveness probe has failed for good."""
        ...


@dataclass(frozen=True, slots=True)
class ProbeTiming:
    """When a probe is asked, in seconds, and how many answers in a row count."""

    delay: float
    period: float
    timeout: float
    successes: int
    failures: int

    @classmethod
    def of(cls, probe: Object) -> ProbeTiming:
        """With the defaults of the Kubernetes API (pkg/apis/core/v1/defaults.go)."""
        return cls(
            delay=float(probe.get("initialDelaySeconds") or 0),
            period=float(probe.get("periodSeconds") or 10),
            timeout=float(probe.get("timeoutSeconds") or 1),
            successes=int(probe.get("successThreshold") or 1),
            failures=int(probe.get("failureThreshold") or 3),
        )


async def watch_container(container: Object, address: str, prober: Prober) -> None:
    """Probe until cancelled, or until a probe has ended the container."""
    startup = container.get("startupProbe")
    if startup and not await _until_settled(startup, _asker(startup, container, address, prober)):
        prober.on_failed("Startup")
        return
    prober.on_started()
    async with asyncio.TaskGroup() as probes:
        if readiness := container.get("readinessProbe"):
            ask = _asker(readiness, container, address, prober)
            probes.create_task(_repeat(readiness, ask, prober.on_ready), name="readiness-probe")
        else:
            prober.on_ready(True)
        if liveness := container.get("livenessProbe"):
            ask = _asker(liveness, container, address, prober)
            probes.create_task(_liveness(liveness, ask, prober), name="liveness-probe")


async def _until_settled(probe: Object, ask: Callable[[], Awaitable[bool]]) -> bool:
    """True at the first success, False when it has failed too often in a row."""
    timing = ProbeTiming.of(probe)
    await asyncio.sleep(timing.delay)
    failed = 0
    while True:
        if await ask():
            return True
        failed += 1
        if failed >= timing.failures:
            return False
        await asyncio.sleep(timing.period)


async def _repeat(probe: Object, ask: Callable[[], Awaitable[bool]], tell: Callable[[bool], None]) -> None:
    """Report each settled answer, again and again."""
    timing = ProbeTiming.of(probe)
    await asyncio.sleep(timing.delay)
    last, count = False, 0
    while True:
        answer = await ask()
        count = count + 1 if answer == last else 1
        last = answer
        if count >= (timing.successes if answer else timing.failures):
            tell(answer)
        await asyncio.sleep(timing.period)


async def _liveness(probe: Object, ask: Callable[[], Awaitable[bool]], prober: Prober) -> None:
    dead = asyncio.Event()

    def tell(alive: bool) -> None:
        if not alive:
            dead.set()

    repeating = asyncio.create_task(_repeat(probe, ask, tell), name="liveness-repeat")
    try:
        await dead.wait()
    finally:
        repeating.cancel()
        await asyncio.gather(repeating, return_exceptions=True)
    prober.on_failed("Liveness")


def _asker(probe: Object, container: Object, address: str, prober: Prober) -> Callable[[], Awaitable[bool]]:
    timeout = ProbeTiming.of(probe).timeout

    async def ask() -> bool:
        try:
            async with asyncio.timeout(timeout):
                if command := (probe.get("exec") or {}).get("command"):
                    return await prober.execute([str(part) for part in command], timeout) == 0
                if action := probe.get("tcpSocket"):
                    return await _connects(str(action.get("host") or address), _port(action, container))
                if action := probe.get("httpGet"):
                    return await _answers(action, str(action.get("host") or address), _port(action, container))
        except (OSError, aiohttp.ClientError, ValueError):
            return False
        return True  # grpc and anything newer: not supported here, so not held against the container

    return ask


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
    """A port by number, or by the name one of the container's ports has."""
    port: Any = action.get("port")
    for each in container.get("ports") or ():
        if each.get("name") == port:
            return int(each["containerPort"])
    return int(port)
