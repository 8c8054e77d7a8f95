"""The head of each page names the shard of its musterd."""

import re

import pytest

from tests.daemon.web.ground import of_tenants
from tests.daemon.web.subjects import asking, text_of


@pytest.mark.parametrize(("shard", "named"), [("vision", ["shard vision"]), ("", [])])
async def test_each_page_names_its_shard_in_its_head(shard: str, named: list[str]) -> None:
    async with asking(of_tenants(), {"shard": shard}) as client:
        for path in ("/", "/experiments/red/run"):
            (head,) = re.findall(r"<header.*?<h1>(.*?)</h1>", await text_of(client, path))
            assert re.findall(r"<small>(.*?)</small>", head) == named
