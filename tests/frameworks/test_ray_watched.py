"""Real Ray processes behind a RayCluster that Muster only watches over: what is said of it, and at which second.

The pods are as KubeRay writes them (``kuberay_stand_in``); the kubelet's part, restarts included, is the local node's.
The seconds are printed and not asserted: they depend on the machine.

On a busy machine a worker's first ``ray start`` may exit 1, and so may the head's. That is Ray's own doing: the init
container waits until the GCS answers, which it does before the head's node is in its list ("No node info found for head
node in GCS"), and a raylet has 30 s to start ("The current node timed out during startup"). The container is started
again, which is said as it would be on a cluster.
"""

import asyncio
import contextlib
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import pytest

from muster.kube.resources import core
from tests.e2e.environment import Environment, environment
from tests.frameworks.kuberay_stand_in import CLUSTER, CLUSTER_PATH, NAMESPACE, create_cluster, create_pods, install
from tests.frameworks.ray_cluster import kill, processes_of, search_path

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900), pytest.mark.xdist_group("frameworks")]

TITLE = f"raycluster/{CLUSTER}"
COMPLETE = "3/3 ranks arrived"
STALE = re.compile(
    r"ranks? ([0-9, -]+): known only to the coordinator that ran before this one"
    r"|rank ([0-9]+) \([^()]*, running, but it belongs to the life of the coordinator before this one\)"
)
"""What is said of stale members where there is another finding beside them, and of a single one that is missing."""
EVERY = 0.2
"""Seconds between two looks at the page."""


class Said(NamedTuple):
    """What the page says of the run."""

    phase: str
    reason: str
    stuck: str
    message: str


def stale_ranks(message: str) -> list[int]:
    """The ranks that a sentence calls stale."""
    found = STALE.search(message)
    spans = [span.split("-") for span in (found[1] or found[2]).split(", ")] if found else []
    return [rank for span in spans for rank in range(int(span[0]), int(span[-1]) + 1)]


def complete(said: Said) -> bool:
    """All have joined, and nothing else is to be said."""
    return said.reason == "RollComplete" and COMPLETE in said.message and not said.stuck


