"""``muster run -n N -- PROGRAM`` with real PyTorch, XGBoost and Ray: no manifest, and no address in the program."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.frameworks.interpreters import python_of, reason_without

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300), pytest.mark.xdist_group("frameworks")]

TORCH = """
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
total = torch.ones(1)
dist.all_reduce(total)
print("sum", int(total.item()), flush=True)
dist.destroy_process_group()
"""
XGBOOST = """
import os
import socket
import numpy
from xgboost import collective
from xgboost.tracker import RabitTracker

address = socket.gethostbyname(os.environ["DMLC_TRACKER_URI"])
port, task, workers = (os.environ[f"DMLC_{name}"] for name in ("TRACKER_PORT", "TASK_ID", "NUM_WORKER"))
tracker = None
if task == "0":
    tracker = RabitTracker(n_workers=int(workers), host_ip=address, port=int(port))
    tracker.start()
with collective.CommunicatorContext(
    dmlc_communicator="rabit", dmlc_tracker_uri=address, dmlc_tracker_port=int(port), dmlc_task_id=task
):
    print("sum", int(collective.allreduce(numpy.ones(1), collective.Op.SUM)[0]), flush=True)
if tracker is not None:
    tracker.wait_for()
"""
RAY = """
import ray

ray.init()
print("sum", ray.get(ray.remote(lambda: 2).remote()), "nodes", len(ray.nodes()), flush=True)
"""


def run(tmp_path: Path, framework: str, program: str, *options: str) -> str:
    """What ranks print when the program runs in two workers."""
    python = python_of(framework)
    assert python is not None
    (tmp_path / "program.py").write_text(program)
    inherited = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "PYTHONPATH")}
    changed = {"MUSTER_HOME": str(tmp_path / "home"), "PATH": f"{python.parent}:{os.environ['PATH']}"}
    command = [sys.executable, "-P", "-m", "muster.cli", "run", "-n", "2", *options, "--", str(python), "program.py"]
    ran = subprocess.run(command, env=inherited | changed, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.skipif(python_of("torch") is None, reason=reason_without("torch"))
@pytest.mark.parametrize("options", [(), ("--operator", "pytorch")], ids=["by-default", "pytorch"])
def test_a_program_of_pytorch_finds_its_peers(tmp_path: Path, options: tuple[str, ...]) -> None:
    assert "sum 2" in run(tmp_path, "torch", TORCH, *options)


@pytest.mark.skipif(python_of("xgboost") is None, reason=reason_without("xgboost"))
def test_a_program_of_xgboost_finds_its_tracker(tmp_path: Path) -> None:
    assert "sum 2" in run(tmp_path, "xgboost", XGBOOST, "--operator", "xgboost")


@pytest.mark.skipif(python_of("ray") is None, reason=reason_without("ray"))
def test_a_program_of_ray_runs_at_a_head_with_one_worker(tmp_path: Path) -> None:
    assert "sum 2 nodes 2" in run(tmp_path, "ray", RAY, "--operator", "ray")
