"""How the daemon chooses the prober of a coordinator, and keeps it."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from muster.daemon.prober_pool import FACTORIES, ProberPool, prober_of
from muster.state.actions import ProbeTarget
from muster.state.coordinator import ProbeKind
from muster.state.pod_spec import Port
from muster.state.view.roll import CoordinatorState, RollAnswer
from tests.simulation.world.virtual_loop import VirtualLoop


def target(kind: ProbeKind) -> ProbeTarget:
    ports = (Port("dashboard", 1), Port("agent", 1))
    return ProbeTarget(epoch=1, uid="uid-1", address="127.0.0.1:1", kind=kind, expected=2, ports=ports)


def test_a_daemon_loads_grpc_with_the_first_coordinator_that_needs_it() -> None:
    program = "import sys, muster.daemon.main; print('grpc' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


async def test_every_kind_of_coordinator_that_can_be_asked_has_a_prober() -> None:
    make = prober_of(lambda: 7.0)
    for kind in ProbeKind:
        if kind is ProbeKind.NONE:
            continue
        prober = make(target(kind))
        try:
            answer = await prober.snapshot()
        finally:
            await prober.close()
        assert (answer.at, answer.coordinator.serving) == (7.0, False)
    assert ProbeKind.NONE not in FACTORIES


def test_a_coordinator_that_cannot_be_asked_has_no_prober() -> None:
    with pytest.raises(ValueError, match="no prober for coordinators of kind none"):
        prober_of(lambda: 0.0)(target(ProbeKind.NONE))


class Asked:
    """A prober that notes whom it is to ask besides the coordinator."""

    def __init__(self) -> None:
        self.suspects: tuple[str, ...] = ()
        self.seen: list[tuple[str, ...]] = []
        self.closed = False

    async def snapshot(self) -> RollAnswer:
        self.seen.append(self.suspects)
        return RollAnswer(at=0.0, coordinator=CoordinatorState.REFUSED)

    async def changes(self) -> AsyncIterator[RollAnswer]:
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
        pool = ProberPool(lambda *_: None, make=make, lag=lambda: 0.0, observe=lambda *_: None)
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

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(story())
