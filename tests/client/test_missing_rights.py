"""What may be read is shown, and what may not is named."""

from collections.abc import Mapping
from typing import Any

import click
import pytest

from muster.api.errors import Forbidden
from muster.cli.commands import explain
from muster.client import Client, Explanation
from muster.client.explaining.lines import lines
from muster.client.explaining.tree import tree
from muster.kube.transport import Answer, Transport
from tests.client.localserver import MANIFEST, LocalServer


class WithoutRights:
    """A way to the API server on which the kinds of ``denied`` may not be listed, or logs not be read."""

    def __init__(self, inner: Transport, *denied: str) -> None:
        self._inner = inner
        self._denied = denied

    async def request(self, method: str, path: str, *, params: Mapping[str, str] | None = None, **more: Any) -> Answer:
        kind = path.rsplit("/", 1)[1]
        if kind in self._denied:
            message = f'{kind} is forbidden: User "ann" cannot list resource "{kind}" in the namespace "default"'
            raise Forbidden(message, status=403, reason="Forbidden", request=f"{method} {path}")
        return await self._inner.request(method, path, params=params, **more)

    def lines(self, path: str, *, params: Mapping[str, str], silence: float) -> Any:
        if "logs" in self._denied:
            raise Forbidden(f'pods "{path.split("/")[-2]}" is forbidden: cannot get resource "pods/log"', status=403)
        return self._inner.lines(path, params=params, silence=silence)


async def explained(client: Client, server: LocalServer, *denied: str) -> Explanation:
    await client.submit(MANIFEST, name="mine")
    server.status("mine", phase="Running", reason="RollComplete", message="2/2 ranks arrived", ready="2/2")
    limited = Client(transport=WithoutRights(client.transport, *denied), namespace="default")
    async with limited:
        return await limited.explain("mine")


@pytest.mark.parametrize("denied", [("pods",), ("pods", "events")])
async def test_without_rights_on_pods_the_status_is_shown_and_the_pods_are_named(
    client: Client, server: LocalServer, denied: tuple[str, ...]
) -> None:
    found = await explained(client, server, *denied)
    assert (found.members, found.members_read, len(found.unreadable)) == ((), False, len(denied))
    shown = "\n".join(map(click.unstyle, lines(found, 10)))
    assert "Running" in shown
    assert "2/2 ready" in shown
    assert "2/2 ranks arrived" in shown
    assert "the members may not be read" in shown
    assert "no member has a pod" not in shown
    for kind in denied:
        assert f'not shown: {kind} is forbidden: User "ann" cannot list resource "{kind}"' in shown
    assert explain.document(found, 0.0)["members"] is None


async def test_without_rights_on_events_the_members_are_shown(client: Client, server: LocalServer) -> None:
    found = await explained(client, server, "events")
    assert found.members_read
    assert [click.unstyle(line) for line in tree(found, 10)][-1].startswith("not shown: events is forbidden")
