"""How processes meet: a coordinator serves, members call it, all go on together, and die together or hang.

What the prober is told comes from the same facts, so the roll and the pods never contradict each other by accident.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from muster.state.actions import ProbeTarget
from muster.state.roll import CoordinatorState, RankState, RollAnswer
from tests.simulation.scenarios.scenario import Absent, Dies, NodeLost, Preempted
from tests.simulation.world.process import Process

if TYPE_CHECKING:
    from tests.simulation.world.world import World

IMPORTS = 1.0
"""Seconds from the start of a program to its first call (a coordinator: to its open port)."""
CALL = 0.05
ABORT = 0.03
LEAVE = 0.2
LOOK = 0.005
"""Seconds a probe takes."""
SIGABRT = 134


class Gang:
    """All gangs of the world."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self._callers: list[Process] = []
        self._news = asyncio.Event()

    def started(self, process: Process) -> None:
        """A member's program runs."""
        self.world.later(IMPORTS + process.rank * 0.01, self._call, process)
        for death in self.world.befalls(process, Dies):
            if death.start:
                self.world.later(death.after, self._die, process, death)

    def ended(self, process: Process) -> None:
        """A member is gone; those that computed with it notice, unless it was the end of the run."""
        self._tell()
        if not process.passed:
            # Whoever waited at it calls until the next one serves at that address (measured: jax 0.10.2, process 0
            # killed during the rendezvous and started again; a waiting rank lives on and joins).
            waiting = (other for other in process.arrived.values() if other is not process and other.running)
            self._callers += waiting
        if process.left or not process.passed or self.world.scenario.survivors == "hang":
            return
        for other in self.world.kubelet.processes.values():
            same = (other.experiment, other.epoch) == (process.experiment, process.epoch)
            if same and other.running and other.passed and not other.left:
                self.world.later(ABORT + other.rank * 0.003, self.world.kubelet.exit, other, SIGABRT, 6)

    def _call(self, process: Process) -> None:
        if not process.running or self.world.befalls(process, Absent):
            return
        if process.size == 1:
            self._pass({process.rank: process})
        elif process.host == process.meets_at:
            process.serving = True
            self.world.invariants.serves(process)
            self._arrive(process)
            calling, self._callers = self._callers, []
            for caller in calling:
                self.world.later(CALL + caller.rank * 0.002, self._arrive, caller)
        else:
            self.world.later(CALL, self._arrive, process)

    def _arrive(self, process: Process) -> None:
        if not process.running:
            return
        coordinator = self._at(process.meets_at)
        if coordinator is None:
            self._callers.append(process)
            return
        self.world.invariants.arrives(process, coordinator)
        coordinator.arrived[process.rank] = process
        self._tell()
        if len(coordinator.arrived) == coordinator.size:
            self.world.later(CALL, self._pass, coordinator.arrived)

    def _pass(self, members: dict[int, Process]) -> None:
        """Everybody is there, and the work begins."""
        if not all(member.running for member in members.values()):
            return
        for member in members.values():
            member.passed = True
            for event in self.world.befalls(member, Dies, Preempted, NodeLost):
                match event:
                    case Dies(start=False):
                        self.world.later(event.after, self._die, member, event)
                    case Preempted():
                        self.world.later(event.after, self.world.kubelet.preempt, member, event)
                    case NodeLost():
                        self.world.later(event.after, self.world.kubelet.lose_node, member, event)
        self._tell()
        self.world.later(self.world.scenario.run, self._finish, members)

    def _finish(self, members: dict[int, Process]) -> None:
        """The work is done, if everybody is still there: one missing member and the others wait for it for ever."""
        if not all(member.running for member in members.values()):
            return
        for member in members.values():
            member.left = True
            self.world.later(LEAVE + member.rank * 0.01, self.world.kubelet.exit, member, 0)
        self._tell()

    def _die(self, process: Process, death: Dies) -> None:
        if process.running and not process.left:
            self.world.happened("failure", process)
            self.world.kubelet.exit(process, death.code)

    def _at(self, host: str) -> Process | None:
        """Who serves under that name now."""
        serving = (p for p in self.world.kubelet.processes.values() if p.running and p.serving)
        return next((process for process in serving if process.host == host), None)

    # What a prober sees

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def news(self) -> None:
        """Wait until something changes in some gang."""
        await self._news.wait()

    def answer(self, address: str) -> RollAnswer:
        """One look at whoever has that address."""
        at = self.world.clock()
        found = [p for p in self.world.kubelet.processes.values() if p.ip and p.address == address]
        process = found[-1] if found else None
        if process is None or process.cut_off:
            return RollAnswer(at=at, coordinator=CoordinatorState.TIMEOUT, latency=LOOK)
        if not process.running or not process.serving:
            return RollAnswer(at=at, coordinator=CoordinatorState.REFUSED, latency=LOOK)
        ranks = tuple(_state(process.arrived.get(rank)) for rank in range(process.size))
        return RollAnswer(
            at=at,
            coordinator=CoordinatorState.SERVING,
            latency=LOOK,
            expected=process.size,
            ranks=ranks,
            incarnation=int(process.uid[-12:]),
            protocol="v2",
        )


def _state(process: Process | None) -> RankState:
    if process is None:
        return RankState.MISSING
    if process.left:
        return RankState.LEFT
    return RankState.CONNECTED if process.passed else RankState.ARRIVED


class WorldProber:
    """A prober that looks at the world itself."""

    def __init__(self, gang: Gang, target: ProbeTarget) -> None:
        self._gang = gang
        self._address = target.address

    async def snapshot(self) -> RollAnswer:
        await asyncio.sleep(LOOK)
        return self._gang.answer(self._address)

    async def changes(self) -> AsyncIterator[RollAnswer]:
        """One answer per change, until the coordinator is gone or somebody has left in good order."""
        last = self._gang.answer(self._address)
        while last.coordinator is CoordinatorState.SERVING and not last.left:
            await self._gang.news()
            answer = self._gang.answer(self._address)
            if (answer.coordinator, answer.ranks) != (last.coordinator, last.ranks):
                yield answer
            last = answer

    async def close(self) -> None:
        """Nothing is open."""