class Page:
    """Reads the page's document until something is said. ``began`` is the loop's second of the last fault."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}/experiments.json"
        self._last: Said | None = None
        self.began = 0.0

    def mark(self, what: str) -> None:
        """Count the seconds from now on."""
        self.began = asyncio.get_running_loop().time()
        print(f"== {what}")

    async def until(self, holds: Callable[[Said], bool], seconds: float = 150.0) -> Said:
        """What is said first that holds. Everything said on the way is printed, with its second."""
        async with asyncio.timeout(seconds), aiohttp.ClientSession() as session:
            while True:
                with contextlib.suppress(aiohttp.ClientConnectorError):  # the daemon starts
                    async with session.get(self._url) as answer:
                        rows = (await answer.json())["experiments"] if answer.ok else []  # 503: not all is read
                    for row in rows:
                        if row["name"] == TITLE and (said := self._seen(row)) and holds(said):
                            return said
                await asyncio.sleep(EVERY)

    def _seen(self, row: dict[str, Any]) -> Said:
        said = Said(row["phase"], row["reason"], row["stuck"], row["message"])
        if said != self._last:
            at = asyncio.get_running_loop().time() - self.began
            print(f"{at:6.1f} s  {said.phase} {said.reason} stuck={said.stuck or '-'}: {said.message}")
            self._last = said
        return said


async def test_a_frozen_gcs_and_a_lost_head_are_reported_of_a_ray_cluster_that_muster_only_watches(
    tmp_path: Path,
) -> None:
    path = search_path()
    if os.geteuid() != 0:
        pytest.skip("the nodes of a Ray cluster need network namespaces of their own, which only root can make")
    async with environment(tmp_path, "--memory-only") as env:
        await install(env.client)
        await env.start_daemon("--watch-kinds", "rayclusters")
        page = Page(env.port)
        cluster = await create_cluster(env.client)
        page.mark("the RayCluster and its pods are created")
        head, *workers = await create_pods(env.client, cluster, path)
        joined = await page.until(complete, 300)
        assert (joined.phase, joined.message.split("; ")[0]) == ("Running", COMPLETE)
        await frozen_gcs(page, head)
        await lost_head(env, page, head, workers)
        events_seen = await events(env)
        after = await env.client.resources.get(CLUSTER_PATH)
    for name in ("resourceVersion", "generation", "managedFields"):
        assert after["metadata"].get(name) == cluster["metadata"].get(name), "the RayCluster is only read"
    assert "status" not in after
    print(*events_seen, sep="\n")
    stuck = [each for each in events_seen if each.startswith("Warning Stuck: CoordinatorUnreachable: ")]
    assert any("the GCS does not answer" in each or "comes and goes" in each for each in stuck)
    assert "Normal NotStuck: resolved: CoordinatorUnreachable" in events_seen
    assert any(each.startswith("Warning StaleMembers: ") and stale_ranks(each) for each in events_seen)


def gcs_of(head: str) -> int:
    """The GCS of that pod."""
    programs = {pid: Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0] for pid in processes_of(head)}
    (found,) = [pid for pid, program in programs.items() if program.endswith(b"/gcs_server")]
    return found


async def frozen_gcs(page: Page, head: str) -> None:
    """The GCS is stopped for a while, as by a machine that swaps."""
    gcs = gcs_of(head)
    page.mark("SIGSTOP to the GCS")
    os.kill(gcs, signal.SIGSTOP)
    try:
        frozen = await page.until(lambda each: bool(each.stuck) and "comes and goes" not in each.message)
        assert (frozen.phase, frozen.stuck) == ("Running", "CoordinatorUnreachable")
        assert "the GCS does not answer" in frozen.message
    finally:
        page.mark("SIGCONT")
        os.kill(gcs, signal.SIGCONT)
    healthy = await page.until(complete)
    assert (healthy.phase, healthy.message.split("; ")[0]) == ("Running", COMPLETE)


async def lost_head(env: Environment, page: Page, head: str, workers: list[str]) -> None:
    """Every process of the head's container is killed; the container starts again, with a GCS that knows no node.

    A raylet that this GCS does not know ends after 45 s. Until then it and the GCS compute for all that they can, so
    what is to be seen of stale members is seen, and then they are ended.
    """
    before = {name: (await restarts(env, name), set(processes_of(name))) for name in workers}
    page.mark("SIGKILL to all processes of the head")
    kill(head)
    # a head that starts slowly answers now and then at first, and is called unreachable with the same words behind
    stale = await page.until(lambda each: each.reason == "StaleMembers" and bool(stale_ranks(each.message)))
    named = [workers[rank - 1] for rank in stale_ranks(stale.message)]
    running = [name for name in named if before[name][1] & set(processes_of(name))]
    assert stale.phase == "Running"
    assert running, "it still runs the processes that joined the head before"
    assert {name: await restarts(env, name) for name in running} == {name: before[name][0] for name in running}
    page.mark("SIGKILL to all processes of the workers")
    for name in workers:
        kill(name)
    again = await page.until(complete, 300)
    assert (again.phase, again.message.split("; ")[0]) == ("Running", COMPLETE)


async def restarts(env: Environment, name: str) -> int:
    """How often the container of a pod was started again; it is ready."""
    pod = await env.client.resources.get(core(NAMESPACE, "pods", name))
    (container,) = pod["status"]["containerStatuses"]
    assert container["ready"], "to Kubernetes it is a healthy worker"
    return int(container["restartCount"])


async def events(env: Environment) -> list[str]:
    """What was said as Events on the RayCluster."""
    listed = await env.client.resources.get(core(NAMESPACE, "events"))
    about = [each for each in listed["items"] if each["involvedObject"]["kind"] == "RayCluster"]
    return [f"{each['type']} {each['reason']}: {each['message']}" for each in about]
