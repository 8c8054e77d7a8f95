"""Ray Train, Ray Tune and a plain driver lose a worker: ``python -m tests.frameworks.ray_rounds``.

In each round all three run beside each other on the local cluster, while ``--busy`` processes compute. Once a program
has taken four steps, each process of its first worker is killed. A run that ends well has printed all its steps. The
table has a line for each run, and a total for each program. It takes root, and two to five minutes a round.

Train and Tune need packages beside Ray. The first call installs them (100 MB) into a folder of the environment of
``make frameworks``. Ray gets no priority here: what its start takes on a busy machine is what is looked at.
"""

import argparse
import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import yaml

from muster.api.names import API_VERSION, KIND
from muster.client import Snapshot
from muster.client.errors import NoSuchRank
from muster.local.caller import Caller, write_caller
from tests.e2e.environment import ROOT, Environment, environment
from tests.frameworks.interpreters import home, python_of, reason_without
from tests.frameworks.ray_cluster import log_of, processes_of

PACKAGES = ("pandas", "pyarrow", "tensorboardX", "fsspec")
STEPS, KILLED_AFTER, PACE = 16, 4, 0.5
SUBMITTER, VICTIM = 3, 1
PATIENCE = 900.0
STEP = re.compile(r"step (\d+)\b")
DRIVER = f"""
import time, ray
ray.init()
@ray.remote(num_cpus=1, max_retries=-1)
def work(step):
    time.sleep({PACE})
    return step
for step in range({STEPS}):
    ray.get([work.remote(step) for _ in range(2)])
    print("step", step, flush=True)
print("done", flush=True)
"""
TRAIN = f"""
import os, time, ray, ray.train
from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer
from ray.train.v2.api.config import FailureConfig, RunConfig, ScalingConfig
def loop():
    for step in range({STEPS}):
        time.sleep({PACE})
        print("step", step, flush=True)
        ray.train.report({{"step": step}})
ray.init()
config = RunConfig(
    name="train", storage_path=os.environ["ROUNDS_STORAGE"], failure_config=FailureConfig(max_failures=9)
)
DataParallelTrainer(loop, scaling_config=ScalingConfig(num_workers=2), run_config=config).fit()
print("done", flush=True)
"""
TUNE = f"""
import os, time, ray
from ray import tune
def loop(config):
    for step in range({STEPS}):
        time.sleep({PACE})
        print("step", step, flush=True)
        tune.report({{"loss": config["rate"] * step}})
ray.init()
config = tune.RunConfig(
    name="tune", storage_path=os.environ["ROUNDS_STORAGE"], failure_config=tune.FailureConfig(max_failures=-1)
)
space = {{"rate": tune.grid_search([1.0, 2.0])}}
best = tune.TuneConfig(metric="loss", mode="min")
found = tune.Tuner(loop, param_space=space, tune_config=best, run_config=config).fit()
assert not found.errors, found.errors
print("done", flush=True)
"""
PROGRAMS = {"driver": DRIVER, "train": TRAIN, "tune": TUNE}


class Row(NamedTuple):
    """How one run ended."""

    name: str
    well: bool
    began: float
    """Seconds from the submission to the step after which the worker was killed, and to the end."""
    ended: float
    restarts: int
    epoch: int
    starts: int
    """Events of a node that did not start in Ray's own time."""
    message: str

    def __str__(self) -> str:
        word = "trained" if self.well else "FAILED"
        counts = f"{self.restarts} restarts counted, epoch {self.epoch}, {self.starts} slow starts not counted"
        return f"{self.name:<10} {word:<8} begun after {self.began:.0f} s, ended after {self.ended:.0f} s; {counts}" + (
            "" if self.well else f"; {self.message}"
        )


def manifest(name: str, program: Path) -> str:
    """An experiment of a head without CPUs for tasks, and two workers."""
    objects = {"object-store-memory": "80000000"}
    worker = {"resources": {"cpus": 0.25, "memory": 1}, "rayStartParams": {"num-cpus": "1", **objects}}
    types = {
        "Head": {"resources": {"cpus": 0.5, "memory": 2}, "rayStartParams": {"num-cpus": "0", **objects}},
        "Workers": [{"name": "worker", "count": 2, **worker}],
    }
    spec = {"operator": "kuberay", "image": "x", "command": f"python3 -u {program}", "types": types}
    return yaml.safe_dump({"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": spec})


