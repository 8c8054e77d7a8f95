"""The probe of PyTorch's TCPStore, against a fake of both dialects."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from muster.state.roll import CoordinatorState, RankState, RollAnswer
from muster.watchers.probes.torch import TorchProbe
from muster.watchers.probes.torch.probe import RANK_KEYS
from muster.watchers.probes.torch.queries import Dialect
from tests.fakes.tcpstore import FakeStore

A, C, M = RankState.ARRIVED, RankState.CONNECTED, RankState.MISSING


@pytest.fixture(params=[True, False], ids=["plain", "validated"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[FakeStore]:
    async with FakeStore(plain=request.param) as fake:
        yield fake
        assert fake.forbidden == []


def probe_of(store: FakeStore, expected: int = 3) -> TorchProbe:
    return TorchProbe(store.address, clock=lambda: 1000.0, expected=expected)


async def look(address: str, deadline: float = 2.0) -> RollAnswer:
    return await TorchProbe(address, clock=lambda: 1000.0, expected=3, deadline=deadline).snapshot()


async def test_a_job_from_no_arrivals_to_all(store: FakeStore) -> None:
    probe = probe_of(store)
    empty = await probe.snapshot()
    assert (empty.coordinator, empty.states, empty.partial) == (CoordinatorState.SERVING, (A, M, M), "")
    store.join(0)
    assert (await probe.snapshot()).states == (A, M, M)
    store.join(2)
    some = await probe.snapshot()
    assert (some.states, some.missing, some.passed, some.joined) == ((A, M, A), (1,), False, None)
    assert some.detail == "2/3 processes have joined"
    store.join(1)
    full = await probe.snapshot()
    assert (full.states, full.passed, full.at) == ((C, C, C), True, 1000.0)
    assert full.protocol == (Dialect.PLAIN if store.plain else Dialect.VALIDATED)


@pytest.mark.parametrize("pattern", RANK_KEYS)
async def test_gloo_and_torchrun_name_their_ranks(store: FakeStore, pattern: str) -> None:
    store.join(0, 1, pattern=pattern)
    assert (await probe_of(store).snapshot()).missing == (2,)


async def test_processes_that_leave_no_names_are_counted(store: FakeStore) -> None:
    store.join(0, 1, pattern="")
    probe = probe_of(store)
    some = await probe.snapshot()
    assert (some.joined, some.states, some.passed) == (2, (A,), False)
    assert some.partial == "the store at MASTER_ADDR counts its processes and does not name them"
    store.join(2, pattern="")
    full = await probe.snapshot()
    assert (full.joined, full.states, full.partial, full.passed) == (None, (C, C, C), "", True)


async def test_a_gang_that_is_too_large_to_be_asked_by_name_is_counted(store: FakeStore) -> None:
    store.join(0, 1)
    assert (await probe_of(store, expected=5000).snapshot()).joined == 2


async def test_a_store_that_does_not_count_says_nothing_of_the_others() -> None:
    async with FakeStore() as store:
        store.keys["mine"] = b"1"
        answer = await probe_of(store).snapshot()
    assert (answer.coordinator, answer.states) == (CoordinatorState.SERVING, (A,))
    assert answer.partial == "the store at MASTER_ADDR does not count its processes"
    assert (answer.joined, answer.passed) == (None, False)


async def test_a_plain_store_is_greeted_once() -> None:
    async with FakeStore(plain=True) as store:
        probe = probe_of(store)
        await probe.snapshot()
        first = store.connections
        await probe.snapshot()
        assert (first, store.connections) == (2, 3)


async def test_a_store_of_another_version_after_a_restart_is_understood() -> None:
    async with FakeStore(plain=True) as store:
        probe = probe_of(store)
        assert (await probe.snapshot()).protocol == Dialect.PLAIN
        store.plain = False
        seen = [(await probe.snapshot()).coordinator.serving for _ in range(2)]
    assert seen[-1]


async def test_nothing_behind_the_port_is_a_refusal() -> None:
    async with FakeStore() as store:
        address = store.address
    answer = await look(address)
    assert (answer.coordinator, answer.detail) == (CoordinatorState.REFUSED, "connection refused")


@pytest.mark.parametrize(
    ("said", "state", "detail"),
    [
        (None, CoordinatorState.SILENT, "the port accepts connections and does not answer within 0.1 s"),
        (b"", CoordinatorState.OTHER_PROTOCOL, "closes connections"),
        (b"HTTP/1.1 400", CoordinatorState.OTHER_PROTOCOL, "something else answers: 'HTTP/1.1 400'"),
        (b"x" * 64, CoordinatorState.OTHER_PROTOCOL, "something else answers"),
        (bytes(32) + b"\x00" + b"\xff" * 8, CoordinatorState.OTHER_PROTOCOL, "a value of 18446744073709551615 bytes"),
        (
            bytes(32) + b"\x00" + b"\x02" + bytes(7) + b"-1",
            CoordinatorState.OTHER_PROTOCOL,
            "'-1' where a number was expected",
        ),
    ],
)
async def test_what_is_no_store_is_said(said: bytes | None, state: CoordinatorState, detail: str) -> None:
    done = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        if said is None:
            await reader.read()
        else:
            writer.write(said)
        writer.close()
        done.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    answer = await look(f"{host}:{port}", deadline=0.1 if said is None else 2.0)
    await done.wait()
    server.close()
    await server.wait_closed()
    assert answer.coordinator is state
    assert answer.detail.startswith(detail)


async def test_a_store_reports_no_changes_by_itself() -> None:
    async with FakeStore() as store:
        assert [answer async for answer in probe_of(store).changes()] == []
        assert store.connections == 0
