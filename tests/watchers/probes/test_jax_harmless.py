"""Whatever the coordinator does, the probe sends only calls that a real coordinator survives.

A random coordinator: ranks arrive, fail and leave, the process restarts, hangs, speaks another protocol, answers
garbage or refuses, while the probe takes snapshots, parks calls and closes. The fake records every forbidden call,
every version that it has not reported itself in the same incarnation, and any version sent to an older protocol.
"""

import asyncio
import random

import grpc
import pytest

from muster.state.view.roll import RollAnswer
from muster.watchers.probes.jax import probe as module
from muster.watchers.probes.jax.probe import JaxProbe
from tests.fakes.coordinator import FakeCoordinator

STEPS = 40


def garble(rng: random.Random) -> object:
    def mangle(body: bytes) -> bytes:
        changed = bytearray(body or b"\x00")
        for _ in range(rng.randint(1, 4)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        return bytes(changed[: rng.randint(0, len(changed))])

    return mangle


async def disturb(fake: FakeCoordinator, rng: random.Random) -> None:
    """Make one event in the life of a coordinator."""
    fake.mangle, fake.frozen, fake.refusal = bytes, False, None
    match rng.randrange(12):
        case 0 | 1 | 2 | 3:
            fake.arrive(rng.randrange(fake.n))
        case 4:
            fake.fail(rng.randrange(fake.n), rng.randrange(17), rng.randbytes(rng.randrange(60)))
        case 5:
            fake.leave(rng.randrange(fake.n))
        case 6:
            fake.protocol = rng.choice(["v2", "v2", "v2", "v1-watch", "v1-job", "v1-task0", "other"])
            await fake.restart()
        case 7:
            await fake.restart()
        case 8:
            fake.frozen = True
        case 9 | 10:
            fake.mangle = garble(rng)  # type: ignore[assignment]
        case 11:
            fake.refusal = (rng.choice([code for code in grpc.StatusCode if code.value[0]]), "no")


@pytest.mark.parametrize("seed", range(12))
async def test_the_probe_never_sends_what_a_coordinator_does_not_survive(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PAUSE_CALM", 0.001)
    monkeypatch.setattr(module, "_PAUSE_BUSY", 0.003)
    rng = random.Random(seed)
    told: list[RollAnswer] = []
    async with FakeCoordinator(4, seed=seed) as fake:
        probe = JaxProbe(fake.address, clock=lambda: 0.0, expected=4, deadline=0.05)

        async def follow() -> None:
            async for answer in probe.changes():
                told.append(answer)

        following = asyncio.create_task(follow())
        for _ in range(STEPS):
            await disturb(fake, rng)
            await asyncio.sleep(rng.choice([0, 0.001, 0.004]))
            told.append(await probe.snapshot())
            if following.done():
                following.result()
                following = asyncio.create_task(follow())
        await probe.close()
        await asyncio.wait_for(following, 30)
    assert fake.forbidden_calls == []
    assert fake.most_parked <= 1
    assert all(isinstance(answer, RollAnswer) and answer.detail.isprintable() for answer in told)
    assert len({answer.coordinator for answer in told}) > 1


async def test_the_fake_coordinator_records_forbidden_calls() -> None:
    async with FakeCoordinator(2, "v1-watch") as fake, grpc.aio.insecure_channel(fake.address) as channel:
        for name in ("Heartbeat", "ShutdownTask"):
            with pytest.raises(grpc.aio.AioRpcError):
                await channel.unary_unary(f"/tensorflow.CoordinationService/{name}")(b"")
        await channel.unary_unary("/tensorflow.CoordinationService/WatchJobState")(b"\x10\x00")
    assert fake.forbidden_calls == [
        "method /tensorflow.CoordinationService/Heartbeat",
        "method /tensorflow.CoordinationService/ShutdownTask",
        "WatchJobState with version 0",
    ]
