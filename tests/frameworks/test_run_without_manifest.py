"""``muster run -n N -- PROGRAM`` with real PyTorch, XGBoost and Ray: no manifest, and no address in the program."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from muster.local.home import DaemonNote
from tests.e2e.environment import environment
from tests.frameworks.interpreters import python_of, reason_without
from tests.frameworks.ray_cluster import search_path

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(600),
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.xdist_group("frameworks"),
]

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


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Path]:
    """A local cluster with a daemon that runs already, as after `muster local up`."""
    folder = tmp_path_factory.mktemp("home")
    async with environment(folder, "--memory-only") as env:
        await env.start_daemon()
        await env.serves()
        assert env.daemon is not None
        note = DaemonNote(pid=env.daemon.process.pid, url=f"http://127.0.0.1:{env.port}", keeper=os.getpid())
        env.home.note_daemon(note)
        yield folder


async def run(home: Path, folder: Path, framework: str, program: str, *options: str) -> str:
    """What ranks print when the program runs in two workers."""
    python = python_of(framework)
    assert python is not None
    (folder / "program.py").write_text(program)
    inherited = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "PYTHONPATH")}
    path = search_path() if framework == "ray" else f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    changed = {"MUSTER_HOME": str(home), "PATH": path, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-P", "-m", "muster.cli", "run", "-n", "2", *options, "--", str(python), "program.py"]
    process = await asyncio.create_subprocess_exec(
        *command, env=inherited | changed, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    out, err = await process.communicate()
    assert process.returncode == 0, out.decode() + err.decode()
    return out.decode()


@pytest.mark.skipif(python_of("torch") is None, reason=reason_without("torch"))
@pytest.mark.parametrize("options", [(), ("--operator", "pytorch")], ids=["by-default", "pytorch"])
async def test_a_program_of_pytorch_finds_its_peers(home: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    assert "sum 2" in await run(home, tmp_path, "torch", TORCH, *options)


@pytest.mark.skipif(python_of("xgboost") is None, reason=reason_without("xgboost"))
async def test_a_program_of_xgboost_finds_its_tracker(home: Path, tmp_path: Path) -> None:
    assert "sum 2" in await run(home, tmp_path, "xgboost", XGBOOST, "--operator", "xgboost")


@pytest.mark.skipif(python_of("ray") is None, reason=reason_without("ray"))
async def test_a_program_of_ray_runs_at_a_head_with_one_worker(home: Path, tmp_path: Path) -> None:
    """With restarts: on a busy machine a node of Ray ends that has not started within 15 s."""
    assert "sum 2 nodes 2" in await run(home, tmp_path, "ray", RAY, "--operator", "ray", "--restarts", "50")
