"""A real Ray job is counted from its live dashboard; then its GCS is frozen, and the page about it arrives.

musterd, Prometheus and Alertmanager run as deploy/prometheus configures them. The seconds are printed and not asserted.
"""

import asyncio
import os
import re
import signal
import sys
import time
from pathlib import Path

import aiohttp
import pytest

from tests.deploy.prometheus.binaries import Unavailable, program
from tests.deploy.prometheus.live.pipeline import Notification, pipeline
from tests.e2e.environment import Environment
from tests.frameworks.ray_cluster import FILE, NAME, log_of, processes_of, ray_ground

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600), pytest.mark.xdist_group("frameworks")]

SLOW = "--steps 600 --pace 0.5"
TASKS = re.compile(r"; job \S+ RUNNING[^;]*; ([0-9,]+) of ([0-9,]+) tasks finished")
BEFORE, EACH_STEP = 2, 3
"""Tasks of the example: the server and its group, then two gradients and their sum in each step."""
BEGUN = 10
"""Steps, 5 s of the program, that it may have begun while the submitter has not read their lines from the dashboard."""
SUBMITTER = 4
PATIENCE = 150.0
"""Seconds. The shipped configuration promises 25; a busy machine is no failure of it, and the time is printed."""


async def counted(env: Environment) -> tuple[int, int]:
    """How many tasks have finished and how many there are, once the page's document says that some have."""
    url = f"http://127.0.0.1:{env.port}/experiments/default/{NAME}.json"
    async with asyncio.timeout(PATIENCE), aiohttp.ClientSession() as session:
        while True:
            async with session.get(url) as answer:
                coordinator = (await answer.json())["coordinator"] or {}
            if found := TASKS.search(coordinator.get("detail", "")):
                finished, every = (int(number.replace(",", "")) for number in found.groups())
                return finished, every
            await asyncio.sleep(0.5)


async def test_the_tasks_of_a_real_job_are_counted_and_its_frozen_gcs_pages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        program("prometheus")
        program("alertmanager")
    except Unavailable as reason:
        pytest.skip(str(reason))
    text = FILE.read_text(encoding="utf-8").replace("--steps 20", SLOW)
    async with (
        ray_ground(tmp_path / "home") as env,
        pipeline(tmp_path / "monitoring", f"127.0.0.1:{env.port}") as monitoring,
    ):
        seen = await env.client.submit(text, name=NAME)
        await env.until(seen.name, lambda each: each.phase == "Running", PATIENCE)
        finished, every = await counted(env)
        steps = sum(line.startswith("step ") for line in await log_of(env, seen, SUBMITTER))
        assert 0 <= finished <= every
        assert 0 < every <= BEFORE + EACH_STEP * (steps + BEGUN), "as many as the program has begun, at most"
        if monitoring.received:  # on a busy machine the dashboard of a starting Ray hangs for longer than 10 s
            await monitoring.until(lambda one: is_about_it(one) and one.status == "resolved", PATIENCE)
        (head,) = [each.pod for each in (await env.client.explain(seen.name)).members if each.rank == 0]
        (gcs,) = [pid for pid in processes_of(head) if program_of(pid).endswith("/gcs_server")]
        frozen = time.monotonic()
        os.kill(gcs, signal.SIGSTOP)
        try:
            page = await monitoring.until(lambda one: is_about_it(one) and one.at > frozen, PATIENCE)
            stuck = (await env.client.get(seen.name)).message
        finally:
            os.kill(gcs, signal.SIGCONT)
        assert (page.name, page.status) == ("MusterCoordinatorStuck", "firing")
        assert (page.labels["reason"], page.labels["severity"]) == ("CoordinatorUnreachable", "critical")
        assert page.annotations["summary"].startswith(f"default/{NAME}: ")
        assert "the GCS does not answer" in stuck or "comes and goes" in stuck
        thawed = time.monotonic()
        over = await monitoring.until(
            lambda one: is_about_it(one) and one.status == "resolved" and one.at > thawed, PATIENCE + 120
        )
        await env.client.cancel(seen.name)
    with capsys.disabled():
        sys.stdout.write(
            f"\nRay's dashboard: {finished} of {every} tasks finished, in step {steps} of the program"
            f"\nMusterCoordinatorStuck: the GCS of a real Ray job is frozen (SIGSTOP): {page.at - frozen:.1f} s"
            f"\nresolved {over.at - thawed:.1f} s after SIGCONT (it is kept for a minute)\n"
        )


def is_about_it(one: Notification) -> bool:
    return one.labels.get("experiment") == NAME


def program_of(pid: int) -> str:
    """The program that a process runs."""
    return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode()
