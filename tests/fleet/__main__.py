"""``python -m tests.fleet`` plays the story on two real musterds, a Prometheus and an Alertmanager: 19 minutes.

It prints what happens, each incident and each notification with its second, and ends with 1 if they are not the right
ones, or with 3 if a program is missing. Prometheus and Alertmanager have the shipped rules, routes and inhibitions.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import aiohttp

from muster.cli.processes.stack import Child, free_port, module
from tests.deploy.prometheus.binaries import Unavailable, program
from tests.deploy.prometheus.live.pipeline import Pipeline, pipeline
from tests.fakes.relay import Relay
from tests.fleet.cluster import RUNS, Cluster
from tests.fleet.story import GAP, HEALED, OVER, SILENT, STORY, Said, Seen, faults

LOOK = 5.0
"""Seconds between two looks at the incidents of musterd."""
START = 300.0
"""Seconds in which one musterd leads, and both are scraped."""


class Play:
    """The story, on a cluster with two musterds."""

    def __init__(self, cluster: Cluster, relays: list[Relay], monitoring: Pipeline) -> None:
        self._cluster, self._relays, self._monitoring = cluster, relays, monitoring
        self._begin = time.monotonic()
        self._shown: dict[str, str] = {}
        self.seen = Seen()

    @property
    def now(self) -> float:
        """The second of the story."""
        return time.monotonic() - self._begin

    def print(self, what: str) -> None:
        """A line of the report."""
        sys.stdout.write(f"{self.now:7.1f} s  {what}\n")
        sys.stdout.flush()

    async def play(self) -> None:
        """Let it happen, until each alert has ended or its time is up."""
        await self._until_scraped()
        self._begin = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            watching = [tasks.create_task(each) for each in (self._incidents(), self._notifications())]
            for event in STORY:
                await asyncio.sleep(event.at - self.now)
                if event.at == HEALED:
                    self.seen.incidents = await self._look()
                self.print(f"-- {event.what}")
                event.act(self._cluster)
                if event is GAP:
                    await self._silence()
            while self.now < HEALED + OVER and await self._monitoring.firing():  # noqa: ASYNC110 - another process
                await asyncio.sleep(LOOK)
            await asyncio.sleep(60)  # the last notifications: group_interval is 30 s
            for task in watching:
                task.cancel()
        self.seen.firing = [f"{each['alertname']} {about(each)}" for each in await self._monitoring.firing()]

    async def _until_scraped(self) -> None:
        """One musterd leads, has seen all runs, and both are scraped."""
        asked = f"{self._monitoring.prometheus}/api/v1/query"
        query = f"count(muster_experiment_info) == {RUNS} and count(muster_build_info) == 2"
        async with asyncio.timeout(START), aiohttp.ClientSession() as session:
            while True:
                async with session.get(asked, params={"query": query}) as answer:
                    if (await answer.json())["data"]["result"]:
                        return
                await asyncio.sleep(LOOK)

    async def _silence(self) -> None:
        for relay in self._relays:
            await relay.refuse()
        await asyncio.sleep(SILENT)
        for relay in self._relays:
            await relay.serve()
        self.print("-- scrapes succeed again")

    async def _incidents(self) -> None:
        while True:
            await self._look()
            await asyncio.sleep(LOOK)

    async def _look(self) -> dict[str, int]:
        """The runs of each incident, which are printed where they have changed."""
        found: dict[str, int] = {}
        said: dict[str, str] = {}
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(30)) as session:
            for relay in self._relays:
                document: dict[str, Any] = {}
                with suppress(aiohttp.ClientConnectionError):  # it has not started yet
                    async with session.get(f"http://127.0.0.1:{relay.target}/incidents.json") as answer:
                        document = await answer.json() if answer.status == 200 else {}
                for each in document.get("incidents", ()):
                    name = f"{each['kind']} {each['subject']}"
                    found[name], said[name] = len(each["runs"]), each["sentence"]
        for name, sentence in said.items():
            if self._shown.get(name) != sentence:
                self.print(f"incident   {sentence}")
        for name in self._shown.keys() - said:
            self.print(f"incident   {name} is over")
        self._shown = said
        return found

    async def _notifications(self) -> None:
        said, received = self.seen.said, self._monitoring.received
        while True:
            async with self._monitoring.news:
                await self._monitoring.news.wait_for(lambda: len(received) > len(said))
            for each in received[len(said) :]:
                found = Said(each.at - self._begin, each.name, each.status, each.labels["severity"], about(each.labels))
                said.append(found)
                self.print(f"{found.status:9}  {found.severity} {found.alert} {found.about}")


def about(labels: Mapping[str, str]) -> str:
    """What an alert is about."""
    if "subject" in labels:
        return f"{labels['kind']} {labels['subject']}"
    return labels.get("experiment", labels.get("job", ""))


async def played(folder: Path) -> Seen:
    """Start all programs, and play."""
    cluster = Cluster()
    async with AsyncExitStack() as stack:
        kubeconfig = await cluster.serve(folder)
        stack.push_async_callback(cluster.api.stop)
        relays = []
        for number in range(2):
            port, health = free_port(), free_port()
            options = ("--kubeconfig", str(kubeconfig), "--http-port", str(port), "--health-port", str(health))
            watched = ("--watch-kinds", "pods", "--node-labels", "--leader-elect", "--log-format", "json")
            command = module("muster.daemon.main", *options, *watched)
            child = await Child.start("musterd", command, folder / f"musterd-{number}.log")
            stack.push_async_callback(child.stop)
            relays.append(Relay(port))
            await relays[-1].serve()
            stack.push_async_callback(relays[-1].refuse)
        targets = [f"127.0.0.1:{relay.port}" for relay in relays]
        monitoring = await stack.enter_async_context(pipeline(folder / "monitoring", *targets))
        play = Play(cluster, relays, monitoring)
        await play.play()
    return play.seen


def main() -> int:
    """0 if all incidents and notifications were right."""
    try:
        for name in ("prometheus", "alertmanager"):
            program(name)
    except Unavailable as reason:
        sys.stderr.write(f"{reason}\n")
        return 3
    with tempfile.TemporaryDirectory(prefix="muster-fleet-") as folder:
        seen = asyncio.run(played(Path(folder)))
    wrong = faults(seen)
    pages = sum(each.status == "firing" and each.severity == "critical" for each in seen.said)
    firing = sum(each.status == "firing" for each in seen.said)
    sys.stdout.write(f"{firing} notifications of alerts that fire, {pages} of them critical; faults: {len(wrong)}\n")
    for each in wrong:
        sys.stdout.write(f"  {each}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
