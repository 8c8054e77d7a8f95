"""examples/ray with real Ray: from its file to Succeeded, without a worker, a submitter or the head for a while."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from muster.api.names import API_VERSION, KIND
from muster.client import Snapshot
from muster.kube.paths import core
from tests.e2e.environment import ROOT, Environment
from tests.frameworks.ray_cluster import FILE, NAME, log_of, processes_of, ray_ground, search_path

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400), pytest.mark.xdist_group("frameworks")]

SUBMITTER = 4


def test_the_file_runs_to_succeeded_with_the_actor_where_it_is_pinned(tmp_path: Path) -> None:
    variables = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
    variables |= {"MUSTER_HOME": str(tmp_path), "PATH": search_path()}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "muster.cli", "run", str(FILE)],
        env=variables, cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "rank 4 | the parameter server is on group server\n" in done.stdout
    assert "rank 4 | gradients come from group worker\n" in done.stdout
    assert "rank 4 | done\n" in done.stdout
    assert "Succeeded" in done.stderr.splitlines()[-1]


async def submitted(env: Environment, pace: str) -> Snapshot:
    """The example, slower, as soon as its program works."""
    text = FILE.read_text(encoding="utf-8").replace("--steps 20", f"--steps 60 --pace {pace}")
    seen = await env.client.submit(text, name=NAME)
    return await working(env, seen.name, epoch=0)


async def working(env: Environment, name: str, epoch: int) -> Snapshot:
    """The experiment once its program prints steps."""
    seen = await env.until(name, lambda each: each.phase == "Running" and each.status.epoch == epoch, 150)
    async with asyncio.timeout(60):
        async for line in env.client.logs(name, (SUBMITTER,), follow=True):
            if line.text.startswith("step 3"):
                return seen
    raise AssertionError("the program has ended")


async def pod_of(env: Environment, seen: Snapshot, rank: int) -> str:
    (member,) = [each for each in (await env.client.explain(seen.name)).members if each.rank == rank]
    return member.pod


async def kill(env: Environment, seen: Snapshot, rank: int) -> str:
    """Kill every process of that rank's container, as the out-of-memory killer may; the pod's name."""
    name = await pod_of(env, seen, rank)
    for pid in processes_of(name):
        with contextlib.suppress(ProcessLookupError):  # Ray's processes end with the one that started them
            os.kill(pid, signal.SIGKILL)
    return name


async def test_a_killed_worker_is_named_and_runs_again_alone_and_the_program_goes_on(tmp_path: Path) -> None:
    """The worker that takes its place is kept in an init container until it was seen to be missed."""
    held = tmp_path / "held"
    spec = yaml.safe_load(FILE.read_text(encoding="utf-8"))["spec"]
    spec["command"] = spec["command"].replace("--steps 20", "--steps 100 --pace 0.5")
    wait = {"name": "held", "image": "x", "command": ["sh", "-c", f"while [ -e {held} ]; do sleep 0.2; done"]}
    spec["types"]["Workers"][1]["template"] = {"spec": {"initContainers": [wait]}}
    experiment = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": NAME}, "spec": spec}
    async with ray_ground(tmp_path / "state") as env:
        await env.client.submit(yaml.safe_dump(experiment))
        seen = await working(env, NAME, epoch=0)
        held.touch()
        lost = await kill(env, seen, 3)
        assert "-worker-0-1-" in lost
        missing = await env.until(seen.name, lambda each: "missing rank 3" in each.message, 100)
        place = f"4/5 ranks arrived; missing rank 3 (worker-1, {lost.rpartition('-')[0]}"
        assert place in missing.message
        assert missing.phase == "Running"
        held.unlink()
        last = await env.until(seen.name, lambda each: each.finished, 200)
        log = await log_of(env, seen, SUBMITTER)
        events = [each.message for each in (await env.client.explain(seen.name)).events]
    assert any(f"rank 3 (worker-1, {lost}) exited 137" in each for each in events), events
    assert (last.phase, last.status.epoch, last.status.restarts) == ("Succeeded", 0, 1), last.message
    assert sum(line.startswith("step 0:") for line in log) == 1, "the program itself was not run again"
    assert "done" in log


async def test_without_its_head_the_whole_epoch_runs_again(tmp_path: Path) -> None:
    async with ray_ground(tmp_path) as env:
        seen = await submitted(env, "0.3")
        assert seen.status.dashboard.endswith(":8265")
        lost = await kill(env, seen, 0)
        broken = await env.until(seen.name, lambda each: each.phase == "Restarting", 60)
        assert f"rank 0 (head-0, {lost}) exited 137" in broken.message
        assert broken.status.epoch == 1
        last = await env.until(seen.name, lambda each: each.finished, 200)
    assert (last.phase, last.status.epoch, last.status.restarts) == ("Succeeded", 1, 1), last.message


async def test_with_a_token_the_roll_is_called_and_the_next_submitter_goes_on_with_the_job(tmp_path: Path) -> None:
    """Ray's own token authentication: dashboard, nodes and submitter have the token from the template, and so has the
    probe. Then the submitter's pod is deleted while the job runs."""
    spec = yaml.safe_load(FILE.read_text(encoding="utf-8"))["spec"]
    spec["command"] = spec["command"].replace("--steps 20", "--steps 60 --pace 0.5")
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "not-a-secret-of-anyone"}
    variables = [{"name": name, "value": value} for name, value in token.items()]
    spec["template"] = {"spec": {"containers": [{"name": "main", "env": variables}]}}
    experiment = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": NAME}, "spec": spec}
    async with ray_ground(tmp_path) as env:
        await env.client.submit(yaml.safe_dump(experiment))
        seen = await working(env, NAME, epoch=0)
        assert seen.status.roll is not None
        assert seen.status.roll.arrived == 5, "the dashboard named every node: the token was sent"
        first = await pod_of(env, seen, SUBMITTER)
        await env.client.resources.delete(core(seen.namespace, "pods", first))
        again = await env.until(seen.name, lambda each: bool(each.status.attempts), 60)
        assert again.phase == "Running"
        last = await env.until(seen.name, lambda each: each.finished, 200)
        log = await log_of(env, seen, SUBMITTER)
        second = await pod_of(env, seen, SUBMITTER)
    status = last.status
    assert (last.phase, status.epoch, status.restarts, status.disruptions) == ("Succeeded", 0, 0, 1), last.message
    assert second != first
    assert sum(line.startswith("step 0:") for line in log) == 1, "the log of the one job, from its beginning"
    assert "done" in log
