"""Prometheus, Alertmanager and a receiver of webhooks on loopback, configured as deploy/prometheus ships it.

Only addresses differ from the shipped files: where musterd, Alertmanager and the receiver are.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import yaml
from aiohttp import web

from muster.cli.processes.stack import Child, free_port
from tests.deploy.prometheus.binaries import Program, program
from tests.deploy.prometheus.promtool import ROOT

SHIPPED = ROOT / "deploy" / "prometheus"
_READY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Notification:
    """One alert of one webhook, and the monotonic second it arrived."""

    name: str
    status: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    at: float


@dataclass(slots=True)
class Pipeline:
    """What has arrived at the receiver, and the API of Prometheus."""

    prometheus: str
    received: list[Notification] = field(default_factory=list)
    news: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def until(self, holds: Callable[[Notification], bool], seconds: float) -> Notification:
        """The first notification for which ``holds`` is true."""
        async with asyncio.timeout(seconds), self.news:
            while True:
                if found := next(filter(holds, self.received), None):
                    return found
                await self.news.wait()

    async def receive(self, request: web.Request) -> web.Response:
        body, now = await request.json(), time.monotonic()
        async with self.news:
            for alert in body["alerts"]:
                labels, annotations = alert["labels"], alert["annotations"]
                self.received.append(Notification(labels["alertname"], alert["status"], labels, annotations, now))
            self.news.notify_all()
        return web.Response()

    async def firing(self) -> list[Mapping[str, str]]:
        """The labels of the alerts that fire now, whether they have been sent or not."""
        async with aiohttp.ClientSession() as session, session.get(f"{self.prometheus}/api/v1/alerts") as answer:
            alerts = (await answer.json())["data"]["alerts"]
        return [alert["labels"] for alert in alerts if alert["state"] == "firing"]


@asynccontextmanager
async def pipeline(folder: Path, *targets: str) -> AsyncIterator[Pipeline]:
    """Start all three for the duration of the block; ``targets`` are addresses of musterds. Raises ``Unavailable``."""
    prometheus, alertmanager, receiver = free_port(), free_port(), free_port()
    built = Pipeline(f"http://127.0.0.1:{prometheus}")
    await asyncio.to_thread(_configure, folder, targets, alertmanager, receiver)
    async with AsyncExitStack() as stack:
        runner = web.AppRunner(_application(built))
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        await web.TCPSite(runner, "127.0.0.1", receiver).start()
        await stack.enter_async_context(serve("alertmanager", folder, alertmanager))
        await stack.enter_async_context(serve("prometheus", folder, prometheus))
        yield built


@asynccontextmanager
async def serve(name: Program, folder: Path, port: int, *options: str) -> AsyncIterator[None]:
    """Prometheus or Alertmanager on a port of loopback, with its configuration and its data in ``folder``."""
    command = (
        str(await asyncio.to_thread(program, name)),
        f"--config.file={folder / name}.yaml",
        f"--storage.{'tsdb.' if name == 'prometheus' else ''}path={folder / name}",
        f"--web.listen-address=127.0.0.1:{port}",
        *(("--cluster.listen-address=",) if name == "alertmanager" else ()),
        *options,
    )
    child = await Child.start(name, command, folder / f"{name}.log")
    try:
        await _ready(child, f"http://127.0.0.1:{port}/-/ready")
        yield
    finally:
        await child.stop()


def _configure(folder: Path, targets: Sequence[str], alertmanager: int, receiver: int) -> None:
    """The shipped files with the addresses of this machine."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "muster.rules.yaml").write_bytes((SHIPPED / "muster.rules.yaml").read_bytes())
    settings = yaml.safe_load((SHIPPED / "prometheus.yaml").read_text())
    settings["alerting"]["alertmanagers"] = [{"static_configs": [_at(f"127.0.0.1:{alertmanager}")]}]
    (job,) = settings["scrape_configs"]
    for part in ("authorization", "kubernetes_sd_configs", "relabel_configs"):
        del job[part]
    job["static_configs"] = [_at(*targets)]
    (folder / "prometheus.yaml").write_text(yaml.safe_dump(settings))
    settings = yaml.safe_load((SHIPPED / "alertmanager.yaml").read_text())
    (folder / "alertmanager.yaml").write_text(yaml.safe_dump(received_at(settings, f"http://127.0.0.1:{receiver}/")))


def received_at(settings: dict[str, Any], url: str) -> dict[str, Any]:
    """The configuration of Alertmanager with all receivers at one address, each with its name as the query."""
    for receiver in settings["receivers"]:
        if receiver["name"] != "unsent":
            receiver["webhook_configs"] = [{"url": f"{url}?{receiver['name']}"}]
    return settings


def _at(*addresses: str) -> dict[str, Any]:
    return {"targets": list(addresses)}


def _application(built: Pipeline) -> web.Application:
    application = web.Application()
    application.router.add_post("/", built.receive)
    return application


async def _ready(child: Child, url: str) -> None:
    async with asyncio.timeout(_READY_SECONDS), aiohttp.ClientSession() as session:
        while True:
            if child.process.returncode is not None:
                await child.watch()
            try:
                async with session.get(url) as answer:
                    if answer.status == 200:
                        return
            except aiohttp.ClientConnectionError:
                pass
            await asyncio.sleep(0.1)
