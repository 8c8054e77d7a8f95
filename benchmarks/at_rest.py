"""The daemon at rest: resident memory of a real ``musterd`` without experiments, on a local API server.

Its peer is a process that imports kubernetes_asyncio and opens its client, and does nothing else.
"""

import asyncio
import json
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from benchmarks.harness.measuring import megabytes
from benchmarks.harness.report import Result
from muster.api.schema.crd import custom_resource_definition
from muster.local.apiserver import ApiServer
from muster.local.home import write_kubeconfig

BUDGET = 80.0
SETTLED = 3.0
"""Seconds from ready to the measurement: imports at first use, first lists and first heartbeats are done by then."""
PATIENCE = 60.0
"""Seconds in which it must become ready."""
PEER = "import kubernetes_asyncio, open ApiClient"
OPEN_CLIENT = """
import asyncio
from pathlib import Path
from kubernetes_asyncio import client

async def main():
    async with client.ApiClient(client.Configuration(host="http://127.0.0.1:1")) as api:
        client.CoreV1Api(api), client.CustomObjectsApi(api)
        print(Path("/proc/self/status").read_text())

asyncio.run(main())
"""


@asynccontextmanager
async def served() -> AsyncIterator[tuple[ApiServer, Path]]:
    """Yield a local API server with the kind Experiment, and a folder that has its kubeconfig."""
    token = secrets.token_urlsafe(32)
    api = ApiServer(None, token=token)
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        write_kubeconfig(folder / "kubeconfig", url=await api.start(), token=token)
        kinds = api.store.resource("apiextensions.k8s.io/v1", "customresourcedefinitions")
        api.store.ensure(kinds, "", custom_resource_definition())
        try:
            yield api, folder
        finally:
            await api.stop()


async def musterd() -> float:
    """Return megabytes of the daemon's process."""
    async with served() as (_, folder):
        arguments = ["--kubeconfig", str(folder / "kubeconfig"), "--http-host", "127.0.0.1", "--http-port", "0"]
        daemon = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "muster.daemon.main", *arguments, "--log-format", "json"),
            stderr=asyncio.subprocess.PIPE,
            env={name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")},
        )
        try:
            assert daemon.stderr is not None
            async with asyncio.timeout(PATIENCE):
                await _ready(daemon.stderr)
            await asyncio.sleep(SETTLED)
            return megabytes(await asyncio.to_thread(Path(f"/proc/{daemon.pid}/status").read_text), "VmRSS")
        finally:
            daemon.terminate()
            await daemon.wait()


async def _ready(log: asyncio.StreamReader) -> None:
    """Read the daemon's address from its log, then wait until ``/readyz`` answers 200."""
    url = ""
    while not url:
        line = await log.readline()
        if not line:
            raise RuntimeError("musterd ended before it was ready")
        url = json.loads(line).get("http", "")
    async with aiohttp.ClientSession() as session:
        while True:
            async with session.get(f"{url}/readyz") as answer:
                if answer.status == 200:
                    return
            await asyncio.sleep(0.1)


def peer() -> float:
    """Return megabytes of a process with the ordinary client."""
    done = subprocess.run([sys.executable, "-c", OPEN_CLIENT], capture_output=True, text=True, check=True, timeout=60)
    return megabytes(done.stdout, "VmRSS")


def run() -> list[Result]:
    """Measure one daemon and one peer."""
    return [Result("musterd at rest, resident memory", asyncio.run(musterd()), "MB", BUDGET, PEER, peer())]
