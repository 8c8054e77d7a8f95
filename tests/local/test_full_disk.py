# ruff: noqa: SLF001 - the part of the disk is played by SQLite
"""A cluster that cannot store its objects ends, and says why."""

import asyncio
from pathlib import Path

import pytest

from muster.local.apiserver import ApiServer
from muster.local.cluster import Cluster, ClusterFailed
from muster.local.home import Home


async def test_a_cluster_whose_disk_is_full_ends_and_names_the_disk(tmp_path: Path) -> None:
    cluster = Cluster(Home(tmp_path))
    api = ApiServer(tmp_path / "data.db")
    await api.start()
    cluster._api = api
    running = asyncio.create_task(cluster.run_until(asyncio.Event()))
    try:
        assert api._database._connection is not None
        api._database._connection.execute("PRAGMA max_page_count=1")
        maps = api.store.resource("v1", "configmaps")
        with pytest.raises(Exception, match="database or disk is full"):
            api.store.create(maps, "default", {"metadata": {"name": "c"}, "data": {"k": "v" * 100_000}})
        with pytest.raises(ClusterFailed, match=r"data.db cannot be written: database or disk is full; free space"):
            await running
    finally:
        running.cancel()
        await api.stop()
