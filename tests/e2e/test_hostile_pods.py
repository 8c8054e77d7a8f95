"""Eight pods that flood their probes: musterd stays alive and small, and another namespace's experiments go on."""

import asyncio
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from muster.client import Client
from tests.e2e.environment import Environment, environment, experiment
from tests.watchers.probes.floods import FLOODS

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

NAMESPACE, PORT = "hostile", 7700
KINDS = [
    *["interim answers"] * 3,
    "header lines",
    "frames of an unknown type",
    "WINDOW_UPDATE",
    "PRIORITY",
    "PING, asked for health",
]
LONG = 300.0
"""Seconds for what comes true on a machine that does much else, too."""
RUNS = 4
"""Experiments of the other namespace, one after the other."""
MOST_GROWN = 64.0
"""MB of the process, also while the floods last."""
MOST_READ = 8_000_000
"""Bytes that one pod gets rid of in a look, with what the kernels keep of its connection."""


def pod(number: int, kind: str) -> dict[str, Any]:
    """The first of a set of labelled pods; its program floods what asks it."""
    name, port, probe = f"flood-{number}", str(PORT + number), FLOODS[kind].probe
    size = "1" if probe.stated else "2"  # the coordinator of one process has nothing to say
    said = {"size": size, "coordinator-port": port, "probe": probe.value}
    container = {
        "name": "flood",
        "image": "none",
        "command": [sys.executable, "-m", "tests.watchers.probes.floods", kind, port],
        "resources": {"limits": {"cpu": "100m"}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{name}-0",
            "labels": {"muster.dev/observe": name},
            "annotations": {f"muster.dev/{key}": value for key, value in said.items()},
        },
        "spec": {"restartPolicy": "Never", "containers": [container], "terminationGracePeriodSeconds": 1},
    }


def memory(pid: int) -> float:
    """The resident memory of a process in MB."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


def processor(pid: int) -> float:
    """The CPU seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


class Watch:
    """Asks ``/livez`` all the time, and looks at the memory of musterd."""

    def __init__(self, here: Environment, pid: int) -> None:
        self._url, self._pid = f"http://127.0.0.1:{here.port}/livez", pid
        self.statuses: Counter[int] = Counter()
        """How many answers had that status; where none comes, looking fails."""
        self.slowest = 0.0
        self.largest = 0.0

    async def look(self) -> None:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=LONG)) as session:
            while True:
                began = time.monotonic()
                async with session.get(self._url) as answer:
                    self.statuses[answer.status] += 1
                self.slowest = max(self.slowest, time.monotonic() - began)
                self.largest = max(self.largest, memory(self._pid))
                await asyncio.sleep(0.1)


async def said_of(here: Environment, number: int) -> str:
    """What musterd says of a set of pods, once its probe has said something of the coordinator."""
    url = f"http://127.0.0.1:{here.port}/experiments/{NAMESPACE}/pods/flood-{number}.json"
    async with asyncio.timeout(LONG), aiohttp.ClientSession() as session:
        while True:
            async with session.get(url) as answer:
                found: dict[str, Any] = await answer.json() if answer.status == 200 else {}
            if "left alone" in str(found):
                return str(found["coordinator"]["detail"])
            await asyncio.sleep(0.2)


async def sent_by(here: Environment, number: int) -> float:
    """The bytes that a pod got rid of so far, for each of its connections."""
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/flood-{number}-0/log"
    lines = (await here.client.transport.request("GET", path)).body.decode().splitlines()
    sent, connections = map(int, lines[-1].split()) if lines else (0, 1)
    return sent / connections


async def run(client: Client, here: Environment, name: str) -> None:
    await client.submit(experiment(name, "true", restartPolicy={"backoffLimit": 0}))
    assert (await here.until(name, lambda seen: seen.finished, LONG)).phase == "Succeeded"


async def test_floods_of_one_namespace_neither_stop_the_daemon_nor_grow_it_nor_hold_up_another(tmp_path: Path) -> None:
    async with environment(tmp_path / "home") as here:
        await here.start_daemon("--watch-kinds", "pods")
        assert here.daemon is not None
        pid, resources = here.daemon.process.pid, here.client.resources
        await run(here.client, here, "before")
        before = memory(pid)
        watch = Watch(here, pid)
        looking = asyncio.create_task(watch.look())
        began, spent = time.monotonic(), processor(pid)
        await resources.create(
            "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        )
        pods = f"/api/v1/namespaces/{NAMESPACE}/pods"
        for number, kind in enumerate(KINDS):
            await resources.create(pods, pod(number, kind))
        said = await asyncio.gather(*(said_of(here, number) for number in range(len(KINDS))))
        for number in range(RUNS):
            await run(here.client, here, f"other-{number}")
        share = (processor(pid) - spent) / (time.monotonic() - began)
        sent = await asyncio.gather(*(sent_by(here, number) for number in range(len(KINDS))))
        during = watch.statuses.copy()
        for number in range(len(KINDS)):
            await resources.delete(f"{pods}/flood-{number}-0")
        await run(here.client, here, "after")
        assert not looking.done(), looking.exception()
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
        after = memory(pid)
        sys.stdout.write(
            f"memory {before:.0f} MB, at most {watch.largest:.0f} MB, then {after:.0f} MB; {share:.0%} of a core, "
            f"{share / len(KINDS):.1%} for each pod; /livez {during.total()} times, at most {watch.slowest:.2f} s; "
            f"at most {max(sent) / 1e6:.1f} MB read of a pod in a look\n" + "\n".join(said) + "\n"
        )
        assert during[200] > RUNS
        assert set(watch.statuses) == {200}, "every one was answered"
        assert min(sent) > 0
        assert max(sent) <= MOST_READ
        assert watch.largest - before <= MOST_GROWN
        assert after - before <= MOST_GROWN
