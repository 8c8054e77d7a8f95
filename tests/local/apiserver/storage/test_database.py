"""The objects on disk: restarts, a second server, damaged files."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import Any

import pytest

from muster.local.apiserver import ApiServer
from tests.local.apiserver.harness import (
    CONFIGS,
    CRDS,
    WIDGET_SCHEMA,
    WIDGETS,
    Api,
    config,
    definition,
    widget,
)


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
