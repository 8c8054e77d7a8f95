"""Startup, readiness and liveness probes of one container (pkg/kubelet/prober).

The other two start after the startup probe has succeeded. A startup or liveness probe that fails ends the container; a
readiness probe only sets its readiness.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol, Self

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


@dataclass(frozen=True, slots=True)
class ProbeTiming:
    """Times of a probe, in seconds, and its thresholds of consecutive results."""

    delay: float
    period: float
    timeout: float
    successes: int
    failures: int

    @classmethod
    def of(cls, probe: Object) -> Self:
        """Return the times, with the defaults of the Kubernetes API (pkg/apis/core/v1/defaults.go)."""
        return cls(
            delay=float(probe.get("initialDelaySeconds") or 0),
            period=float(probe.get("periodSeconds") or 10),
            timeout=float(probe.get("timeoutSeconds") or 1),
            successes=int(probe.get("successThreshold") or 1),
            failures=int(probe.get("failureThreshold") or 3),
        )


async def watch_container(container: Object, address: str, runner: Runner) -> None:
    """Run the probes until cancelled, or until one has ended the container."""
    startup = container.get("startupProbe")
    if startup and not await _until_settled(startup, _make_probe(startup, container, address, runner)):
        runner.on_failed("Startup")
        return
    runner.on_started()
    async with asyncio.TaskGroup() as probes:
        if readiness := container.get("readinessProbe"):
            run_probe = _make_probe(readiness, container, address, runner)
            probes.create_task(_repeat(readiness, run_probe, runner.on_ready), name="readiness-probe")
        else:
            runner.on_ready(True)
        if liveness := container.get("livenessProbe"):
            run_probe = _make_probe(liveness, container, address, runner)
            probes.create_task(_liveness(liveness, run_probe, runner), name="liveness-probe")


async def _until_settled(probe: Object, run_probe: Callable[[], Awaitable[bool]]) -> bool:
    """Return True at the first success, False when the failure threshold is reached."""
    timing = ProbeTiming.of(probe)
    await asyncio.sleep(timing.delay)
    failed = 0
    while True:
        if await run_probe():
            return True
        failed += 1
        if failed >= timing.failures:
            return False
        await asyncio.sleep(timing.period)


async def _repeat(probe: Object, run_probe: Callable[[], Awaitable[bool]], report: Callable[[bool], None]) -> None:
    """Run a probe forever, and report each result that reaches its threshold."""
    timing = ProbeTiming.of(probe)
    await asyncio.sleep(timing.delay)
    last, count = False, 0
    while True:
        answer = await run_probe()
        count = count + 1 if answer == last else 1
        last = answer
        if count >= (timing.successes if answer else timing.failures):
            report(answer)
        await asyncio.sleep(timing.period)


async def _liveness(probe: Object, run_probe: Callable[[], Awaitable[bool]], runner: Runner) -> None:
    dead = asyncio.Event()

    def report(alive: bool) -> None:
        if not alive:
            dead.set()

    repeating = asyncio.create_task(_repeat(probe, run_probe, report), name="liveness-repeat")
    try:
        await dead.wait()
    finally:
        repeating.cancel()
        await asyncio.gather(repeating, return_exceptions=True)
    runner.on_failed("Liveness")


def _make_probe(probe: Object, container: Object, address: str, runner: Runner) -> Callable[[], Awaitable[bool]]:
    timeout = ProbeTiming.of(probe).timeout

    async def run_probe() -> bool:
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

    return run_probe


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
