"""The world: one API server, its nodes and gangs, the people, the daemon's lives, and the plan of what goes wrong."""

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from random import Random
from typing import Any, NamedTuple, TypeVar

import msgspec

from muster.api.errors import ApiError
from muster.kube.paths import experiment
from tests.fakes.api import FakeApi
from tests.fakes.history import Change, Object
from tests.simulation.oracles.invariants import Invariants
from tests.simulation.plans.plan import COUNTED_IN_WRITES, DOWN, STRANGERS, Fault, Plan
from tests.simulation.scenarios.catalogue import scenarios
from tests.simulation.scenarios.scenario import Scenario
from tests.simulation.world.daemon_run import OURS, Life, task_factory
from tests.simulation.world.error_log import listening
from tests.simulation.world.faulty_transport import Door
from tests.simulation.world.gang import Gang
from tests.simulation.world.garbage_collector import Collector
from tests.simulation.world.kubelet import Kubelet
from tests.simulation.world.process import Process
from tests.simulation.world.user_actions import NAMESPACE, SUBMITTED, People
from tests.simulation.world.virtual_loop import VirtualLoop

EPOCH = 1_000_000.0
"""Wall seconds at which every world begins."""
STABLE = 600.0
"""Seconds without anything happening after which nothing will."""
HORIZON = 7200.0
JITTERED = 2.0
"""Seconds: the longest delay that differs from time to time, where the plan is shuffled."""

T = TypeVar("T")


class Write(NamedTuple):
    """A write of the daemon. ``version`` is the resourceVersion before it, ``committed`` its own (0: none)."""

    at: float
    method: str
    path: str
    resource: str
    version: int
    committed: int = 0