async def one(env: Environment, folder: Path, program: str, round_: int) -> Row:
    """Run a program, and kill the processes of its first worker on the way."""
    name, began = f"{program}-{round_}", time.monotonic()
    file = folder / f"{name}.py"
    file.write_text(PROGRAMS[program], encoding="utf-8")
    variables = {**os.environ, "PATH": search_path(), "PYTHONPATH": str(packages())}
    variables["ROUNDS_STORAGE"] = str(folder / f"{name}-storage")
    with write_caller(env.home.callers, "default", name, Caller(variables, ROOT)):
        seen = await env.client.submit(manifest(name, file))
        while not seen.finished and max(await steps(env, seen), default=0) < KILLED_AFTER:
            await asyncio.sleep(1)
            seen = await env.client.get(name)
        killed = time.monotonic()
        if not seen.finished:
            (pod,) = [each.pod for each in (await env.client.explain(name)).members if each.rank == VICTIM]
            for pid in processes_of(pod):
                with contextlib.suppress(ProcessLookupError):  # Ray's processes end with the one that started them
                    os.kill(pid, signal.SIGKILL)
        last = await env.until(name, lambda each: each.finished, PATIENCE)
    taken, log = await steps(env, last), await log_of(env, last, SUBMITTER)
    events = [each for each in (await env.client.explain(name)).events if "timed out during startup" in each.message]
    return Row(
        program,
        last.phase == "Succeeded" and "done" in log and STEPS - 1 in taken,
        killed - began,
        time.monotonic() - began,
        last.status.restarts,
        last.status.epoch,
        len(events),
        last.message,
    )


async def steps(env: Environment, seen: Snapshot) -> list[int]:
    """The steps in the log of the submitter; none before its container is there."""
    try:
        return [int(found[1]) for line in await log_of(env, seen, SUBMITTER) if (found := STEP.search(line))]
    except NoSuchRank:
        return []


def search_path() -> str:
    """PATH with Ray's own programs first."""
    python = python_of("ray")
    assert python is not None, reason_without("ray")
    return os.pathsep.join((str(python.parent), os.environ["PATH"]))


def packages() -> Path:
    """The folder with what Train and Tune need beside Ray; it is filled by the first call."""
    folder = home() / "ray-train"
    if not (folder / PACKAGES[0]).is_dir():
        pip = [str(python_of("ray")), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--only-binary", ":all:", "--target", str(folder), *PACKAGES], check=True)
    return folder


@contextlib.contextmanager
def busy(processes: int) -> Iterator[None]:
    """So many processes compute until the end of the block."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for each in loops:
            each.kill()
            each.wait()


async def main() -> int:
    """Run the rounds, and print the table. 1 where a run did not end well."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--busy", type=int, default=2, help="processes that compute beside it")
    parser.add_argument("--only", choices=PROGRAMS, action="append", help="leave the others out")
    given = parser.parse_args()
    if os.geteuid() != 0:
        parser.error("the nodes of a Ray cluster need network namespaces of their own, which only root can make")
    rows: list[Row] = []
    packages()
    with tempfile.TemporaryDirectory() as made, busy(given.busy):
        folder = Path(made)
        async with environment(folder / "home", "--memory-only") as env:
            await env.start_daemon()
            for number in range(given.rounds):
                runs = [one(env, folder, each, number) for each in given.only or PROGRAMS]
                for done in asyncio.as_completed(runs):
                    rows.append(await done)
                    print(f"{number + 1:>2} {rows[-1]}; load {os.getloadavg()[0]:.0f}", flush=True)
    for name in given.only or PROGRAMS:
        found = [each.well for each in rows if each.name == name]
        print(f"{name}: {sum(found)} of {len(found)} trained to their end")
    return int(not all(each.well for each in rows))


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
