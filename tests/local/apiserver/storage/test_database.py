"""The objects on disk: restarts, a second server, damaged files."""

import contextlib
import sqlite3
from typing import Any

import pytest

from muster.api.errors import MusterError
from muster.local.apiserver import ApiServer
from tests.local.apiserver.harness import CONFIGS, CRDS, WIDGET_SCHEMA, WIDGETS, Api, config, definition, widget


async def test_objects_and_version_survive_a_restart(database: Any, clock: Any, session: Any) -> None:
    first = ApiServer(database, clock=clock)
    api = Api(await first.start(), session)
    await api.create(CRDS, definition(WIDGET_SCHEMA))
    made = await api.create(WIDGETS, widget("kept"))
    await api.create(CONFIGS, config("dropped"))
    await api.call("DELETE", f"{CONFIGS}/dropped")
    newest = int((await api.get(CONFIGS))["metadata"]["resourceVersion"])
    await first.stop()

    second = ApiServer(database, clock=clock)
    api = Api(await second.start(), session)
    try:
        assert await api.get(f"{WIDGETS}/kept") == made
        assert int((await api.get(CONFIGS))["metadata"]["resourceVersion"]) == newest
        later = await api.create(CONFIGS, config("later"))
        assert int(later["metadata"]["resourceVersion"]) == newest + 1
        stream = await api.watch(f"{CONFIGS}?resourceVersion={newest - 1}")
        kind, status = await stream.next()
        assert (kind, status["code"], status["reason"]) == ("ERROR", 410, "Expired")
        stream.close()
    finally:
        await second.stop()


async def test_a_second_server_cannot_open_the_database(database: Any) -> None:
    first = ApiServer(database)
    with pytest.raises(ValueError, match="stop the local cluster that uses it"):
        ApiServer(database)
    await first.stop()
    with pytest.raises(RuntimeError, match="has been stopped"):
        first.store.create(first.store.resource("v1", "configmaps"), "default", config("late"))
    await ApiServer(database).stop()


@pytest.mark.parametrize("content", [b"no database at all" * 100, None])
async def test_a_damaged_database_is_reported_with_what_to_do(database: Any, content: bytes | None) -> None:
    if content is not None:
        database.write_bytes(content)
    else:
        await ApiServer(database).stop()
        with contextlib.closing(sqlite3.connect(database)) as connection:
            connection.execute("UPDATE objects SET data = ? WHERE key LIKE '%default'", (b"{",))
            connection.commit()
    with pytest.raises(ValueError, match="move"):
        ApiServer(database)


async def test_a_database_with_a_damaged_page_is_reported_with_what_to_do(database: Any) -> None:
    await ApiServer(database).stop()
    raw = bytearray(database.read_bytes())
    raw[4096:] = b"\xff" * (len(raw) - 4096)
    database.write_bytes(raw)
    with pytest.raises(MusterError, match="move this one away"):
        ApiServer(database)


async def test_a_full_disk_is_reported_to_the_client_and_to_the_cluster(database: Any, session: Any) -> None:
    server = ApiServer(database)
    api = Api(await server.start(), session)
    try:
        connection = server._database._connection  # noqa: SLF001 - the disk's part is played by SQLite
        connection.execute("PRAGMA max_page_count=1")  # as small as it is now
        status, answer = await api.call("POST", CONFIGS, config("large", k="v" * 100_000))
        assert status == 500
        assert "cannot be written: database or disk is full" in answer["message"]
        assert server.failed.is_set()
        assert server.failure.startswith(str(database))
    finally:
        await server.stop()
