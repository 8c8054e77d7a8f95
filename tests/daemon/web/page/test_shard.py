"""The head of each page names the shard of its musterd."""

import re

import pytest
from aiohttp import ClientSession
from prometheus_client import CollectorRegistry

from muster.daemon.web.pages import Pages
from muster.daemon.web.server import HttpServer
from tests.builders import NOW
from tests.daemon.web.ground import of_tenants


@pytest.mark.parametrize(("shard", "named"), [("vision", ["shard vision"]), ("", [])])
async def test_each_page_names_its_shard_in_its_head(shard: str, named: list[str]) -> None:
    daemon = of_tenants()
    server = HttpServer(
        CollectorRegistry(), daemon, Pages(daemon, daemon.role, lambda: NOW, shard=shard), "127.0.0.1", 0
    )
    port = await server.start()
    subject = next(iter(daemon.subjects()))
    paths = ("/", f"/experiments/{subject.plan.namespace}/{subject.plan.title}")
    async with ClientSession(f"http://127.0.0.1:{port}") as session:
        for path in paths:
            text = await (await session.get(path)).text()
            (head,) = re.findall(r"<header.*?<h1>(.*?)</h1>", text)
            assert re.findall(r"<small>(.*?)</small>", head) == named
    await server.stop()
