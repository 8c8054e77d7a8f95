"""The pod subresource log."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from muster.local.apiserver import ApiServer
from tests.local.apiserver.harness import PODS, Api, pod


class FixedLogs:
    async def read(self, namespace: str, pod: str, container: str, **options: Any) -> AsyncIterator[bytes]:
        if options["previous"]:
            raise FileNotFoundError(container)
        for word in ("one", "two", "three")[-(options["tail"] or 3) :]:
            stamp = "2026-09-21T14:13:20.000000000Z " if options["timestamps"] else ""
            yield f"{stamp}{container} says {word}\n".encode()


async def test_logs_are_read_from_the_node_agent(server: ApiServer, api: Api) -> None:
    two = pod("p")
    two["spec"]["containers"].append({"name": "side", "image": "side:1"})
    await api.create(PODS, two)
    assert (await api.call("GET", f"{PODS}/p/log?container=main"))[0] == 503
    server.pods.logs = FixedLogs()
    assert await api.call("GET", f"{PODS}/p/log?container=main&tailLines=1") == (200, b"main says three\n")
    status, text = await api.call("GET", f"{PODS}/p/log?container=side&timestamps=true&limitBytes=31")
    assert (status, text) == (200, b"2026-09-21T14:13:20.000000000Z ")
    status, body = await api.call("GET", f"{PODS}/p/log")
    assert status == 400
    assert body["message"] == "a container name must be specified for pod p, choose one of: [main side]"
    assert (await api.call("GET", f"{PODS}/p/log?container=none"))[0] == 400
    assert (await api.call("GET", f"{PODS}/p/log?container=main&previous=true"))[0] == 400
    assert (await api.call("GET", f"{PODS}/none/log"))[0] == 404


@pytest.mark.parametrize("broken", [False, True], ids=["the client hangs up", "the log cannot be read"])
async def test_a_log_that_is_cut_off_is_no_error_of_the_server(
    server: ApiServer, api: Api, caplog: pytest.LogCaptureFixture, broken: bool
) -> None:
    ended, gone = asyncio.Event(), asyncio.Event()

    class EndlessLogs:
        """Output that goes on until nobody takes it."""

        async def read(self, *_names: str, **_options: Any) -> AsyncIterator[bytes]:
            try:
                yield b"one\n"
                await gone.wait()
                if broken:
                    raise OSError("the disk fails")
                while True:
                    yield b"more\n" * 1000
                    await asyncio.sleep(0)
            finally:
                ended.set()

    await api.create(PODS, pod("p"))
    server.pods.logs = EndlessLogs()
    with caplog.at_level(logging.WARNING):
        response = await api.session.get(f"{api.base}{PODS}/p/log?follow=true")
        assert await response.content.readline() == b"one\n"
        if not broken:
            response.close()
        gone.set()
        await ended.wait()
        if broken:
            with pytest.raises(aiohttp.ClientPayloadError):
                await response.read()
        assert await api.get("/version"), "the server answers others"
    assert caplog.records == []
