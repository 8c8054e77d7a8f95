"""Two real musterds on one local cluster: the leader is stopped, continues, and is killed, while an experiment runs."""

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from muster.api.errors import NotFound
from muster.api.names import API_VERSION, KIND, LABEL_EPOCH
from muster.cli.processes.stack import free_port, module
from muster.kube.connection import Connection
from muster.kube.resources import core
from tests.fakes.plans import experiment_path
from tests.fakes.relay import Relay
from tests.processes.forked import Forked

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/musterd"
FAST = ("--leader-elect", "--lease-duration", "1.5", "--renew-deadline", "1.0", "--retry-period", "0.2")
LOSSES = re.compile(r'muster_leader_transitions_total\{event="(?:expired|ousted)"\} (\S+)')
PORT = re.compile(r"https://127\.0\.0\.1:(\d+)")
TAKEOVER = 3.0
SLACK = 60.0
"""Seconds that a machine with more to do than this test may take longer. The test judges who leads."""

SLEEPERS = {
    "apiVersion": API_VERSION,
    "kind": KIND,
    "metadata": {"name": "sleepers", "namespace": "default"},
    "spec": {
        "operator": "jobset",
        "image": "none",
        "command": "sleep 20",
        "restartPolicy": {"backoffLimit": 3, "backoff": {"initial": "1s"}},
        "types": {"worker": {"count": 4, "resources": {"cpus": 0.1, "ramRatio": 2}}},
    },
}


class Program:
    """A process of ours, with its output in a file; it ends with this one at the latest."""

    def __init__(self, name: str, folder: Path, *arguments: str, **options: Any) -> None:
        self.log = folder / f"{name}.log"
        with self.log.open("ab") as file:
            self.process = Forked(module(*arguments), stderr=file, cwd=folder, text=True, **options)

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(20)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


class Musterd(Program):
    """One daemon."""

    def __init__(self, name: str, folder: Path, kubeconfig: Path) -> None:
        self.url = f"http://127.0.0.1:{(port := free_port())}"
        address = ("--http-host", "127.0.0.1", "--http-port", str(port), "--log-format", "json")
        super().__init__(name, folder, "muster.daemon.main", "--kubeconfig", str(kubeconfig), *address, *FAST)

    def holds(self, lease: dict[str, Any]) -> bool:
        """Return True if the Lease names it."""
        holder = lease.get("spec", {}).get("holderIdentity") or ""
        return bool(holder.startswith(f"{socket.gethostname()}-{self.process.pid}_"))

    async def says(self, path: str) -> str:
        """Return its answer over HTTP."""
        async with aiohttp.ClientSession() as session, session.get(self.url + path) as answer:
            return await answer.text()


@dataclass
class Ground:
    """The cluster and its objects."""

    cluster: Program
    api: Connection
    relay: Relay
    """The daemons' connection to the API server."""
    one: Musterd
    two: Musterd
    pods: dict[str, dict[str, Any]]
    """Every pod that ever existed, by uid."""

    async def get(self, path: str) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads((await self.api.request("GET", path)).body)
        except NotFound:
            return {}
        return found

    async def leader(self) -> Musterd | None:
        """Return the daemon that leads by its own account, and that the Lease names."""
        held = await self.get(LEASE)
        for daemon in (self.one, self.two):
            if daemon.holds(held):
                with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                    async with asyncio.timeout(0.5):
                        return daemon if "leading" in await daemon.says("/readyz") else None
        return None

    async def leads(self, daemon: Musterd) -> bool:
        return await self.leader() is daemon

    async def status(self) -> dict[str, Any]:
        found = await self.get(experiment_path("default", "sleepers"))
        told: dict[str, Any] = found.get("status") or {}
        return told

    def epoch(self, number: int) -> list[dict[str, Any]]:
        """Return all pods of that epoch that ever existed."""
        return [pod for pod in self.pods.values() if pod["metadata"]["labels"][LABEL_EPOCH] == str(number)]

    def runs(self, epoch: int) -> bool:
        """Return True if all four members of that epoch run."""
        return [pod["status"].get("phase") for pod in self.epoch(epoch)] == ["Running"] * 4

    async def watch(self) -> None:
        """Keep ``pods`` up to date."""
        path = core("default", "pods")
        version = (await self.get(path))["metadata"]["resourceVersion"]
        params = {"watch": "true", "resourceVersion": version}
        async with self.api.lines(path, params=params, silence=120) as lines:
            async for line in lines:
                pod = json.loads(line)["object"]
                self.pods[pod["metadata"]["uid"]] = pod


async def until(holds: Callable[[], Awaitable[bool]], seconds: float) -> float:
    """Wait until ``holds`` returns True. Return the seconds that it took."""
    began = time.monotonic()
    async with asyncio.timeout(seconds):
        while not await holds():  # noqa: ASYNC110 - other processes set no event of ours
            await asyncio.sleep(0.05)
    return time.monotonic() - began


def port_of(kubeconfig: Path) -> int:
    """Return the port of the server that it names."""
    return int(PORT.findall(kubeconfig.read_text())[0])


def through(relay: Relay, kubeconfig: Path, copy: Path) -> Path:
    """Return a copy of a kubeconfig with the relay as its server."""
    copy.write_text(PORT.sub(f"https://127.0.0.1:{relay.port}", kubeconfig.read_text()))
    return copy


