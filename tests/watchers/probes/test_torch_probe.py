"""The probe of PyTorch's TCPStore, against a fake of both dialects."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from muster.daemon.prober_pool import ReportsChanges
from muster.state.view.roll import CoordinatorState, RankState, RollAnswer
from muster.watchers.probes.bounded.connection import ProbeConnection
from muster.watchers.probes.torch import probe as module
from muster.watchers.probes.torch.probe import RANK_KEYS, TorchProbe
from muster.watchers.probes.torch.store import Dialect
from tests.builders import sure
from tests.fakes.tcpstore import FakeStore

A, C, M = RankState.ARRIVED, RankState.CONNECTED, RankState.MISSING


@pytest.fixture(params=[True, False], ids=["plain", "validated"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[FakeStore]:
    async with FakeStore(plain=request.param) as fake:
        yield fake
        assert fake.forbidden == []


OPEN: list[TorchProbe] = []


@pytest.fixture(autouse=True)
async def _closed() -> AsyncIterator[None]:
    yield
    while OPEN:
        await OPEN.pop().close()


def probe_of(store: FakeStore, expected: int = 3, deadline: float = 30.0) -> TorchProbe:
    OPEN.append(TorchProbe(store.address, clock=lambda: 1000.0, expected=expected, deadline=deadline))
    return OPEN[-1]


async def look(address: str, deadline: float = 30.0) -> RollAnswer:
    probe = TorchProbe(address, clock=lambda: 1000.0, expected=3, deadline=deadline)
    try:
        return await probe.snapshot()
    finally:
        await probe.close()


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


async def test_a_store_gets_one_connection_for_all_looks(store: FakeStore) -> None:
    """Each connection makes the store look up the peer's name, and it serves no worker meanwhile (PyTorch 2.15)."""
    probe = probe_of(store)
    for _ in range(5):
        await probe.snapshot()
    assert store.connections == (2 if store.plain else 1)  # of a plain store: the first connection found the dialect


async def test_a_store_that_comes_back_is_asked_again(store: FakeStore) -> None:
    probe = probe_of(store)
    await probe.snapshot()
    store.drop()
    store.plain = not store.plain  # an image with another version
    assert (await probe.snapshot()).coordinator is CoordinatorState.SERVING


async def test_a_stopped_store_is_asked_once_and_answers_when_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeStore() as store:
        probe = probe_of(store)
        assert (await probe.snapshot()).coordinator is CoordinatorState.SERVING
        store.going.clear()
        monkeypatch.setattr(probe, "_deadline", 0.05)  # of a store that does not answer at all
        for _ in range(3):
            assert (await probe.snapshot()).coordinator is CoordinatorState.SILENT
        store.going.set()
        while not (await probe.snapshot()).coordinator.serving:
            pass
        assert store.connections == 1


async def test_a_connection_without_an_answer_is_given_up_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ABANDON", 0.0)
    async with FakeStore() as store:
        probe = probe_of(store)
        await probe.snapshot()
        store.going.clear()
        monkeypatch.setattr(probe, "_deadline", 0.05)
        await probe.snapshot()
        store.going.set()
        monkeypatch.setattr(probe, "_deadline", 30.0)
        assert (await probe.snapshot()).coordinator is CoordinatorState.SERVING
        assert store.connections == 2


