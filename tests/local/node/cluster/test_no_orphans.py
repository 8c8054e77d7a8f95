"""However the agent ends, no process and no network link of it is left."""

import asyncio
import os
import signal
import subprocess
import uuid
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

import pytest

from muster.cli.processes.stack import module
from muster.kube.authentication.credentials import ClusterAccess
from muster.kube.connection import Connection
from muster.kube.listwatch.informer import changes
from muster.kube.resources import ResourceClient
from muster.local.apiserver import ApiServer
from muster.local.node import Isolation
from tests.local.node.harness import PODS, ClusterOf, container, pod, refused
from tests.processes.forked import Forked

# A process that ignores signals, and a child in a session of its own with its output closed.
STUBBORN = """
import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 3)
        time.sleep(600)
    os._exit(0)
time.sleep(600)
"""


def processes_with(mark: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                if mark.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except (FileNotFoundError, ProcessLookupError):
                continue
    return found


def agent_beside(command: list[str]) -> Forked[bytes]:
    return Forked(command, start_new_session=True, stdout=subprocess.DEVNULL)


def routes() -> str:
    return Path("/proc/net/fib_trie").read_text()


def interfaces() -> set[str]:
    return {entry.name for entry in Path("/sys/class/net").iterdir()}


async def until(holds: Callable[[], bool], seconds: float = 40.0) -> bool:
    """Poll until a condition holds: there is no event for the end of a process that is not a child."""
    for _ in range(int(seconds / 0.05)):
        if holds():
            return True
        await asyncio.sleep(0.05)
    return False


@pytest.mark.cluster
@pytest.mark.parametrize("isolation", list(Isolation))
async def test_a_killed_agent_leaves_no_process_and_the_next_one_fails_its_pods(
    isolation: Isolation, tmp_path: Path, cluster_of: ClusterOf
) -> None:
    if (reason := await asyncio.to_thread(refused, isolation)) is not None:
        pytest.skip(f"no {isolation} on this machine: {reason}")
    mark = f"muster-orphan-{uuid.uuid4().hex}"
    server = ApiServer(None)
    url = await server.start()
    connection = await Connection.open(ClusterAccess(url))
    api = ResourceClient(connection)
    command = module("tests.local.node.agent_process", url, str(tmp_path), isolation.value)
    try:
        with agent_beside(command) as agent:
            await api.create(PODS, pod("clinging", container(STUBBORN, args=[mark])))
            assert await until(lambda: len(processes_with(mark)) == 2)
            agent.send_signal(signal.SIGKILL)
            agent.wait()
        assert await until(lambda: not processes_with(mark))

        with agent_beside(command) as agent:
            stream = changes(connection, PODS)
            async with asyncio.timeout(40), aclosing(stream):
                async for change in stream:
                    status = change.object.get("status", {})
                    if status.get("phase") == "Failed":
                        break
            agent.terminate()
            assert await asyncio.to_thread(agent.wait) == 0  # this event loop serves its last requests
        assert status["reason"] == "Terminated"
        assert status["containerStatuses"][0]["state"]["terminated"]["reason"] == "ContainerStatusUnknown"
        assert {"DisruptionTarget": "True", "Ready": "False"}.items() <= {
            each["type"]: each["status"] for each in status["conditions"]
        }.items()
    finally:
        await connection.aclose()
        await server.stop()


@pytest.mark.cluster
@pytest.mark.parametrize("isolation", list(Isolation))
async def test_a_container_that_ends_leaves_no_process(isolation: Isolation, cluster_of: ClusterOf) -> None:
    mark = f"muster-rest-{uuid.uuid4().hex}"
    script = (
        f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', '{mark}'])"
    )
    async with cluster_of(isolation) as cluster:
        await cluster.create(pod("parent", container(script)))
        await cluster.phase("parent", "Succeeded")
        assert await until(lambda: not processes_with(mark))


@pytest.mark.cluster
async def test_a_killed_launcher_leaves_no_process_even_without_namespaces(cluster_of: ClusterOf) -> None:
    mark = f"muster-launcher-{uuid.uuid4().hex}"
    async with cluster_of(Isolation.REWRITE) as cluster:
        await cluster.create(pod("clinging", container(STUBBORN, args=[mark])))
        assert await until(lambda: len(processes_with(mark)) == 2)
        assert cluster.agent._node is not None
        os.kill(cluster.agent._node.launcher.pid, signal.SIGKILL)
        assert await until(lambda: not processes_with(mark))


@pytest.mark.cluster
async def test_links_of_dead_agents_are_removed_at_start_and_own_links_at_stop(cluster_of: ClusterOf) -> None:
    if (reason := await asyncio.to_thread(refused, Isolation.NETNS)) is not None:
        pytest.skip(f"no netns on this machine: {reason}")
    abandoned = "muster47"  # the last block, which no agent of this test takes
    pair = ("mv47-1", "mv47-peer")  # a pair whose namespace still exists
    for link in ((abandoned, "type", "bridge"), (pair[0], "type", "veth", "peer", pair[1])):
        await asyncio.to_thread(subprocess.run, ["ip", "link", "add", *link], check=True)
    async with cluster_of(Isolation.NETNS) as cluster:
        node = await cluster.api.get("/api/v1/nodes/local")
        gateway = node["status"]["addresses"][0]["address"]
        assert interfaces().isdisjoint((abandoned, *pair))
        assert gateway in routes()
    assert gateway not in routes()