class World:
    """One plan, played once."""

    def __init__(self, plan: Plan, *, say: Callable[[str], None] | None = None) -> None:
        """``say`` is told everything that happens, for people."""
        self.plan = plan
        self.say = say
        self.scenario: Scenario = scenarios()[plan.scenario]
        self.random = Random(plan.seed)
        self.loop = VirtualLoop(Random(f"{plan.seed}/loop") if plan.shuffle else None)
        self.loop.set_task_factory(task_factory)  # type: ignore[arg-type]
        self.loop.set_exception_handler(self._failed)
        self.violations: list[str] = []
        self.facts: list[tuple[float, str, str, int, int]] = []
        """What befell whom: second, kind, experiment, epoch, rank."""
        self.unwitnessed: set[tuple[str, int]] = set()
        """Experiments and epochs of pods that were taken away before any status told that all members had a node."""
        self.writes: list[Write] = []
        self.struck: dict[Fault, float] = {}
        self.held: dict[Fault, str] = {}
        self.spent: set[Fault] = set()
        self.landed: set[str] = set()
        """Objects that a dead daemon's late write made."""
        self.turns: list[int] = []
        """Of the loop, within its instant: when each change came, by resourceVersion from 1."""
        self.touched = 0.0
        """When something that is not the daemon's doing happened last."""
        self.lives: list[Life] = []
        self.people = People(self)
        self._tasks: set[asyncio.Task[None]] = set()

    # Time

    def clock(self) -> float:
        """Wall seconds."""
        return EPOCH + self.loop.time()

    def later(self, seconds: float, do: Callable[..., None], *args: Any) -> None:
        """Something of the world's own happens after so many seconds."""
        self.loop.call_later(self.delay(seconds), do, *args)

    def delay(self, usual: float) -> float:
        """How long something takes that usually takes so long. What a scenario states in seconds is not disturbed."""
        if not self.plan.shuffle or usual > JITTERED:
            return usual
        return usual * self.random.choice((0.5, 1.0, 1.0, 2.0, 10.0 if usual < 0.1 else 1.3))

    # Playing

    def play(self) -> None:
        """Play the plan to its end."""
        asyncio.set_event_loop(self.loop)
        with listening(self):
            try:
                self.loop.run_until_complete(self._play())
            except AssertionError as error:
                self.violate(f"{type(error).__name__}: {error}")
            finally:
                asyncio.set_event_loop(None)
                self.loop.close()

    async def _play(self) -> None:
        self.api = FakeApi(self.clock, nodes=True)
        self.invariants = Invariants(self)
        self.gang = Gang(self)
        self.kubelet = Kubelet(self)
        collector = Collector(self)
        self.api.listeners += [self.kubelet.changed, self.invariants.changed, self._changed, collector.changed]
        self._begin()
        self.people.invite()
        try:
            await self._rest()
        finally:
            await self.lives[-1].kill()
            await self.loop.shutdown_asyncgens()

    async def _rest(self) -> None:
        """Until nothing has happened for ten minutes."""
        last = max((step.second for step in self.scenario.people), default=SUBMITTED)
        while True:
            written = self.writes[-1].at - EPOCH if self.writes else 0.0
            quiet_since = max(last, written, self.touched)
            left = quiet_since + STABLE - self.loop.time()
            if left <= 0:
                return
            if self.loop.time() > HORIZON:
                self.violate(f"it does not come to rest: the last write was at {written:.1f} s")
                return
            await asyncio.sleep(left)

    # What befalls members

    def befalls(self, process: Process, *kinds: type[T]) -> list[T]:
        """What the scenario has in store for a process."""
        return [
            event
            for event in self.scenario.befalls
            if isinstance(event, kinds)
            and event.experiment == process.called
            and process.epoch in event.epochs
            and event.rank % process.size == process.rank
        ]

    def happened(self, kind: str, process: Process) -> None:
        """Take down what befell whom."""
        self.facts.append((self.clock(), kind, process.called, process.epoch, process.rank))
        obj = self.named(process.called)
        conditions = (obj.get("status") or {}).get("conditions", ()) if obj else ()
        gathered = any(said["type"] == "Scheduled" and said["status"] == "True" for said in conditions)
        if kind != "failure" and not gathered:
            self.unwitnessed.add((process.called, process.epoch))
        if self.say:
            self.say(f"{self.loop.time():9.3f}  {kind} of {process.name}")

    # The daemon's lives

    def _begin(self, stale: int | None = None) -> None:
        life = Life(self, len(self.lives), stale)
        self.lives.append(life)
        life.start()

    def crash(self, fault: Fault) -> None:
        """The daemon is dead as of now; a while later there is another."""
        self.struck[fault] = self.clock()
        stale = int(fault.how) if fault.kind == "stale" else None
        self._own(self._rise(self.lives[-1], stale), "crash")

    async def _rise(self, life: Life, stale: int | None) -> None:
        await life.kill()
        await asyncio.sleep(DOWN)
        self._begin(stale)

    def land_later(self, seconds: float, method: str, path: str, body: bytes | None) -> None:
        """A dead daemon's request is carried out after all."""

        async def land() -> None:
            await asyncio.sleep(seconds)
            try:
                answer = await self.api.request(method, path, body=body)
                self.landed.add(f"{path}/{msgspec.json.decode(answer.body)['metadata']['name']}")
            except ApiError:
                return

        self._own(land(), "late write")

    def _own(self, do: Coroutine[Any, Any, None], name: str) -> None:
        """A task of the world's, which no daemon takes along when it dies."""
        context = copy_context()
        context.run(OURS.set, None)
        task = context.run(lambda: self.loop.create_task(do, name=name))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # Bookkeeping

    def write(self, method: str, path: str, door: Door) -> int:
        """The number of a write that has come to the door."""
        if not door.synced:
            self.violate(f"{method} {path} before everything was listed")
        resource = path.split("/")[6 if path.startswith("/apis/") else 5]
        self.writes.append(Write(self.clock(), method, path, resource, self.api.history.version))
        return len(self.writes)

    def committed(self, number: int) -> None:
        """That write was carried out just now."""
        change, write = self.api.history.changes[-1], self.writes[number - 1]
        if change.path.startswith(write.path.removesuffix("/status")):
            self.writes[number - 1] = write._replace(committed=change.version)

    def fault_of_write(self, number: int) -> Fault | None:
        """What is to happen to that write."""
        for fault in self.plan.faults:
            if fault.at == number and fault.kind in COUNTED_IN_WRITES:
                self.struck[fault] = self.clock()
                return fault
        return None

    def _changed(self, change: Change) -> None:
        """Somebody changed something: faults that wait for this resourceVersion strike, and garbage is collected."""
        self.touched = self.loop.time()
        self.turns.append(self.loop.turns)
        if self.say:
            status = change.after.get("status", {})
            self.say(f"{self.touched:9.3f}  {change.version:4} {change.kind:8} {change.path.split('/', 5)[-1]}"
                     f" {status.get('phase', '')} {change.after.get('message', '')}")  # fmt: skip
        for fault in self.plan.faults:
            if fault.at == change.version and fault.kind not in COUNTED_IN_WRITES and fault not in self.struck:
                self.struck[fault] = self.clock()
                self.held[fault] = change.resource
                if fault.kind in STRANGERS:
                    self.loop.call_soon(self.people.meddle, fault)

    def objects(self, resource: str) -> list[Object]:
        """All objects of a plural kind."""
        own = f"/{resource}/"
        return [obj for path, obj in self.api.objects.items() if own in path]

    def experiments(self) -> list[Object]:
        """All Experiments."""
        return self.objects("experiments")

    def named(self, name: str) -> Object | None:
        """The Experiment of that name."""
        return self.api.objects.get(experiment(NAMESPACE, name))

    def statuses(self) -> list[Object]:
        """The last status of every Experiment there ever was."""
        last = {c.after["metadata"]["uid"]: c.after for c in self.api.history.changes if c.resource == "experiments"}
        return [obj["status"] for obj in last.values() if obj.get("status")]

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """What the loop calls failed and nobody else has heard of."""
        self.violate(f"{context['message']}: {context.get('exception')!r}")

    def violate(self, what: str) -> None:
        """Something is wrong."""
        self.violations.append(f"at {self.loop.time():.3f} s: {what}")
        if self.say:
            self.say(f"{self.loop.time():9.3f}  VIOLATION  {what}")
