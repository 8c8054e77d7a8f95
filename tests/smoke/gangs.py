"""The gangs of the smoke test, one row each: programs that meet, and then wait for a file before they end."""

import json
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from tests.frameworks.interpreters import python_of, reason_without
from tests.frameworks.ray_cluster import search_path

LATE = 2
"""The rank of the gang ``late`` that never calls the coordinator."""
KILLED = 1
"""The rank of the gang ``killed`` that is killed."""
KILLED_AFTER = "step 3"
"""What rank 0 of that gang has printed by then, after it wrote a checkpoint."""
HOLD = """
import os, pathlib, time
FOLDER = pathlib.Path(os.environ["FOLDER"])

def hold():
    print("met", flush=True)
    while not (FOLDER / "go").exists():
        time.sleep(0.3)
"""
TRAINS = """
import numpy
from jax.experimental.multihost_utils import process_allgather
from muster.jax import initialize

initialize()
checkpoint = FOLDER / "checkpoint"
step = int(checkpoint.read_text()) if checkpoint.exists() else 0
print("from step", step, flush=True)
while not process_allgather(numpy.array([(FOLDER / "go").exists()])).any():
    step += 1
    if os.environ["MUSTER_RANK"] == "0":
        (FOLDER / "new").write_text(str(step))
        (FOLDER / "new").rename(checkpoint)
    print("step", step, flush=True)
    time.sleep(0.1 if step < 3 else 2)
"""
ONE_NEVER_CALLS = f"""
if os.environ["JAXOPERATOR_PROCESS_ID"] == "{LATE}":
    time.sleep(100_000)
from muster.jax import initialize
initialize(initialization_timeout=100_000)
"""
TORCH = """
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
total = torch.ones(1)
dist.all_reduce(total)
print("sum", int(total), flush=True)
hold()
dist.destroy_process_group()
"""
XGBOOST = """
import socket
import numpy
from xgboost import collective
from xgboost.tracker import RabitTracker

address, port, task = (os.environ[f"DMLC_{name}"] for name in ("TRACKER_URI", "TRACKER_PORT", "TASK_ID"))
tracker = None
if task == "0":
    tracker = RabitTracker(n_workers=2, host_ip=socket.gethostbyname(address), port=int(port))
    tracker.start()
join = {"dmlc_tracker_uri": address, "dmlc_tracker_port": int(port), "dmlc_task_id": task, "dmlc_retry": 1000}
with collective.CommunicatorContext(dmlc_communicator="rabit", **join):
    print("sum", int(collective.allreduce(numpy.ones(1), collective.Op.SUM)[0]), flush=True)
    hold()
if tracker is not None:
    tracker.wait_for()
"""
RAY = """
import ray
ray.init()
print("nodes", len(ray.nodes()), flush=True)
hold()
"""
JOBSET = """
print("part", os.environ["JOB_INDEX"], flush=True)
hold()
"""
RAY_NODE: Final = {
    "resources": {"cpus": 0.1, "memory": 1},
    # without the processes that this gang does not need: workers in advance, a reader of logs
    "rayStartParams": {"num-cpus": "0", "object-store-memory": "80000000", "include-log-monitor": "false"},
}
WORKER: Final = {"cpus": 0.05, "memory": 0.5}


@dataclass(frozen=True, slots=True)
class Gang:
    """One gang."""

    name: str
    operator: str
    program: str
    prints: tuple[str, ...]
    """Lines that its ranks print in the epoch that ends well."""
    size: int = 2
    framework: str = ""
    """What ``tests.frameworks.interpreters`` knows, or jax, which the interpreter of the tests has."""
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({"OMP_NUM_THREADS": "1"}))

    @property
    def skipped(self) -> str:
        """Why this machine cannot run it; empty: it can."""
        if self.framework == "jax":
            return "" if find_spec("jax") else "jax is not installed: run `make setup`"
        if self.framework == "ray" and os.geteuid() != 0:
            return "each Ray node has a network namespace of its own, which only root can make"
        return reason_without(self.framework) if self.framework else ""

    @property
    def search_path(self) -> str:
        """PATH with the programs of the framework first: a Ray node starts ``ray`` from there."""
        if self.framework == "ray":
            return search_path()
        return f"{self._python.parent}{os.pathsep}{os.environ['PATH']}"

    @property
    def _python(self) -> Path:
        found = None if self.framework in ("", "jax") else python_of(self.framework)
        return found or Path(sys.executable)

    def manifest(self, folder: Path) -> str:
        """The Experiment; its program is written into the folder, where it keeps what it keeps."""
        mine = folder / self.name
        mine.mkdir()
        (mine / "train.py").write_text(HOLD + self.program)
        variables = " ".join(f"{key}={value}" for key, value in {**self.environment, "FOLDER": str(mine)}.items())
        types: dict[str, Any] = {"worker": {"count": self.size, "resources": WORKER}}
        if self.operator == "kuberay":
            types = {"Head": RAY_NODE, "Workers": [{"name": "worker", "count": 1, **RAY_NODE}]}
        spec = {
            "operator": self.operator,
            "image": "none",
            "command": f"env {variables} {shlex.quote(str(self._python))} -u {mine / 'train.py'}",
            # a node of Ray ends whose agent has not started within 15 s, which no option changes
            "restartPolicy": {"backoffLimit": 20 if self.framework == "ray" else 1, "backoff": {"initial": "1s"}},
            "types": types,
        }
        metadata = {"name": self.name}
        return json.dumps(
            {"apiVersion": "muster.dev/v1alpha1", "kind": "Experiment", "metadata": metadata, "spec": spec}
        )


JAX: Final = MappingProxyType({"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"})
GANGS: Final = (
    Gang("killed", "jax", TRAINS, (), 3, "jax", JAX),
    Gang("late", "jax", ONE_NEVER_CALLS, (), 3, "jax", JAX),
    Gang("torch", "pytorch", TORCH, ("sum 2",), framework="torch"),
    Gang("xgboost", "xgboost", XGBOOST, ("sum 2",), framework="xgboost"),
    Gang("ray", "kuberay", RAY, ("nodes 2",), framework="ray"),
    Gang("jobset", "jobset", JOBSET, ("part 0", "part 1")),
)
BY_NAME: Final = {each.name: each for each in GANGS}
