"""examples/ray with real Ray, on one head: its roll, its tasks, and what is lost of it for a while.

All questions are asked of one experiment, which runs the program of the example until the last of them is answered.
Each begins once that program works, so that it can be asked alone. That the file itself runs to its end is asked in
``tests/examples/test_examples.py``.
"""

import asyncio
import os
import re
import signal
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio
import yaml

from muster.api.names import API_VERSION, KIND
from muster.client import Snapshot
from muster.client.errors import NoSuchRank
from muster.kube.resources import core
from tests.deploy.prometheus.binaries import Unavailable, program
from tests.deploy.prometheus.live.pipeline import Notification, pipeline
from tests.e2e.environment import Environment
from tests.frameworks.ray_cluster import FILE, NAME, kill, log_of, processes_of, ray_ground

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(3_600),
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.xdist_group("frameworks"),
]

SIZE, SUBMITTER = 5, 4
PATIENCE = 900.0
"""Seconds for what takes Ray 20 on an idle machine. A node ends whose agent has not started within 15 s,
or that is not in the head's list after 30: on a busy machine it starts several times."""
STEP = re.compile(r"step (\d+):")
TASKS = re.compile(r"; job \S+ RUNNING[^;]*; ([0-9,]+) of ([0-9,]+) tasks finished")
BEFORE, EACH_STEP = 2, 3
"""Tasks of the example: the server and its group, then two gradients and their sum in each step."""
BEGUN = 20
"""Steps, 10 s of the program, that it may have begun before the submitter has read their lines from the dashboard."""
TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "not-a-secret-of-anyone"}
"""Ray's own token authentication: dashboard, nodes, submitter and probe have it from the template."""


@dataclass(frozen=True, slots=True)
class Run:
    """The experiment, and the files that its pods look for."""

    env: Environment
    folder: Path

    @property
    def held(self) -> Path:
        """While it is there, a worker that starts again is kept in an init container."""
        return self.folder / "held"

    @property
    def end(self) -> Path:
        """Once it is there, the program takes no further step."""
        return self.folder / "end"

    async def working(self, epoch: int = 0) -> Snapshot:
        """The experiment once all have joined, and its program takes steps in that epoch or a later one."""
        async with asyncio.timeout(PATIENCE):
            while True:
                seen = await self.env.until(NAME, lambda each: each.finished or complete(each, epoch), PATIENCE)
                assert not seen.finished, seen.message
                if len(steps(await self.log(seen))) > 3:
                    return seen
                await asyncio.sleep(0.5)

    async def log(self, seen: Snapshot) -> list[str]:
        """What the submitter has printed; nothing while its container is created."""
        try:
            return await log_of(self.env, seen, SUBMITTER)
        except NoSuchRank:
            return []

    async def pod_of(self, rank: int) -> str:
        """The name of the pod of that rank."""
        (member,) = [each for each in (await self.env.client.explain(NAME)).members if each.rank == rank]
        return member.pod

    async def kill(self, rank: int) -> str:
        """Kill every process of that rank's container, as the out-of-memory killer may; the pod's name."""
        name = await self.pod_of(rank)
        kill(name)
        return name

    async def further(self, seen: Snapshot, step: int) -> list[str]:
        """The log of the submitter once the program has gone on for three steps beyond that one."""
        async with asyncio.timeout(PATIENCE):
            while True:
                log = await self.log(seen)
                if max(steps(log), default=0) >= step + 3:
                    return log
                await asyncio.sleep(0.5)


def complete(seen: Snapshot, epoch: int) -> bool:
    """Every rank of that epoch or a later one has arrived."""
    roll = seen.status.roll
    return seen.phase == "Running" and seen.status.epoch >= epoch and roll is not None and roll.arrived == SIZE


def steps(log: list[str]) -> list[int]:
    """The steps that the program has printed."""
    return [int(found[1]) for line in log if (found := STEP.match(line))]


def manifest(run: Run) -> str:
    """The example with Ray's token, with a worker that can be held, and a program that steps until it may end."""
    text = (FILE.parent / "parameter_server.py").read_text(encoding="utf-8")
    endless = f"itertools.takewhile(lambda _: not pathlib.Path({str(run.end)!r}).exists(), itertools.count())"
    text = text.replace("range(given.steps)", endless).replace("import time\n", "import itertools, pathlib, time\n")
    assert endless in text
    (run.folder / "parameter_server.py").write_text(text, encoding="utf-8")
    spec = yaml.safe_load(FILE.read_text(encoding="utf-8"))["spec"]
    spec["command"] = f"python3 -u {run.folder / 'parameter_server.py'} --pace 0.5"
    spec["restartPolicy"] = {"backoffLimit": 50, "backoff": {"initial": "1s"}}
    variables = [{"name": name, "value": value} for name, value in TOKEN.items()]
    spec["template"] = {"spec": {"containers": [{"name": "main", "env": variables}]}}
    wait = {"name": "held", "image": "x", "command": ["sh", "-c", f"while [ -e {run.held} ]; do sleep 0.2; done"]}
    types = spec["types"]
    types["Workers"][1]["template"] = {"spec": {"initContainers": [wait]}}
    for node in (types["Head"], *types["Workers"]):  # the driver's log is asked for, those of its tasks are not
        node["rayStartParams"]["include-log-monitor"] = "false"
    del spec["timeout"]
    return yaml.safe_dump({"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": NAME}, "spec": spec})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def run(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Run]:
    """The experiment, submitted."""
    folder = tmp_path_factory.mktemp("ray")
    async with ray_ground(folder / "home") as env:
        made = Run(env, folder)
        await env.client.submit(manifest(made))
        yield made


