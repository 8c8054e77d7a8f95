"""``make demo``: three experiments and a watched run, on a local cluster that runs for two minutes.

1. Four JAX processes train a small network together.
2. One of them is killed: Muster names it and restarts the gang, and training continues from the last checkpoint.
3. In a second experiment rank 2 never calls the coordinator: Muster names the rank and its pod, and a clock ends it.
4. Three pods that no Experiment made, joined by a label: Muster watches them, and names the missing rank.
5. In a third experiment, which has run beside them, a rank hangs in the middle of training, and every pod runs: Muster
   names the rank and its line.
6. The metrics of all, and the next steps.
"""

import asyncio
import contextlib
import os
import re
import signal
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import click
from watched import labelled_pods

from muster.api.errors import MusterError
from muster.api.manifest.load import load_manifest
from muster.cli.exits import INTERRUPTED
from muster.cli.manifests import read_manifest
from muster.cli.options import client_of
from muster.cli.processes.follow_run import RunFollower
from muster.cli.processes.interrupts import Interrupts
from muster.cli.processes.stack import LocalCluster, local_cluster
from muster.cli.terminal.colours import say
from muster.cli.terminal.display import choose_display
from muster.client import Client, Snapshot
from muster.client.submitting import name_for
from muster.local.home import Caller, write_caller

HERE = Path(__file__).parent

VICTIM = 2
HANGS, HANGING_RANK = "jax/hangs.yaml", 1
KILL_STEP = 70
ENVIRONMENT = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}"}
"""The pods run on the Python of this program, which has jax, whether its virtual environment is active or not."""
METRICS = re.compile(r"^muster_(experiment_|gang_restarts|outcomes|experiments\{)(?!.* 0(\.0)?$)")
"""Metrics of experiments that are not zero."""
SHOWN_METRICS = re.compile(r"^muster_(experiment_(ranks_|stuck|hang_info)|gang_restarts|outcomes)")
"""Metrics that are shown at the end, while the gang hangs: its own, and counters of all."""


def headline(number: int, title: str, write: Callable[[str], None] = say) -> None:
    """Print the title of a step."""
    write("")
    write(click.style(f"── {number}. {title}", bold=True))


