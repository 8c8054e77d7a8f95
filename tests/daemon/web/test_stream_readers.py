"""The readers of a stream: those of its page, for as long as they may read it."""

import asyncio

from aiohttp import ClientError, ClientResponse

from muster.api.errors import Unreachable
from tests.daemon.web.ground import Ground


async def test_a_stream_is_for_the_readers_of_its_page(ground: Ground) -> None:
    ground.api.rights |= {("alice", "get", "red"), ("alice", "list", "red")}
    assert (await ground.get("/events/experiments/red/run"))[0] == 401
    assert (await ground.get("/events/"))[0] == 401
    status, text = await ground.get("/events/experiments/green/run", "alice's")
    assert status == 403
    assert "secret" not in text
    assert (await ground.get("/events/experiments/red/nothing", "alice's"))[0] == 404
    assert (await ground.get("/events/nothing", "alice's"))[0] == 404
    sign_in = {"Authorization": "Bearer alice's"}
    async with ground.session.get("/events/?version=older", headers=sign_in) as stream:
        assert stream.status == 200
        assert stream.content_type == "text/event-stream"
        assert stream.headers["Content-Security-Policy"].startswith("default-src 'none'")
        first = (await stream.content.readuntil(b"\n\n")) + await stream.content.readuntil(b"\n\n")
        assert b"secret of red" in first
        assert b"secret of green" not in first


async def test_a_stream_ends_when_the_right_or_the_token_does(ground: Ground) -> None:
    ground.api.rights |= {("alice", "get", "red"), ("bob", "get", "red")}
    for user, lost in (("alice", "right"), ("bob", "token")):
        async with ground.session.get(
            "/events/experiments/red/run", headers={"Authorization": f"Bearer {user}'s"}
        ) as stream:
            await stream.content.readuntil(b"\n\n")
            if lost == "right":
                ground.api.rights.remove((user, "get", "red"))
            else:
                del ground.api.users[f"{user}'s"]
            ground.now += 61  # the remembered answers are forgotten
            async with asyncio.timeout(10):
                rest = await stream.content.read()
        assert b"event: refused" in rest, lost


async def until_cut(stream: ClientResponse) -> bytes:
    """Return the bytes until the server cuts the connection."""
    received = b""
    try:
        while part := await stream.content.readany():
            received += part
    except ClientError:
        return received
    raise AssertionError("the stream ended in good order")


async def test_a_stream_is_cut_and_not_refused_while_no_right_can_be_checked(ground: Ground) -> None:
    ground.api.rights.add(("alice", "get", "red"))
    sign_in = {"Authorization": "Bearer alice's"}
    async with ground.session.get("/events/experiments/red/run", headers=sign_in) as stream:
        await stream.content.readuntil(b"\n\n")
        ground.api.problem = Unreachable("connection refused")
        ground.now += 61  # the remembered answers are forgotten
        async with asyncio.timeout(10):
            received = await until_cut(stream)
    assert b"event: refused" not in received
    assert (await ground.get("/events/experiments/red/run", "alice's"))[0] == 503
