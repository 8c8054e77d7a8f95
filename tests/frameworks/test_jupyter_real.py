"""debug.jupyter with a real Jupyter server on real Ray: its address and token are shown, and it answers with them."""

import asyncio
import os
import re
import shutil
from pathlib import Path

import aiohttp
import pytest
import yaml

from muster.kube.resources import core
from tests.frameworks.interpreters import MISSING, jupyter_home
from tests.frameworks.ray_cluster import FILE, NAME, ray_ground

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900), pytest.mark.xdist_group("frameworks")]

PATIENCE = 300.0
TWELVE_HOURS = 12 * 3_600
_SHOWN = re.compile(r"debug server of rank 2: (http://127\.0\.0\.1:8888/\S*token=(\w+))$", re.MULTILINE)


def jupyter() -> str:
    """The program; the test is skipped where there is none."""
    found = shutil.which("jupyter-server", path=f"{jupyter_home() / 'bin'}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        pytest.skip(f"no jupyter-server in PATH: {MISSING}")
    return str(Path(found).with_name("jupyter"))


async def test_the_server_answers_at_the_address_and_with_the_token_that_muster_get_shows(tmp_path: Path) -> None:
    manifest = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    del manifest["spec"]["timeout"]
    manifest["spec"]["debug"] = {"jupyter": {"enabled": True, "path": jupyter()}}
    types = manifest["spec"]["types"]
    types["Workers"] = types["Workers"][:1]
    for node in (types["Head"], *types["Workers"]):  # no process that Jupyter does not need
        node["rayStartParams"] |= {"num-cpus": "0", "include-log-monitor": "false"}
    async with ray_ground(tmp_path) as env:
        await env.client.submit(yaml.safe_dump(manifest), name=NAME)
        seen = await env.until(NAME, lambda each: each.phase == "Running", PATIENCE)
        assert seen.status.deadline is not None
        assert seen.status.started_at is not None
        assert seen.status.deadline - seen.status.started_at == pytest.approx(TWELVE_HOURS, abs=1)
        async for line in env.client.logs(NAME, (2,), follow=True):
            if "127.0.0.1:8888" in line.text and "token=" in line.text:
                break
        else:
            raise AssertionError("the server ended without printing its address")
        async with asyncio.timeout(PATIENCE):
            while (found := _SHOWN.search(shown := await env.call("get", NAME))) is None:
                assert "Running" in shown
        (head,) = [each for each in (await env.client.explain(NAME)).members if each.rank == 0]
        address = (await env.client.resources.get(core(seen.namespace, "pods", head.pod)))["status"]["podIP"]
        async with aiohttp.ClientSession() as session:
            asked = f"http://{address}:8888/api/status"
            async with session.get(asked, params={"token": found[2]}) as answer:
                assert answer.status == 200
            async with session.get(asked) as answer:
                assert answer.status == 403
