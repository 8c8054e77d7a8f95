"""The cost of reporter, recorder and watch of places for a training program, beside the same program without them.

Both run at the same time, several of each, at 10 steps a second; a step does nothing but a collective of one process,
so that what is measured is what Muster adds. All CPU time of the process counts, of every thread, in user and kernel.
PyTorch is measured where its current release is installed (``make frameworks``).
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.harness.report import Result
from muster.assist import CODE, FILE, RECORDER_CODE, RECORDER_FILE, WATCH_CODE, WATCH_FILE
from muster.cli.processes.stack import free_port
from tests.frameworks.interpreters import CURRENT_TORCH, python_of

ROOT = Path(__file__).parents[1]
EACH = 3
"""Processes with, and as many without."""
SECONDS = 60.0
STEPS_PER_SECOND = 10
_LOOP = """
for step in range(120):  # what happens once is no cost of a step, nor what happens in the first seconds only
    collective()
    report(step)
    time.sleep(0.1)
began, cpu = time.monotonic(), time.process_time()
steps = int(float(os.environ["SECONDS"]) * 10)
for step in range(steps):
    collective()
    report(120 + step)
    time.sleep(max(0.0, began + (step + 1) / 10 - time.monotonic()))
print(json.dumps([time.process_time() - cpu, time.monotonic() - began, steps]), flush=True)
os._exit(0)
"""
PROGRAMS = {
    "jax": """
import json, os, time
import jax
jax.distributed.initialize(os.environ["STORE"], 1, 0)
if os.environ["WITH"]:
    from muster.jax import report
else:
    report = id
def collective():
    pass
"""
    + _LOOP,
    "pytorch": """
import json, os, time
import torch, torch.distributed as dist
torch.set_num_threads(1)
host, os.environ["MASTER_PORT"] = os.environ["STORE"].split(":")
os.environ.update(MASTER_ADDR=host, RANK="0", WORLD_SIZE="1")
dist.init_process_group("gloo")
if os.environ["WITH"]:
    from muster.torch import report
else:
    report = id
values = torch.ones(10)
def collective():
    dist.all_reduce(values)
"""
    + _LOOP,
}


def run() -> list[Result]:
    """Measure each framework that is installed."""
    pythons = {"jax": Path(sys.executable), "pytorch": python_of(CURRENT_TORCH)}
    parts = {"jax": "reporter and watch of places", "pytorch": "reporter and recorder"}
    results: list[Result] = []
    for framework, python in pythons.items():
        if python is None:
            continue
        (step, share), (bare, bare_share) = _measured(framework, python)
        title = f"{framework} with {parts[framework]}, at {STEPS_PER_SECOND} steps/s"
        results += [
            Result(f"{title}: CPU a step", step * 1e6, "us", None, "without", bare * 1e6),
            Result(f"{title}: what they add, of a CPU", 100 * (share - bare_share), "%", 0.1),
        ]
    return results


def _measured(framework: str, python: Path) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return CPU seconds a step, and CPU seconds a second: medians of the processes with, and of those without."""
    with tempfile.TemporaryDirectory() as folder:
        for name, code in ((FILE, CODE), (RECORDER_FILE, RECORDER_CODE), (WATCH_FILE, WATCH_CODE)):
            (Path(folder) / name).write_text(code)
        running = [
            (given, _started(framework, python, folder if given else "")) for _ in range(EACH) for given in (1, 0)
        ]
        spent: dict[int, list[list[float]]] = {0: [], 1: []}
        for given, process in running:
            out, _ = process.communicate(timeout=600)
            spent[given].append(json.loads(out.strip().splitlines()[-1]))
    one, other = (
        (
            median(cpu / steps for cpu, _, steps in spent[given]),
            median(cpu / wall for cpu, wall, _ in spent[given]),
        )
        for given in (1, 0)
    )
    return one, other


def _started(framework: str, python: Path, mounted: str) -> "subprocess.Popen[str]":
    """Start one process; ``mounted`` is where the files of assist are, or empty."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")} | {
        "STORE": f"127.0.0.1:{free_port()}",
        "WITH": "1" if mounted else "",
        "SECONDS": str(SECONDS),
        "JAX_PLATFORMS": "cpu",
        "PYTHONPATH": os.pathsep.join(filter(None, (mounted, str(ROOT)))),
    }
    return subprocess.Popen([python, "-c", PROGRAMS[framework]], env=environ, stdout=subprocess.PIPE, text=True)
