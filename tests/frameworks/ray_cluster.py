"""A local cluster whose pods find the interpreter that has Ray, and the processes of its pods."""

import contextlib
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from muster.client import Snapshot
from muster.local.home import Caller, write_caller
from tests.e2e.environment import ROOT, Environment, environment
from tests.frameworks.interpreters import python_of, reason_without

NAME = "ray"
"""The experiment whose pods get this process's environment, with Ray's programs in its PATH."""
FILE = ROOT / "examples" / "ray" / "manifest.yaml"


def search_path() -> str:
    """PATH with Ray's programs first, and before them a ``ray`` with priority; skips where there is no Ray."""
    python = python_of("ray")
    if python is None:
        pytest.skip(reason_without("ray"))
    return os.pathsep.join((str(Path(__file__).parent / "bin"), str(python.parent), os.environ["PATH"]))


@asynccontextmanager
async def ray_ground(folder: Path) -> AsyncIterator[Environment]:
    """A local cluster with a daemon; its pods are isolated by network namespaces, as Ray needs them to be."""
    variables = {**os.environ, "PATH": search_path()}
    if os.geteuid() != 0:
        pytest.skip("the nodes of a Ray cluster need network namespaces of their own, which only root can make")
    async with environment(folder, "--memory-only") as env:
        await env.start_daemon()
        with write_caller(env.home.callers, "default", NAME, Caller(variables, ROOT)):
            yield env


def processes_of(pod: str) -> list[int]:
    """The processes of a pod's container, by the variable with the pod's name."""
    wanted = f"RAY_CLOUD_INSTANCE_ID={pod}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:  # it has ended, or is another user's
                continue
    return found


def kill(pod: str) -> None:
    """Kill every process of a pod's container, as the out-of-memory killer may."""
    for pid in processes_of(pod):
        with contextlib.suppress(ProcessLookupError):  # Ray's processes end with the one that started them
            os.kill(pid, signal.SIGKILL)


async def log_of(env: Environment, seen: Snapshot, rank: int) -> list[str]:
    """The lines that a rank has printed so far."""
    return [line.text async for line in env.client.logs(seen.name, (rank,))]
