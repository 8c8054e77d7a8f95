"""A cluster that is there already: another control plane, which ``make real`` is given by KUBECONFIG."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.real.ground import ROOT, VARIABLE
from tests.real.namespace import eventually
from tests.real.plane.kubectl import Kubectl
from tests.real.plane.programs import Program
from tests.real.site import Site
from tests.real.situations import test_refusals, test_servers

pytestmark = [pytest.mark.alone, pytest.mark.timeout(900), pytest.mark.usefixtures("our_servers")]
PLAYED = " or ".join(
    each.__name__
    for each in (
        test_refusals.test_a_limit_range_is_reported,  # any cluster can play it
        test_refusals.test_a_webhook_that_denies_is_reported,  # it need not reach the webhook
        test_servers.test_a_terminating_namespace_is_reported,  # this stops a server
    )
)


@pytest.fixture
async def another(here: Site) -> AsyncIterator[Path]:
    """An administrator's kubeconfig of a second control plane, with the default times of Kubernetes."""
    folder = Path(here.ground.folder) / here.namespace
    command = [sys.executable, "-m", "tests.real.plane", str(folder)]
    program = Program("another", command, folder.with_suffix(".log"), environment={"PYTHONPATH": str(ROOT)})

    async def ready() -> bool:
        program.check()
        return "ready: " in await asyncio.to_thread(program.log.read_text)

    try:
        await eventually(ready)
        yield folder / "admin.kubeconfig"
    finally:
        await asyncio.to_thread(program.end)


async def real(config: str, *arguments: str) -> tuple[int, str]:
    """``make real`` on that cluster: its exit status and what it prints."""
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE and "PYTEST" not in name}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.real", *arguments),
        cwd=ROOT,
        env={**environment, "KUBECONFIG": config, "PYTHONPATH": str(ROOT), "COLUMNS": "300"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
    return process.returncode or 0, output.decode()


async def test_a_cluster_that_is_there_is_played_on_and_our_nodes_are_removed(here: Site, another: Path) -> None:
    here.row.happens(
        "make real with KUBECONFIG, on another control plane: three situations, two of them not possible there"
    )
    status, printed = await real(f"{another}:{another}.absent", "-n", "0", "-k", PLAYED)
    assert status == 0, printed
    for words in ("the API server of KUBECONFIG need not reach a webhook", "the cluster of KUBECONFIG is not stopped"):
        assert words in " ".join(printed.split()), printed
    assert "rights: not measured" in printed
    last = printed.splitlines()[-1]
    assert last.startswith("3 situations, 0 not as they should be")
    here.row.says(last)
    left = Kubectl(here.ground.kubectl, str(another))
    assert await asyncio.to_thread(left, "get", "nodes,leases", "--namespace=kube-node-lease", "--output=name") == ""