async def test_with_a_token_every_node_joins_and_the_actor_is_where_it_is_pinned(run: Run) -> None:
    seen = await run.working()
    assert seen.status.dashboard.endswith(":8265")
    log = await run.log(seen)
    assert "the parameter server is on group server" in log
    assert "gradients come from group worker" in log


async def test_the_next_submitter_goes_on_with_the_job(run: Run) -> None:
    seen = await run.working()
    before = seen.status
    first = await run.pod_of(SUBMITTER)
    done = max(steps(await run.log(seen)))
    await run.env.client.resources.delete(core(seen.namespace, "pods", first))
    again = await run.env.until(NAME, lambda each: len(each.status.attempts) > len(before.attempts), PATIENCE)
    assert again.phase == "Running"
    log = await run.further(seen, done)
    after = (await run.working()).status
    assert (after.epoch, after.restarts, after.disruptions) == (before.epoch, before.restarts, before.disruptions + 1)
    assert await run.pod_of(SUBMITTER) != first
    assert steps(log).count(0) == 1, "the log of the one job, from its beginning"


async def test_the_tasks_of_a_real_job_are_counted_and_its_frozen_gcs_pages(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """musterd, Prometheus and Alertmanager run as deploy/prometheus configures them. Seconds are printed only."""
    try:
        program("prometheus")
        program("alertmanager")
    except Unavailable as reason:
        pytest.skip(str(reason))
    seen = await run.working()
    async with pipeline(tmp_path, f"127.0.0.1:{run.env.port}") as monitoring:
        finished, every = await counted(run.env)
        taken = len(steps(await run.log(seen)))
        assert 0 <= finished <= every
        assert 0 < every <= BEFORE + EACH_STEP * (taken + BEGUN), "as many as the program has begun, at most"
        if monitoring.received:  # on a busy machine the dashboard of a starting Ray hangs for longer than 10 s
            await monitoring.until(lambda one: is_about_it(one) and one.status == "resolved", PATIENCE)
        head = await run.pod_of(0)
        (gcs,) = [pid for pid in processes_of(head) if program_of(pid).endswith("/gcs_server")]
        frozen = time.monotonic()
        os.kill(gcs, signal.SIGSTOP)
        try:
            page = await monitoring.until(lambda one: is_about_it(one) and one.at > frozen, PATIENCE)
            stuck = (await run.env.client.get(NAME)).message
        finally:
            os.kill(gcs, signal.SIGCONT)
        assert (page.name, page.status) == ("MusterCoordinatorStuck", "firing")
        assert (page.labels["reason"], page.labels["severity"]) == ("CoordinatorUnreachable", "critical")
        assert page.annotations["summary"].startswith(f"default/{NAME}: ")
        assert "the GCS does not answer" in stuck or "comes and goes" in stuck
        thawed = time.monotonic()
        over = await monitoring.until(
            lambda one: is_about_it(one) and one.status == "resolved" and one.at > thawed, PATIENCE
        )
    with capsys.disabled():
        sys.stdout.write(
            f"\nRay's dashboard: {finished} of {every} tasks finished, in step {taken} of the program"
            f"\nMusterCoordinatorStuck: the GCS of a real Ray job is frozen (SIGSTOP): {page.at - frozen:.1f} s"
            f"\nresolved {over.at - thawed:.1f} s after SIGCONT (it is kept for a minute)\n"
        )


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


def is_about_it(one: Notification) -> bool:
    return one.labels.get("experiment") == NAME


def program_of(pid: int) -> str:
    """The program that a process runs."""
    return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode()


async def test_without_its_head_the_whole_epoch_runs_again(run: Run) -> None:
    before = (await run.working()).status
    lost = await run.kill(0)
    broken = await run.env.until(NAME, lambda each: each.phase == "Restarting", PATIENCE)
    assert f"rank 0 (head-0, {lost}) ended with exit code 137" in broken.message
    assert broken.status.epoch == before.epoch + 1
    after = (await run.working(before.epoch + 1)).status
    assert after.restarts > before.restarts


async def test_a_killed_worker_is_named_and_runs_again_alone_and_the_program_goes_on_to_its_end(run: Run) -> None:
    """The worker that takes its place is kept in an init container until it was seen to be missed."""
    seen = await run.working()
    before = seen.status
    run.held.touch()
    lost = await run.kill(3)
    assert "-worker-0-1-" in lost
    missing = await run.env.until(NAME, lambda each: "missing rank 3" in each.message, PATIENCE)
    assert f"4/5 ranks arrived; missing rank 3 (worker-1, {lost.rpartition('-')[0]}" in missing.message
    assert missing.phase == "Running"
    run.held.unlink()
    await run.working()
    run.end.touch()
    last = await run.env.until(NAME, lambda each: each.finished, PATIENCE)
    log = await run.log(seen)
    events = [each.message for each in (await run.env.client.explain(NAME)).events]
    assert any(f"rank 3 (worker-1, {lost}) ended with exit code 137" in each for each in events), events
    assert last.phase == "Succeeded", last.message
    assert (last.status.epoch, last.status.restarts) == (before.epoch, before.restarts + 1), last.message
    assert steps(log).count(0) == 1, "the program itself was not run again"
    assert "done" in log
