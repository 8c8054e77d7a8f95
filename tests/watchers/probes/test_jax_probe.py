"""The JAX probe against a fake coordinator that records every call a real one would not survive."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import grpc
import pytest

from muster.state.view.roll import CoordinatorState, RankError, RankState, RollAnswer
from muster.watchers.probes.bounded.connection import Address, PortState
from muster.watchers.probes.jax import probe as module
from muster.watchers.probes.jax.port_check import check_port
from muster.watchers.probes.jax.probe import JaxProbe
from tests.fakes.coordinator import FakeCoordinator

GENERATIONS = ["v2", "v1-watch", "v1-job"]
M, A, C, F, L = RankState.MISSING, RankState.ARRIVED, RankState.CONNECTED, RankState.FAILED, RankState.LEFT


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAUSE_CALM", 0.01)
    monkeypatch.setattr(module, "_PAUSE_BUSY", 0.01)


@pytest.fixture
async def coordinator() -> AsyncIterator[FakeCoordinator]:
    async with FakeCoordinator(4) as fake:
        yield fake
        assert fake.forbidden_calls == []


def probe_of(fake: FakeCoordinator, deadline: float = 2.0, expected: int | None = 4) -> JaxProbe:
    return JaxProbe(fake.address, clock=lambda: 1000.0, expected=expected, deadline=deadline)


@pytest.fixture
async def probe(coordinator: FakeCoordinator) -> AsyncIterator[JaxProbe]:
    made = probe_of(coordinator)
    yield made
    await made.close()


def asked(fake: FakeCoordinator) -> list[str]:
    return [call.method.rpartition("/")[2] for call in fake.calls]


@pytest.mark.parametrize("protocol", GENERATIONS)
async def test_a_job_from_no_arrivals_to_a_failure(protocol: str) -> None:
    async with FakeCoordinator(4, protocol) as fake:
        probe = probe_of(fake)
        empty = await probe.snapshot()
        assert (empty.coordinator, empty.states, empty.expected) == (CoordinatorState.SERVING, (M, M, M, M), 4)
        fake.arrive(0, 2)
        some = await probe.snapshot()
        assert (some.arrived, some.missing, some.passed) == (frozenset({0, 2}), (1, 3), False)
        assert some.detail == "2/4 ranks arrived; missing ranks 1, 3"
        fake.arrive(1, 3)
        full = await probe.snapshot()
        assert (full.states, full.passed, full.protocol) == ((C, C, C, C), True, protocol)
        fake.fail(1, 14, "The tasks have crashed:\n/job:jax_worker/task:1")
        failed = await probe.snapshot()
        assert failed.states == (C, F, C, C)
        assert failed.errors == (RankError(1, 14, "The tasks have crashed: /job:jax_worker/task:1"),)
        assert (failed.at, failed.incarnation) == (1000.0, fake.incarnation if protocol == "v2" else None)
        assert 0 < failed.latency < 2
        fake.leave()
        assert (await probe.snapshot()).left == (0, 1, 2, 3)
        await probe.close()
    assert fake.forbidden_calls == []


async def test_the_oldest_protocol_reports_rank_zero_only() -> None:
    async with FakeCoordinator(4, "v1-task0") as fake:
        probe = probe_of(fake)
        fake.arrive(0)
        waiting = await probe.snapshot()
        assert (waiting.states, waiting.expected) == ((A,), None)
        assert waiting.partial == "this version of jax reports rank 0 only"
        fake.arrive(1, 2, 3)
        together = await probe.snapshot()
        assert (together.states, together.passed) == ((C,), False)
        await probe.close()
    assert fake.forbidden_calls == []


@pytest.mark.parametrize("protocol", [*GENERATIONS, "v1-task0"])
async def test_the_protocol_is_negotiated_once_and_kept(protocol: str) -> None:
    async with FakeCoordinator(4, protocol) as fake:
        probe = probe_of(fake)
        for _ in range(3):
            assert (await probe.snapshot()).protocol == protocol
        await probe.close()
    climb = {"v2": 2, "v1-watch": 2, "v1-job": 3, "v1-task0": 4}[protocol]
    assert len(fake.calls) == climb + 2
    assert len(set(asked(fake)[climb - 1 :])) == 1


async def test_the_incarnation_is_learnt_once_and_sent_afterwards(
    coordinator: FakeCoordinator, probe: JaxProbe
) -> None:
    await probe.snapshot()
    await probe.snapshot()
    mine = coordinator.incarnation
    assert [(call.incarnation, call.version) for call in coordinator.calls] == [(0, -1), (mine, -1), (mine, -1)]


async def test_a_restarted_coordinator_is_noticed_by_the_next_snapshot(
    coordinator: FakeCoordinator, probe: JaxProbe
) -> None:
    coordinator.arrive(0, 1, 2, 3)
    before = await probe.snapshot()
    await coordinator.restart()
    coordinator.arrive(2)
    after = await probe.snapshot()
    assert after.coordinator is CoordinatorState.SERVING
    assert after.incarnation == coordinator.incarnation != before.incarnation
    # Nothing carries over from the old incarnation: rank 2 is missing, it has not left.
    assert after.states == (M, M, A, M)


async def test_a_coordinator_with_another_jax_is_negotiated_again(
    coordinator: FakeCoordinator, probe: JaxProbe
) -> None:
    for protocol in ("v2", "v1-watch", "v2", "v1-task0", "v1-job", "v1-watch", "v2"):
        coordinator.protocol = protocol
        await coordinator.restart()
        answer = await probe.snapshot()
        assert (answer.protocol, answer.incarnation is not None) == (protocol, protocol == "v2")


async def test_a_coordinator_that_returns_is_found_at_once(coordinator: FakeCoordinator, probe: JaxProbe) -> None:
    await probe.snapshot()
    await coordinator.stop()
    for _ in range(3):
        assert (await probe.snapshot()).coordinator is CoordinatorState.REFUSED
    await coordinator.start()
    assert (await probe.snapshot()).coordinator is CoordinatorState.SERVING


async def test_a_coordinator_that_hangs_is_a_timeout_and_recovers(coordinator: FakeCoordinator) -> None:
    probe = probe_of(coordinator, deadline=0.4)
    await probe.snapshot()
    coordinator.frozen = True
    for _ in range(2):
        stuck = await probe.snapshot()
        assert stuck.coordinator is CoordinatorState.TIMEOUT
        assert "DEADLINE_EXCEEDED" in stuck.detail
        assert stuck.latency < 1.2 + 0.4
    coordinator.frozen = False
    assert (await probe.snapshot()).coordinator is CoordinatorState.SERVING
    await probe.close()


async def test_another_grpc_server_is_another_protocol() -> None:
    async with FakeCoordinator(4, "other") as fake:
        probe = probe_of(fake)
        answer = await probe.snapshot()
        await probe.close()
    assert (answer.coordinator, answer.detail) == (
        CoordinatorState.OTHER_PROTOCOL,
        "a gRPC server that is no JAX coordinator",
    )
    assert asked(fake) == ["WatchTasks", "WatchJobState", "GetJobState", "GetTaskState"]


async def test_another_process_count_is_named_in_the_detail(coordinator: FakeCoordinator) -> None:
    probe = probe_of(coordinator, expected=6)
    answer = await probe.snapshot()
    await probe.close()
    assert answer.expected == 4
    assert "process 0 was started with 4, the experiment has 6" in answer.detail


@pytest.mark.parametrize(
    ("mangle", "words"),
    [
        (lambda body: b"\xff" * 50, "cannot be read"),
        (lambda body: body[:-9], "cannot be read"),
        (lambda body: b"\x12\x03abc", "cannot be read: a task list has no field 2 of wire type 2"),
        (lambda body: b"\x0a\x00" * 40_000, "cannot be read: the task list has more than 520 entries"),
        (lambda body: bytes(5 * 1024 * 1024), "RESOURCE_EXHAUSTED"),
    ],
)
async def test_an_answer_that_is_malformed_is_another_protocol(
    coordinator: FakeCoordinator, probe: JaxProbe, mangle: object, words: str
) -> None:
    coordinator.arrive(0)
    coordinator.mangle = mangle  # type: ignore[assignment]
    answer = await probe.snapshot()
    assert answer.coordinator is CoordinatorState.OTHER_PROTOCOL
    assert words in answer.detail
    assert len(answer.detail) <= 1000
    coordinator.mangle = bytes
    assert (await probe.snapshot()).arrived == {0}


@pytest.mark.parametrize("code", [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK])
async def test_every_grpc_status_becomes_an_answer(
    coordinator: FakeCoordinator, probe: JaxProbe, code: grpc.StatusCode
) -> None:
    coordinator.refusal = (code, "no \x1b[31m " + "y" * 3000)
    for _ in range(2):
        answer = await probe.snapshot()
        assert answer.coordinator in {CoordinatorState.OTHER_PROTOCOL, CoordinatorState.TIMEOUT}
        assert answer.detail.isprintable()
        assert len(answer.detail) <= 1000


async def test_a_compressed_answer_is_not_decompressed() -> None:
    # A few kilobytes could decompress to gigabytes: a compressed answer, which nobody asked for, is refused.
    async with FakeCoordinator(300, compression=grpc.Compression.Gzip) as fake:
        probe = probe_of(fake)
        answer = await probe.snapshot()
        await probe.close()
    assert answer.coordinator is CoordinatorState.OTHER_PROTOCOL
    assert "cannot be read" in answer.detail


async def test_a_connection_without_answers_is_replaced(coordinator: FakeCoordinator) -> None:
    probe = probe_of(coordinator, deadline=0.3)
    coordinator.frozen = True
    for _ in range(4):
        await probe.snapshot()
    await probe.close()
    peers = [call.peer for call in coordinator.calls]
    assert peers[0] == peers[1] == peers[2] != peers[3]


async def test_a_coordinator_restarted_during_a_snapshot_is_asked_once_more(
    coordinator: FakeCoordinator, probe: JaxProbe, monkeypatch: pytest.MonkeyPatch
) -> None:
    back = asyncio.Event()

    async def check_when_it_is_back(address: Address, deadline: float) -> PortState:
        await back.wait()
        return await check_port(address, deadline)

    await probe.snapshot()
    coordinator.frozen = True
    monkeypatch.setattr(module, "check_port", check_when_it_is_back)
    looking = asyncio.create_task(probe.snapshot())
    await asyncio.wait_for(coordinator.held.wait(), 5)
    coordinator.frozen = False
    await coordinator.restart()
    back.set()
    assert (await looking).incarnation == coordinator.incarnation


async def test_a_coordinator_with_a_new_incarnation_each_time_is_another_protocol(
    coordinator: FakeCoordinator, probe: JaxProbe
) -> None:
    numbers = iter(range(1, 100))

    async def evade(context: grpc.aio.ServicerContext, said: int) -> None:
        text = f"wrong service incarnation: requested {said}, currently {next(numbers)}"
        await context.abort(grpc.StatusCode.INTERNAL, text)

    coordinator._wrong_incarnation = evade  # type: ignore[method-assign]  # noqa: SLF001
    answer = await probe.snapshot()
    assert answer.coordinator is CoordinatorState.OTHER_PROTOCOL
    assert len(coordinator.calls) == 3


async def test_a_slow_coordinator_is_a_timeout(coordinator: FakeCoordinator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SNAPSHOT_DEADLINES", 0.2)
    probe = probe_of(coordinator, deadline=1.0)

    async def dawdle(context: grpc.aio.ServicerContext, said: int) -> None:
        await asyncio.sleep(0.15)
        await context.abort(grpc.StatusCode.INTERNAL, f"wrong service incarnation: requested 0, currently {said + 1}")

    coordinator._wrong_incarnation = dawdle  # type: ignore[method-assign]  # noqa: SLF001
    answer = await probe.snapshot()
    await probe.close()
    assert (answer.coordinator, answer.detail) == (CoordinatorState.TIMEOUT, "each call is answered, but too slowly")


async def next_of(changes: AsyncIterator[RollAnswer]) -> RollAnswer:
    return await asyncio.wait_for(anext(changes), 5)


async def parked(fake: FakeCoordinator, changes: AsyncIterator[RollAnswer]) -> asyncio.Task[RollAnswer]:
    """Wait for the next of the changes, until the call of it is parked."""
    waiting = asyncio.create_task(next_of(changes))
    await asyncio.wait_for(fake.parking(1), 5)
    return waiting


async def test_changes_arrive_as_they_happen_over_one_parked_call(
    coordinator: FakeCoordinator, probe: JaxProbe
) -> None:
    async with aclosing(probe.changes()) as changes:
        assert (await next_of(changes)).missing == (0, 1, 2, 3)
        for rank in (2, 0):
            waiting = await parked(coordinator, changes)
            coordinator.arrive(rank)
            assert rank in (await waiting).arrived
        waiting = await parked(coordinator, changes)
        coordinator.arrive(1, 3)
        while (await waiting).states != (C, C, C, C):
            waiting = asyncio.create_task(next_of(changes))
        waiting = await parked(coordinator, changes)
        assert (await probe.snapshot()).passed  # a snapshot does not disturb the parked call
        coordinator.fail(3, 13, "Shutdown barrier has failed")
        assert (await waiting).errors == (RankError(3, 13, "Shutdown barrier has failed"),)
    assert coordinator.most_parked == 1


async def test_changes_end_for_good_as_soon_as_a_rank_has_left(coordinator: FakeCoordinator, probe: JaxProbe) -> None:
    coordinator.arrive(0, 1, 2, 3)
    async with aclosing(probe.changes()) as changes:
        assert (await next_of(changes)).passed
        waiting = await parked(coordinator, changes)
        coordinator.leave(1)
        assert (await waiting).states == (C, L, C, C)
        assert [answer async for answer in changes] == []
    calls = len(coordinator.calls)
    assert [answer async for answer in probe.changes()] == []
    assert len(coordinator.calls) == calls
    assert not coordinator.parked
    # A new incarnation is a new job: it may be watched again.
    await coordinator.restart()
    await probe.snapshot()
    async with aclosing(probe.changes()) as changes:
        waiting = await parked(coordinator, changes)
        coordinator.arrive(0)
        assert (await waiting).arrived == {0}


@pytest.mark.parametrize("protocol", ["v1-watch", "v1-job", "v1-task0", "other"])
async def test_an_older_coordinator_gets_one_snapshot_and_no_parked_call(protocol: str) -> None:
    async with FakeCoordinator(4, protocol) as fake:
        probe = probe_of(fake)
        assert len([answer async for answer in probe.changes()]) == 1
        assert [call.version for call in fake.calls if call.version not in (None, -1)] == []
        await probe.close()


async def test_changes_end_with_an_answer_when_process_zero_dies(coordinator: FakeCoordinator, probe: JaxProbe) -> None:
    changes = probe.changes()
    await next_of(changes)
    waiting = await parked(coordinator, changes)
    await coordinator.stop()
    assert (await waiting).coordinator is CoordinatorState.REFUSED
    assert [answer async for answer in changes] == []


async def test_changes_start_again_after_a_restart_between_two_calls(
    coordinator: FakeCoordinator, probe: JaxProbe
) -> None:
    coordinator.arrive(0, 1, 2, 3)
    await probe.snapshot()
    changes = probe.changes()
    await coordinator.restart()  # version 8 of the old incarnation would be far ahead of the new one
    fresh = await next_of(changes)
    assert (fresh.incarnation, fresh.missing) == (coordinator.incarnation, (0, 1, 2, 3))
    await changes.aclose()


async def test_a_version_is_never_used_for_another_incarnation(coordinator: FakeCoordinator, probe: JaxProbe) -> None:
    coordinator.arrive(0)
    changes = probe.changes()
    await next_of(changes)
    waiting = await parked(coordinator, changes)
    # Only a hostile coordinator changes its incarnation while it answers; the parked answer belongs to the old one.
    coordinator.incarnation += 2
    coordinator.version = 0
    renamed = await probe.snapshot()
    coordinator.version = 50
    coordinator.arrive(1)
    assert (await waiting).incarnation == renamed.incarnation == coordinator.incarnation
    await changes.aclose()


async def test_close_cancels_the_parked_call_and_ends_the_changes(
    coordinator: FakeCoordinator, probe: JaxProbe
) -> None:
    changes = probe.changes()
    await next_of(changes)

    async def rest() -> list[RollAnswer]:
        return [answer async for answer in changes]

    waiting = asyncio.create_task(rest())
    await asyncio.wait_for(coordinator.parking(1), 5)
    await probe.close()
    assert await asyncio.wait_for(waiting, 30) == []
    await asyncio.wait_for(coordinator.parking(0), 5)  # the fixture's second close is harmless


async def test_a_cancelled_consumer_of_changes_stays_cancelled(coordinator: FakeCoordinator, probe: JaxProbe) -> None:
    changes = probe.changes()
    await next_of(changes)
    waiting = asyncio.ensure_future(anext(changes))
    await asyncio.wait_for(coordinator.parking(1), 5)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_a_malformed_answer_to_the_parked_call_ends_the_changes(
    coordinator: FakeCoordinator, probe: JaxProbe
) -> None:
    changes = probe.changes()
    await next_of(changes)
    waiting = await parked(coordinator, changes)
    coordinator.mangle = lambda body: b"\x08"
    coordinator.arrive(0)
    assert (await waiting).coordinator is CoordinatorState.OTHER_PROTOCOL
    assert [answer async for answer in changes] == []


async def test_an_answer_that_is_too_large_for_the_gang_is_not_read(coordinator: FakeCoordinator) -> None:
    coordinator.arrive(0, 1, 2, 3)
    small = probe_of(coordinator)
    coordinator.fail(1, 14, "x" * 200_000)
    refused = await small.snapshot()
    assert refused.coordinator is CoordinatorState.OTHER_PROTOCOL
    assert "RESOURCE_EXHAUSTED" in refused.detail
    large = probe_of(coordinator, expected=100)
    assert (await large.snapshot()).states == (C, F, C, C)
    await small.close()
    await large.close()
