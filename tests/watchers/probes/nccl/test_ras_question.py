"""One question to NCCL's RAS, against a double that answers well, half, wrongly, not at all, or forever."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from muster.watchers.probes.bounded.connection import Address, Guard
from muster.watchers.probes.nccl import COMMANDS, MOST, NoRas, ask
from tests.fakes.ras import FakeRas, communicator, gang, rank_of, status

READING = ["CLIENT PROTOCOL 2", "TIMEOUT 5", "SET FORMAT json", "STATUS"]


@pytest.fixture
async def ras() -> AsyncIterator[FakeRas]:
    async with FakeRas() as fake:
        yield fake
        assert fake.commands == READING[: len(fake.commands)]


async def refused(ras: FakeRas, **how: Any) -> str:
    with pytest.raises(NoRas) as error:
        await ask(Address.parse(ras.address), Guard(), **how)
    return str(error.value)


async def test_what_is_asked_is_a_closed_list_of_reading_commands(ras: FakeRas) -> None:
    answer = await ask(Address.parse(ras.address), Guard())
    assert [rank.counts[0] for rank in answer.communicators[0].ranks] == [5, 5, 5]
    assert ras.commands == READING
    assert b"".join(COMMANDS).decode().splitlines() == READING


async def test_an_answer_may_name_ranks_that_are_missing(ras: FakeRas) -> None:
    ras.says = gang([5, -1, 6])
    (found,) = (await ask(Address.parse(ras.address), Guard())).communicators
    assert not found.clear
    assert [rank.rank for rank in found.ranks] == [0, 2]


async def test_an_answer_of_many_ranks_is_read(ras: FakeRas) -> None:
    ranks = [rank_of(rank, f"10.0.{rank // 250}.{rank % 250 + 1}", {"AllReduce": 9}) for rank in range(2_000)]
    ras.says = status(communicator(ranks))
    (found,) = (await ask(Address.parse(ras.address), Guard())).communicators
    assert (len(found.ranks), found.clear) == (2_000, True)


@pytest.mark.parametrize(
    "protocol",
    [b"SERVER PROTOCOL 3\n", b"SERVER PROTOCOL 22\n", b"server protocol\n", b"220 mail\n", b"\xff\x00\n", b"\n"],
)
async def test_another_protocol_is_not_gone_on_with(ras: FakeRas, protocol: bytes) -> None:
    ras.protocol = protocol
    assert ", not 'SERVER PROTOCOL 2'" in await refused(ras)
    assert ras.commands == READING[:1]


async def test_an_older_nccl_is_asked_for_no_text(ras: FakeRas) -> None:
    ras.knows_json = False
    said = await refused(ras)
    assert said.startswith("it does not answer in JSON, as no NCCL before 2.28.7 does")
    assert ras.commands == READING[:3]


@pytest.mark.parametrize("bytes_", [1, 100, 1_000])
async def test_an_answer_that_is_cut_off_says_nothing(ras: FakeRas, bytes_: int) -> None:
    ras.cut = bytes_
    assert (await refused(ras)).startswith("its answer cannot be read")


async def test_garbage_says_nothing(ras: FakeRas) -> None:
    ras.says = bytes(range(256)) * 100
    said = await refused(ras)
    assert said.startswith("its answer cannot be read")
    assert said.isprintable()


async def test_a_process_that_is_stopped_is_not_waited_for_longer_than_agreed(ras: FakeRas) -> None:
    ras.mute = True
    assert await refused(ras, deadline=0.2) == "no answer within 0.2 s"


async def test_an_answer_without_end_is_cut_off_and_its_peer_left_alone(ras: FakeRas) -> None:
    ras.again = b" " * 65_536
    guard = Guard()
    for _ in range(2):
        with pytest.raises(NoRas) as error:
            await ask(Address.parse(ras.address), guard)
        assert f"more than {MOST:,} bytes" in str(error.value)
        assert "left alone" in str(error.value)
    assert ras.connections == 1


async def test_a_line_without_end_is_cut_off(ras: FakeRas) -> None:
    ras.protocol = b"x" * 100_000
    assert "left alone" in await refused(ras)


async def test_a_port_where_nothing_listens_is_refused(closed: int) -> None:
    with pytest.raises(NoRas, match="connection refused"):
        await ask(Address("127.0.0.1", closed), Guard())


async def test_a_peer_that_closes_at_once_has_said_nothing() -> None:
    server = await asyncio.start_server(lambda _, writer: writer.transport.abort(), "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    with pytest.raises(NoRas):
        await ask(Address(host, port), Guard())
    server.close()
    await server.wait_closed()