async def test_a_stopped_process_is_silent_also_when_its_connection_was_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The kernel accepts for a stopped process: the port is reached, and nothing is wrong with the network."""
    monkeypatch.setattr(module, "_ABANDON", 0.0)
    async with FakeStore() as store:
        probe = probe_of(store, deadline=0.2)
        await probe.snapshot()
        store.going.clear()
        for _ in range(3):
            assert (await probe.snapshot()).coordinator is CoordinatorState.SILENT
        store.going.set()
        await probe.close()


async def test_a_port_that_accepts_nothing_is_not_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    async def unreached(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(ProbeConnection, "open", unreached)
    probe = TorchProbe("127.0.0.1:1", clock=lambda: 1000.0, expected=3, deadline=0.05)
    answer = await probe.snapshot()
    await probe.close()
    assert (answer.coordinator, answer.detail) == (CoordinatorState.TIMEOUT, "no connection within 0.05 s")


async def test_nothing_behind_the_port_is_a_refusal() -> None:
    async with FakeStore() as store:
        address = store.address
    answer = await look(address)
    assert (answer.coordinator, answer.detail) == (CoordinatorState.REFUSED, "connection refused")


@pytest.mark.parametrize(
    ("sent", "state", "detail"),
    [
        (None, CoordinatorState.SILENT, "its port accepts connections but sends no answer within 0.1 s"),
        (b"", CoordinatorState.OTHER_PROTOCOL, "closes connections"),
        (b"HTTP/1.1 400", CoordinatorState.OTHER_PROTOCOL, "something else answers: 'HTTP/1.1 400'"),
        (b"x" * 64, CoordinatorState.OTHER_PROTOCOL, "something else answers"),
        (bytes(32) + b"\x00" + b"\xff" * 8, CoordinatorState.OTHER_PROTOCOL, "a value of -1 bytes"),
        (
            bytes(32) + b"\x00" + b"\x02" + bytes(7) + b"-1",
            CoordinatorState.OTHER_PROTOCOL,
            "'-1' where a number was expected",
        ),
    ],
)
async def test_what_is_no_store_is_reported(sent: bytes | None, state: CoordinatorState, detail: str) -> None:
    done = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        if sent is None:
            await reader.read()
        else:
            writer.write(sent)
        writer.close()
        done.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    answer = await look(f"{host}:{port}", deadline=0.1 if sent is None else 30.0)
    await done.wait()
    server.close()
    await server.wait_closed()
    assert answer.coordinator is state
    assert answer.detail.startswith(detail)


async def test_a_store_reports_no_changes_by_itself() -> None:
    async with FakeStore() as store:
        assert not isinstance(probe_of(store), ReportsChanges)


def reported(step: int, processes: int = 1) -> bytes:
    return f'{{"step":{step},"calls":{step + 1},"at":1.5,"processes":{processes}}}'.encode()


async def test_reports_are_read_once_all_have_joined(store: FakeStore) -> None:
    store.keys |= {f"/muster/progress/{rank}": reported(7 + rank) for rank in (0, 2)}
    probe = probe_of(store)
    store.join(0, 1)
    assert (await probe.snapshot()).reports is None
    store.join(2)
    seen = sure((await probe.snapshot()).reports)
    assert [(report.rank, report.step) for report in seen] == [(0, 7), (2, 9)]


async def test_processes_of_a_pod_are_read_as_its_one_report(store: FakeStore) -> None:
    store.join(0, 1, 2)
    store.keys |= {"/muster/progress/1": reported(9, 3)} | {f"/muster/progress/1.{n}": reported(5 + n) for n in (1, 2)}
    seen = sure((await probe_of(store).snapshot()).reports)
    assert [(report.rank, report.step, report.calls) for report in seen] == [(1, 6, 10 + 7 + 8)]


@pytest.mark.parametrize("value", [b"x" * 1025, b"x" * 100_000])
async def test_a_report_that_is_too_long_costs_no_roll(store: FakeStore, value: bytes) -> None:
    store.join(0, 1, 2)
    store.keys["/muster/progress/0"] = value
    probe = probe_of(store)
    for _ in range(2):
        answer = await probe.snapshot()
        assert (answer.passed, answer.reports) == (True, None)


async def test_a_key_that_goes_costs_one_look(store: FakeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.watchers.probes.torch.probe.StoredReports.due", lambda *_: True)
    store.join(0, 1, 2)
    store.keys["/muster/progress/0"] = reported(7)
    probe = probe_of(store)
    assert (await probe.snapshot()).reports
    del store.keys["/muster/progress/0"]
    assert (await probe.snapshot()).reports is None
    after = await probe.snapshot()
    assert (after.passed, after.reports) == (True, ())


async def test_a_gang_that_is_too_large_is_not_asked_for_reports(store: FakeStore) -> None:
    store.join(*range(5000), pattern="")
    assert (await probe_of(store, expected=5000).snapshot()).reports is None
