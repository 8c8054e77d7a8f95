"""How programs meet: a coordinator serves, members register, all go on together, and then succeed, abort or hang.

Probe answers are made from the same facts as the pods, so the two never contradict each other by accident.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from muster.state.view.progress import StepReport
from muster.state.view.recorder.arrivals import CollectiveReport
from muster.state.view.roll import CoordinatorState, RankError, RankState, RollAnswer, of_rank
from muster.state.vocabulary.actions import ProbeTarget
from tests.scenarios.incidents import (
    LOST_PEER,
    Child,
    CoordinatorFlaps,
    Ends,
    Evaluates,
    Fails,
    NeverArrives,
    NodeBoots,
    NodeLost,
    Pauses,
    Preempted,
    ReadinessFlaps,
    Slow,
)
from tests.scenarios.operators import SIGABRT
from tests.simulation.world.collectives import Collectives
from tests.simulation.world.process import WATCHED, Process
from tests.simulation.world.steps import Steps

if TYPE_CHECKING:
    from tests.simulation.world.world import World

IMPORTS = 1.0
"""Seconds from the start of a program to its first call (a coordinator: to its open port)."""
CALL = 0.05
ABORT = 0.03
LEAVE = 0.2
PROBE = 0.005
"""Seconds that a probe takes."""


SENT_EVERY = 5.0
"""Seconds between two posts of transformers."""


class Gang:
    """All gangs of the world."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self._callers: list[Process] = []
        self._steps: dict[tuple[str, int], Steps] = {}
        """By experiment and epoch."""
        self.collectives: dict[tuple[str, int], Collectives] = {}
        self._changed_event = asyncio.Event()

    def started(self, process: Process) -> None:
        """A member's program has started."""
        self.world.later(IMPORTS + process.rank * 0.01, self._call, process)
        for failure in self.world.incidents_of(process, Fails):
            if failure.start:
                self.world.later(failure.after, self._fail, process, failure)

    def ended(self, process: Process) -> None:
        """A member has ended. The other members of its assembled gang abort or hang, unless the run was finished."""
        self._notify()
        if not process.assembled:
            # A rank that waited at it registers with the next coordinator at that address (measured: jax 0.10.2,
            # process 0 killed during the rendezvous and started again; a waiting rank stays alive and joins).
            waiting = (other for other in process.arrived.values() if other is not process and other.running)
            self._callers += waiting
        alone = not process.coordinator_host or self.world.operator.cluster
        if alone or process.left or not process.assembled or self.world.scenario.survivors == "hang":
            return
        code = self.world.operator.survivor_exit
        signal = 6 if code == SIGABRT else 0
        child = replace(process.child, raises=LOST_PEER, code=1) if process.child and process.child.launcher else None
        for other in self.world.kubelet.gang(process.experiment, process.epoch):
            if other.running and other.assembled and not other.left:
                self.world.later(ABORT + other.rank * 0.003, self._exit, other, code, child, signal)

    def _call(self, process: Process) -> None:
        if not process.running or self.world.incidents_of(process, NeverArrives):
            return
        if process.size == 1 or not process.coordinator_host:
            self._assemble({process.rank: process})
        elif process.host == process.coordinator_host:
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
        coordinator = self._at(process.coordinator_host)
        if coordinator is None:
            self._callers.append(process)
            return
        self.world.invariants.arrives(process, coordinator)
        if self.world.operator.cluster:
            self._join(process, coordinator)
            return
        coordinator.arrived[process.rank] = process
        self._notify()
        if len(coordinator.arrived) == coordinator.size:
            self.world.later(CALL, self._assemble, coordinator.arrived)

    def _assemble(self, members: dict[int, Process]) -> None:
        """All members are registered: the run begins, and incidents are scheduled."""
        if not all(member.running for member in members.values()):
            return
        for member in members.values():
            self._work(member)
        self._notify()
        self.world.later(self.world.scenario.run, self._finish, members)

    def _work(self, member: Process) -> None:
        """A member is at work: what happens to it from now on is scheduled."""
        member.assembled, member.worked_at = True, self.world.loop.time()
        if self.world.scenario.sends and member.rank == 0:
            self._send(member)
        kinds = (Ends, Fails, Preempted, NodeLost, NodeBoots, CoordinatorFlaps, ReadinessFlaps)
        for event in self.world.incidents_of(member, *kinds):
            match event:
                case CoordinatorFlaps() | ReadinessFlaps():
                    self.world.loop.call_later(event.every, self._flap, member, event, event.seconds)
                case Ends():
                    self.world.later(event.after, self._leave, member)
                case Fails(start=False):
                    self.world.later(event.after, self._fail, member, event)
                case Preempted():
                    self.world.later(event.after, self.world.kubelet.preempt, member, event)
                case NodeLost():
                    self.world.later(event.after, self.world.kubelet.lose_node, member, event)
                case NodeBoots():
                    self.world.later(event.after, self.world.kubelet.boot_node, member, event)

    def _join(self, process: Process, head: Process) -> None:
        """A member of a cluster is at work as soon as it has joined; the submitter ends with its job."""
        if lost := head.arrived.get(process.rank):
            head.dead.append(lost)
        head.arrived[process.rank] = process
        self._work(process)
        self._notify()
        if process.rank == process.size - 1:
            now = self.world.loop.time()
            head.job_ends_at = head.job_ends_at or now + self.world.scenario.run
            self.world.loop.call_later(max(LEAVE, head.job_ends_at - now), self._end_job, process, head)

    def _end_job(self, submitter: Process, head: Process) -> None:
        """The job has ended well, and the submitter ends. Without its head it waits."""
        if head.running:
            self._leave(submitter)

    def _finish(self, members: dict[int, Process]) -> None:
        """The run is finished if all members still run; if one is missing, the others wait for it forever."""
        if not all(member.running or member.left for member in members.values()):
            return
        for member in members.values():
            if member.left:
                continue
            member.left = True
            self.world.later(LEAVE + member.rank * 0.01, self.world.kubelet.exit, member, 0)
        self._notify()

    def _flap(self, member: Process, event: CoordinatorFlaps | ReadinessFlaps, left: float) -> None:
        """Turn what flaps, and do so again until the time is over; then it stays."""
        if not member.running:
            return
        going_on = left > 0
        if isinstance(event, CoordinatorFlaps):
            member.silent = going_on and not member.silent
            self._notify()
        else:
            member.unready = going_on and not member.unready
            self.world.kubelet.report(member)
        if going_on:
            self.world.loop.call_later(event.every, self._flap, member, event, left - event.every)

    def _leave(self, member: Process) -> None:
        """A member has nothing left to do and exits before the others."""
        if member.running:
            member.left = True
            self.world.kubelet.exit(member, 0)
            self._notify()

    def _fail(self, process: Process, failure: Fails) -> None:
        if process.running and not process.left:
            if not process.again:  # else its member goes on in the pod
                self.world.record_incident("failure", process)
            process.reason = failure.reason
            process.said = failure.says.replace("EPOCH", str(process.epoch))
            self._exit(process, failure.code, failure.child)

    def _exit(self, process: Process, code: int, child: Child | None, signal: int = 0) -> None:
        if process.running and child is not None:
            process.child, (process.said, code), signal = child, child.printed(process.epoch), 0
        self.world.kubelet.exit(process, code, signal)

    def _at(self, host: str) -> Process | None:
        """The process that serves under that host name now."""
        serving = (p for p in self.world.kubelet.processes.values() if p.running and p.serving)
        return next((process for process in serving if process.host == host), None)

    # What a prober sees

    def _notify(self) -> None:
        self._changed_event.set()
        self._changed_event = asyncio.Event()

    async def changed(self) -> None:
        """Wait until something changes in any gang."""
        await self._changed_event.wait()

    def answer(self, address: str, at: float) -> RollAnswer:
        """Probe the process at that address; ``at`` is the prober's time."""
        found = [p for p in self.world.kubelet.processes.values() if p.ip and p.address == address]
        process = found[-1] if found else None
        if process is None or process.node_lost or (process.silent and process.running):
            return RollAnswer(at=at, coordinator=CoordinatorState.TIMEOUT, latency=PROBE)
        if not process.running or not process.serving:
            return RollAnswer(at=at, coordinator=CoordinatorState.REFUSED, latency=PROBE)
        loop, now = self._loop(process), self.world.loop.time()
        if self.world.operator.counted and process.experiment != WATCHED:
            return _counted(process, at, loop.reports(now) if loop else None)
        if self.world.operator.cluster:
            return _of_cluster(process, at)
        ranks = tuple(_state(process.arrived.get(rank)) for rank in range(process.size))
        return RollAnswer(
            at=at,
            coordinator=CoordinatorState.SERVING,
            latency=PROBE,
            expected=process.size,
            states=ranks,
            incarnation=int(process.uid[-12:]),
            protocol="v2",
            reports=self._reports(process),
            places=loop.places(now) if loop else None,
        )

    def _send(self, process: Process, before: int = -1) -> None:
        """Rank 0 sends the step that it has ended since the last post, where a daemon leads that can hear it."""
        if not process.running or process.node_lost or process.left:
            return
        step = self._steps_of(process)[0].step
        if step > before:
            self.world.send(process, step)
        self.world.loop.call_later(SENT_EVERY, self._send, process, step)

    def _reports(self, process: Process) -> tuple[StepReport, ...] | None:
        """What the members have reported to their coordinator: nothing before all are at work, as with JAX's store."""
        if not self.world.scenario.reports or not process.assembled or self.world.scenario.sends:
            return None
        return self._steps_of(process)

    def _steps_of(self, process: Process) -> tuple[StepReport, ...]:
        key = (process.experiment, process.epoch)
        if key not in self._steps:
            members = process.arrived.values()
            pauses = [each for member in members for each in self.world.incidents_of(member, Pauses)]
            self._steps[key] = Steps(self.world.scenario.reports, process.size, pauses)
        return self._steps[key].reports(self.world.loop.time() - process.worked_at)

    def _loop(self, process: Process) -> Collectives | None:
        """What the members show of their loop: nothing before all are at work."""
        if not self.world.scenario.collectives or not process.assembled:
            return None
        key = (process.experiment, process.epoch)
        if key not in self.collectives:
            found: list[Slow | Evaluates | Pauses] = []
            for member in process.arrived.values():
                found += self.world.incidents_of(member, Slow)
                found += self.world.incidents_of(member, Evaluates)
                found += self.world.incidents_of(member, Pauses)
            every, operator = self.world.scenario.collectives, self.world.plan.operator
            self.collectives[key] = Collectives(every, process.size, found, process.worked_at, operator)
        return self.collectives[key]

    def ask(self) -> None:
        """The stacks of all ranks at work are asked for."""
        for loop in self.collectives.values():
            loop.ask(self.world.loop.time())


