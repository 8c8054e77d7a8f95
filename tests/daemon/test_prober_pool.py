"""The daemon's choice of the prober of a coordinator, and its life."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from muster.daemon.prober_pool import ProberPool, prober_of
from muster.state.view.roll import CoordinatorState, RollAnswer
from muster.state.vocabulary.actions import ProbeTarget
from muster.state.vocabulary.group import ProbeKind
from muster.state.vocabulary.pod import Port
from muster.watchers.probes.bounded.connection import Meter, metered
from tests.daemon.virtual_daemon import in_virtual_time


def target(kind: ProbeKind) -> ProbeTarget:
    ports = (Port("dashboard", 1), Port("agent", 1))
    return ProbeTarget(epoch=1, uid="uid-1", address="127.0.0.1:1", kind=kind, expected=2, ports=ports)


def test_a_daemon_loads_h2_with_the_first_coordinator_that_needs_it() -> None:
    program = "import sys, muster.daemon.main; print('h2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


async def test_every_kind_of_coordinator_that_can_be_asked_has_a_prober() -> None:
    make = partial(prober_of, lambda: 7.0)
    for kind in ProbeKind:
        if kind is ProbeKind.NONE:
            continue
        prober = make(target(kind))
        try:
            answer = await prober.snapshot()
        finally:
            await prober.close()
        assert (answer.at, answer.coordinator.serving) == (7.0, False)


def test_a_coordinator_that_cannot_be_asked_has_no_prober() -> None:
    with pytest.raises(ValueError, match="no prober for coordinators of kind none"):
        prober_of(lambda: 0.0, target(ProbeKind.NONE))


async def hear(uid: str, epoch: int, answer: RollAnswer) -> None:
    """Take an answer in, and do nothing with it."""


def pool_of(make: Callable[[ProbeTarget], Any], cpu: Callable[[], float] = lambda: 0.0) -> ProberPool:
    return ProberPool(hear, make=make, lag=lambda: 0.0, observe=lambda *_: None, cpu=cpu)


class Asked:
    """A prober that notes the members that it is to ask besides the coordinator."""

    def __init__(self) -> None:
        self.suspects: tuple[str, ...] = ()
        self.seen: list[tuple[str, ...]] = []
        self.closed = False

    async def snapshot(self) -> RollAnswer:
        self.seen.append(self.suspects)
        return RollAnswer(at=0.0, coordinator=CoordinatorState.REFUSED)

    async def changes(self) -> AsyncGenerator[RollAnswer, None]:
        await asyncio.Event().wait()
        yield RollAnswer(at=0.0, coordinator=CoordinatorState.REFUSED)

    async def close(self) -> None:
        self.closed = True


def test_other_suspects_of_the_same_coordinator_do_not_begin_its_probe_anew() -> None:
    made: list[Asked] = []

    def make(_target: ProbeTarget) -> Asked:
        made.append(Asked())
        return made[-1]

    async def story() -> None:
        pool = pool_of(make)
        first = target(ProbeKind.RAY)
        pool.aim("uid", first)
        await asyncio.sleep(0.5)
        pool.aim("uid", replace(first, suspects=("10.0.0.7",)))
        await asyncio.sleep(1.0)
        assert [prober.seen for prober in made] == [[(), ("10.0.0.7",)]]
        pool.aim("uid", replace(first, epoch=2))
        await asyncio.sleep(0.5)
        assert len(made) == 2
        assert made[0].closed
        await pool.close()

    in_virtual_time(story())


class Reported(Asked):
    """A prober of a gang that reports. Its answers take ``latency`` seconds."""

    def __init__(self, latency: float) -> None:
        super().__init__()
        self.now = 0
        self._latency = latency

    def read_now(self) -> None:
        self.now += 1

    async def snapshot(self) -> RollAnswer:
        await asyncio.sleep(self._latency)
        return await super().snapshot()


@pytest.mark.parametrize(("latency", "waits"), [(0.05, 0.05), (2.0, 0.2)])
def test_a_last_look_reads_what_is_reported_and_is_waited_for_a_moment_only(latency: float, waits: float) -> None:
    prober = Reported(latency)

    async def story() -> None:
        pool = pool_of(lambda _: prober)
        await pool.last_look("uid", 0.2)  # of a coordinator that is not asked
        pool.aim("uid", target(ProbeKind.JAX))
        await asyncio.sleep(latency + 0.5)
        assert (prober.now, len(prober.seen)) == (0, 1)
        began = asyncio.get_running_loop().time()
        await pool.last_look("uid", 0.2)
        assert asyncio.get_running_loop().time() - began == pytest.approx(waits)
        await asyncio.sleep(latency)
        assert (prober.now, len(prober.seen)) == (1, 2)
        await pool.close()

    in_virtual_time(story())


class Costly(Asked):
    """A prober whose answers take CPU time, and a clock of what they have taken. They are whole at every second."""

    def __init__(self, cost: float, *, elsewhere: bool = False) -> None:
        super().__init__()
        self.taken = 0.0
        self.asked: list[float] = []
        self._cost, self._elsewhere = cost, elsewhere

    async def snapshot(self) -> RollAnswer:
        self.asked.append(asyncio.get_running_loop().time())
        await asyncio.gather(self._measured()) if self._elsewhere else await self._work()
        return RollAnswer(at=0.0, coordinator=CoordinatorState.SERVING, expected=4, states=())

    async def _measured(self) -> None:
        await metered(self._work())

    async def _work(self) -> None:
        await asyncio.sleep(0)
        self.taken += self._cost


def ask(prober: Costly, kind: ProbeKind, seconds: float) -> None:
    """Let a pool ask that coordinator for so long."""

    async def story() -> None:
        pool = pool_of(lambda _: prober, lambda: prober.taken)
        pool.aim("uid", target(kind))
        await asyncio.sleep(seconds)
        await pool.close()

    in_virtual_time(story())


@pytest.mark.parametrize("elsewhere", [False, True], ids=["in the task", "in a task of its own"])
@pytest.mark.parametrize(("cost", "pause"), [(0.0, 1.0), (0.01, 1.0), (0.04, 2.0), (9.0, 5.0)])
def test_a_coordinator_takes_at_most_its_share_of_a_core(cost: float, pause: float, elsewhere: bool) -> None:
    prober = Costly(cost, elsewhere=elsewhere)
    ask(prober, ProbeKind.RAY, 60)
    assert [after - before for before, after in pairwise(prober.asked)] == pytest.approx(
        [pause] * (len(prober.asked) - 1)
    )


def test_the_answers_of_a_parked_call_are_measured_too() -> None:
    class Chatty(Costly):
        async def changes(self) -> AsyncGenerator[RollAnswer, None]:
            while True:
                await self._work()
                self.asked.append(asyncio.get_running_loop().time())
                yield RollAnswer(at=0.0, coordinator=CoordinatorState.SERVING, expected=4, states=())

    prober = Chatty(0.02)
    ask(prober, ProbeKind.JAX, 100)
    assert prober.taken == pytest.approx(2.0, abs=0.1), "2 % of 100 s, by both together"


async def test_a_measured_coroutine_is_cancelled_and_fails_as_any_other() -> None:
    async def fails() -> None:
        await asyncio.sleep(0)
        raise ValueError("mine")

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    async def run(work: Coroutine[None, None, None]) -> None:
        Meter(lambda: 0.0).start()
        await metered(work)

    ended: list[str] = []
    with pytest.raises(ValueError, match="mine"):
        await run(fails())
    waiting = asyncio.create_task(run(waits()))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert ended == ["cancelled"]