class Demo:
    """The steps on one cluster. The gang that hangs runs from the beginning: its hang takes a minute to show."""

    def __init__(self, cluster: LocalCluster, client: Client, interrupts: Interrupts) -> None:
        self._cluster = cluster
        self._client = client
        self._interrupts = interrupts
        self._display = choose_display()
        self.metrics: list[str] = []
        """The metrics of the experiments in Prometheus while one of them hangs."""

    async def run(self) -> bool:
        """Run all experiments. Return True if each ended as its title announces."""
        hanging = load_manifest((HERE / HANGS).read_text(), filename=HANGS)
        name = name_for(hanging, HANGS)
        with write_caller(self._cluster.callers, "default", name, Caller(ENVIRONMENT, Path.cwd())):
            await self._client.submit(hanging, name=name, namespace="default", filename=HANGS)
            try:
                named = await self._others() and await self._show_hang(name)
                shown = filter(SHOWN_METRICS.match, await scrape(self._cluster.daemon_url))
                self.metrics = [line for line in shown if 'experiment="' not in line or f'experiment="{name}"' in line]
                return named
            finally:
                await self._client.delete(name, namespace="default")

    async def _others(self) -> bool:
        """Run the experiments that do not hang."""
        headline(1, "four JAX processes train together   (examples/jax/manifest.yaml)")
        trained = await self._run("jax/manifest.yaml", kill=True)
        headline(3, f"rank {VICTIM} never calls the coordinator   (examples/jax/missing-rank.yaml)")
        missed = await self._run("jax/missing-rank.yaml", kill=False)
        return (
            trained is not None
            and missed is not None
            and trained.phase == "Succeeded"
            and trained.status.restarts == 1
            and missed.status.reason == "AssemblyDeadlineExceeded"
            and await self._watch_over()
        )

    async def _show_hang(self, name: str) -> bool:
        """Show Muster's report of the gang that hangs. Return True if it names the rank and its place."""
        headline(5, f"every pod of a third experiment runs, but training makes no progress   (examples/{HANGS})")
        url = f"{self._cluster.daemon_url}/experiments/default/{name}.json"
        said = await asyncio.wait_for(stuck(url), 90.0)
        say(f"   {said['message']}")
        for finding in said["findings"]:
            say(f"   {finding['sentence']}")
            say(f"   {finding['evidence']}")
        return f"rank {HANGING_RANK} is in next_batch (train.py:" in said["message"]

    async def _watch_over(self) -> bool:
        """Make labelled pods, and show Muster's report. Return True if it names the missing rank."""
        headline(4, f"labelled pods that no Experiment made; rank {labelled_pods.ABSENT} does not come")
        core = "/api/v1/namespaces/default"
        resources = self._client.resources
        await resources.create(f"{core}/services", labelled_pods.service())
        for rank in range(labelled_pods.SIZE):
            await resources.create(f"{core}/pods", labelled_pods.pod(rank))
        url = f"{self._cluster.daemon_url}/experiments/default/pods/{labelled_pods.NAME}.json"
        said = str((await asyncio.wait_for(stuck(url), 90.0))["message"])
        say(f"   {said}")
        for rank in range(labelled_pods.SIZE):
            await resources.delete(f"{core}/pods/{labelled_pods.NAME}-{rank}")
        return f"missing rank {labelled_pods.ABSENT} " in said

    async def _run(self, file: str, *, kill: bool) -> Snapshot | None:
        path = HERE / file
        manifest = read_manifest(str(path))
        name = name_for(manifest.loaded, path.name)
        with write_caller(self._cluster.callers, "default", name, Caller(ENVIRONMENT, Path.cwd())):
            seen = await self._client.submit(manifest.loaded, name=name, namespace="default", filename=path.name)
            say(f"submitted {seen.namespace}/{seen.name}")
            beside = self._kill_one if kill else self._show_stuck
            task = asyncio.create_task(beside(name), name="beside the run")
            try:
                self._display = choose_display()
                with self._display as display:
                    plan = manifest.plan(name=name, namespace="default")
                    follower = RunFollower(self._client, seen, display, plan, self._cluster)
                    last = await follower.to_the_end(self._interrupts)
                say(follower.outcome())
                return None if self._interrupts.count else last
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def _kill_one(self, name: str) -> None:
        """Kill a worker with SIGKILL once training has begun."""
        async with contextlib.aclosing(self._client.logs(name, (0,), follow=True)) as lines:
            async for line in lines:
                if (found := re.match(r"step +(\d+)", line.text)) and int(found[1]) >= KILL_STEP:
                    break
        member = next(m for m in await self._client.members(name) if m.rank == VICTIM)
        if member.process is not None:
            death = f"kill -9 {member.process}: rank {VICTIM} ({member.pod}) dies in the middle of a step"
            headline(2, death, self._display.say)
            os.kill(member.process, signal.SIGKILL)

    async def _show_stuck(self, name: str) -> None:
        """Once the condition Stuck is true, show the condition, the Event and the metrics."""
        async with contextlib.aclosing(self._client.watch(name)) as changes:
            async for change in changes:
                if change.experiment.holds("Stuck"):
                    break
        self._display.say(click.style("   the experiment is stuck:", bold=True))
        self._display.say(f"   condition  Stuck=True  {change.experiment.reason}")
        await asyncio.sleep(1)  # Events are written after the status
        for event in await self._client.events(name):
            if event.reason == "Stuck":
                self._display.say(f"   event      {event.type}  {event.reason}  {event.message}")
        for line in await scrape(self._cluster.daemon_url):
            if f'"{name}"' in line and re.search("stuck|ranks", line):
                self._display.say(f"   metric     {line}")


async def stuck(url: str) -> dict[str, Any]:
    """Return the daemon's document of a stuck run. Ask every second: a run without an object has no watch."""
    async with aiohttp.ClientSession() as session:
        while True:
            async with session.get(url) as answer:
                found = await answer.json() if answer.status == 200 else {}
            if found.get("stuck"):
                return dict(found)
            await asyncio.sleep(1)


async def scrape(url: str) -> list[str]:
    """Return the lines of ``/metrics`` about experiments."""
    async with aiohttp.ClientSession() as session, session.get(f"{url}/metrics") as answer:
        return [line for line in (await answer.text()).splitlines() if METRICS.match(line)]


async def main() -> int:
    """Run the demo. Return 0 if everything went as expected."""
    with Interrupts() as interrupts:
        async with AsyncExitStack() as parts:
            starting = parts.enter_async_context(local_cluster(keep=False))
            cluster = await interrupts.guard(asyncio.create_task(starting, name="start"))
            if cluster is None:
                return INTERRUPTED
            client = await parts.enter_async_context(client_of(cluster.kubeconfig))
            demo = Demo(cluster, client, interrupts)
            went_well = await demo.run()
            if interrupts.count:
                return INTERRUPTED
            headline(6, f"what Prometheus sees   ({cluster.daemon_url}/metrics)")
            for line in demo.metrics:
                say(f"   {line}")
            say("")
            say("Where to look next (after `. .venv/bin/activate`):")
            say("   muster run examples/jax/manifest.yaml    the same, once, with its outcome as exit status")
            say("   muster local up                          a cluster that stays; kubectl works on it")
            say("   muster explain NAME                      the history of an experiment, and what it waits for")
            say("   docs/architecture.md                     how it works, on one page")
            say(f"   {cluster.daemon_url}/                   the roll-call page, while this runs")
    if not went_well:
        say("the demo did not go as it should; see above")
    return 0 if went_well else 1


if __name__ == "__main__":
    try:
        sys.exit(asyncio.run(main()))
    except MusterError as error:
        say(f"demo: {error}")
        sys.exit(1)
