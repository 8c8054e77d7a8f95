"""The pod subresource log."""

from collections.abc import AsyncIterator
from typing import Any

from muster.local.apiserver import ApiServer
from tests.local.apiserver.harness import PODS, Api, pod


class FixedLogs:
    """Fixed container output."""

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