def _counted(process: Process, at: float, published: tuple[CollectiveReport, ...] | None) -> RollAnswer:
    """What a TCPStore answers where its members leave no names."""
    joined = len(process.arrived)
    whole = joined >= process.size
    return RollAnswer(
        at=at,
        coordinator=CoordinatorState.SERVING,
        latency=PROBE,
        states=(RankState.CONNECTED,) * process.size if whole else (RankState.ARRIVED,),
        partial="" if whole else "the store counts its processes and does not name them",
        joined=None if whole else joined,
        protocol="tcpstore-v2",
        collectives=published,
    )


def _of_cluster(head: Process, at: float) -> RollAnswer:
    """What the dashboard of a Ray head answers: its nodes by address, lost ones too, and the job of its submitter."""
    nodes = [each for each in (*head.dead, *head.arrived.values()) if each.rank < head.size - 1]
    states = [RankState.CONNECTED if each.running else RankState.FAILED for each in nodes]
    identities = [each.ip for each in nodes]
    if head.job_ends_at:
        submitter = head.arrived[head.size - 1]
        identities.append(of_rank(submitter.rank))
        states.append(RankState.LEFT if submitter.left else RankState.CONNECTED)
    errors = [RankError(index, 0, "the node is dead") for index, each in enumerate(nodes) if not each.running]
    return RollAnswer(
        at=at,
        coordinator=CoordinatorState.SERVING,
        latency=PROBE,
        expected=head.size,
        states=tuple(states),
        identities=tuple(identities),
        errors=tuple(errors),
        incarnation=int(head.uid[-12:]),
        protocol="ray",
    )


def _state(process: Process | None) -> RankState:
    if process is None:
        return RankState.MISSING
    if process.left:
        return RankState.LEFT
    return RankState.CONNECTED if process.assembled else RankState.ARRIVED


class WorldProber:
    """A prober that reads the world's state directly."""

    def __init__(self, gang: Gang, target: ProbeTarget, clock: Callable[[], float]) -> None:
        self._gang = gang
        self._clock = clock
        self._address = target.address

    async def snapshot(self) -> RollAnswer:
        await asyncio.sleep(PROBE)
        return self._gang.answer(self._address, self._clock())

    async def changes(self) -> AsyncGenerator[RollAnswer, None]:
        """Yield an answer per change, until the coordinator is gone or a member has left in good order.

        A Ray dashboard cannot be waited for: it is asked again and again.
        """
        if self._gang.world.operator.cluster:
            return
        last = self._gang.answer(self._address, self._clock())
        while last.coordinator is CoordinatorState.SERVING and not last.left:
            await self._gang.changed()
            answer = self._gang.answer(self._address, self._clock())
            if (answer.coordinator, answer.states) != (last.coordinator, last.states):
                yield answer
            last = answer

    async def close(self) -> None:
        """Nothing to close."""