@asynccontextmanager
async def two_daemons(folder: Path) -> AsyncIterator[Ground]:
    """Yield a cluster with two daemons, the first one as the leader."""
    async with contextlib.AsyncExitStack() as stack:
        state = str(folder / "cluster")
        cluster = Program("cluster", folder, "muster.local", "--state", state, "--memory-only", stdout=subprocess.PIPE)
        stack.callback(cluster.end)
        assert cluster.process.stdout is not None
        line = await asyncio.to_thread(cluster.process.stdout.readline)
        straight = Path(json.loads(line)["kubeconfig"])
        api = await Connection.from_settings(straight)
        stack.push_async_callback(api.aclose)
        relay = Relay(port_of(straight))
        await relay.serve()
        stack.push_async_callback(relay.refuse)
        kubeconfig = through(relay, straight, folder / "through-the-relay.yaml")
        one = Musterd("one", folder, kubeconfig)
        stack.push_async_callback(asyncio.to_thread, one.end)  # the relay must continue on our loop meanwhile
        ground = Ground(cluster, api, relay, one, one, {})
        await until(lambda: ground.leads(one), 30)
        ground.two = Musterd("two", folder, kubeconfig)
        stack.push_async_callback(asyncio.to_thread, ground.two.end)
        watching = asyncio.create_task(ground.watch(), name="watch pods")
        try:
            await until(lambda: stands_by(ground.two), 30)
            yield ground
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)


async def stands_by(daemon: Musterd) -> bool:
    with contextlib.suppress(aiohttp.ClientError):
        return "standing by" in await daemon.says("/readyz")
    return False


async def losses(daemon: Musterd) -> float:
    """Return how often it stopped leading by its own clock, or by the answer to a renewal in progress."""
    return sum(map(float, LOSSES.findall(await daemon.says("/metrics"))))


async def test_an_experiment_survives_leaders_that_are_stopped_and_killed(tmp_path: Path) -> None:
    async with two_daemons(tmp_path) as ground:
        one, two = ground.one, ground.two
        body = json.dumps(SLEEPERS).encode()
        await ground.api.request("POST", experiment_path("default", "sleepers").rpartition("/")[0], body=body)

        async def runs(epoch: int) -> bool:
            return ground.runs(epoch)

        await until(lambda: runs(0), 30)

        async def lost_another() -> bool:
            return await losses(one) > lost_before

        # The leader is stopped, and a member dies while no daemon leads. On a busy machine it may have lost before.
        lost_before = await losses(one)
        one.signal(signal.SIGSTOP)
        container = ground.epoch(0)[2]["status"]["containerStatuses"][0]["containerID"]
        os.kill(int(container.removeprefix("process://")), signal.SIGKILL)
        after_stop = await until(lambda: ground.leads(two), TAKEOVER + SLACK)
        await until(lambda: runs(1), 30)

        # It continues, finds another leader, and becomes a standby.
        one.signal(signal.SIGCONT)
        await until(lambda: stands_by(one), SLACK)
        await until(lost_another, SLACK)  # counted once its work as the leader has ended
        assert await ground.leads(two)

        # The new leader is killed, and the first one leads again.
        two.signal(signal.SIGKILL)
        after_kill = await until(lambda: ground.leads(one), TAKEOVER + SLACK)
        (tmp_path / "takeovers.json").write_text(json.dumps({"SIGSTOP": after_stop, "SIGKILL": after_kill}))

        async def ended() -> bool:
            return (await ground.status()).get("phase") in ("Succeeded", "Failed")

        await until(ended, 60)
        status = await ground.status()
        assert (status["phase"], status["restarts"], status["epoch"]) == ("Succeeded", 1, 1)
        names = [pod["metadata"]["name"] for pod in ground.pods.values()]
        assert len(names) == len(set(names)) == 8, names
        assert len(ground.epoch(0)) == len(ground.epoch(1)) == 4

        # A clean exit hands over: the Lease is free.
        await asyncio.to_thread(one.end)
        assert one.process.returncode == 0
        assert (await ground.get(LEASE))["spec"]["holderIdentity"] == ""


@pytest.mark.parametrize("how", ["hangs", "refuses"])
async def test_while_the_api_server_is_away_nobody_leads_and_afterwards_one_does(tmp_path: Path, how: str) -> None:
    async with two_daemons(tmp_path) as ground:
        daemons = (ground.one, ground.two)

        async def nobody() -> bool:
            return all([await stands_by(daemon) for daemon in daemons])

        async def somebody() -> bool:
            return await ground.leader() is not None

        if how == "hangs":
            ground.cluster.signal(signal.SIGSTOP)
        else:
            await ground.relay.refuse()
        away = await until(nobody, TAKEOVER + SLACK)
        if how == "hangs":
            ground.cluster.signal(signal.SIGCONT)
        else:
            await ground.relay.serve()
        back = await until(somebody, TAKEOVER + SLACK)
        assert [await stands_by(daemon) for daemon in daemons].count(False) == 1
        (tmp_path / "takeovers.json").write_text(json.dumps({f"API {how}": away, "API back": back}))
