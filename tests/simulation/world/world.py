"""The world: one API server, its nodes and gangs, the users, the runs of the daemon, and the faults of one plan."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from random import Random
from typing import Any, NamedTuple, TypeVar
from unittest.mock import patch

import msgspec

from muster.api.errors import ApiError
from muster.api.values.rank_ranges import from_ranges
from muster.daemon.experiments.sent import PodIdentity, PostRefused
from muster.reconcilers.native import live_pods
from tests.fakes.api import FakeApi
from tests.fakes.history import Change, Object
from tests.scenarios.catalogue import scenarios
from tests.scenarios.operators import OPERATORS
from tests.scenarios.scenario import Refusal, Scenario, path_of
from tests.simulation.oracles.invariants import Invariants
from tests.simulation.plans.plan import (
    COUNTED_IN_WRITES,
    CRASHES,
    FOREIGN_CHANGES,
    RESTART_DELAY,
    TAKEOVERS,
    Fault,
    Plan,
)
from tests.simulation.world.daemon_run import CURRENT_RUN, PAGE_SIZE, DaemonRun, task_factory
from tests.simulation.world.error_log import error_log
from tests.simulation.world.faulty_transport import FaultyTransport
from tests.simulation.world.gang import Gang
from tests.simulation.world.garbage_collector import GarbageCollector
from tests.simulation.world.kubelet import Kubelet
from tests.simulation.world.process import Process, forged, watched
from tests.simulation.world.queue import QueueActor
from tests.simulation.world.records import Records
from tests.simulation.world.threads import no_real_thread
from tests.simulation.world.user_actions import SUBMITTED, Users
from tests.simulation.world.virtual_loop import VirtualLoop

EPOCH = 1_000_000.0
"""Wall-clock seconds at which every world begins."""
STABLE = 600.0
"""Seconds without any change after which the plan is over."""
HORIZON = 7200.0
MOST_CHANGES = 20_000
"""Changes of objects in one plan: ten times those of the longest. More are a fight of two controllers without end."""
LOOK = 60.0
"""Seconds between two looks at the number of changes."""
RECORDED = 1.0
"""Seconds within which a status says that a rank is done whose pod is gone."""
LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/musterd"
JITTERED = 2.0
"""Seconds: longer delays are not varied when the plan is shuffled."""

T = TypeVar("T")


class Write(NamedTuple):
    """A write of the daemon. ``version`` is the resourceVersion before it, ``committed`` the one it got (0: none)."""

    at: float
    method: str
    path: str
    resource: str
    version: int
    committed: int = 0


class World:
    """Plays one plan once."""

    gang_type: type[Gang] = Gang
    kubelet_type: type[Kubelet] = Kubelet

    def __init__(self, plan: Plan, *, say: Callable[[str], None] | None = None) -> None:
        """``say`` receives a line of text for everything that happens."""
        self.plan = plan
        self.say = say
        self.scenario: Scenario = scenarios()[plan.scenario]
        self.operator = OPERATORS[plan.operator]
        self.random = Random(plan.seed)
        self.loop = VirtualLoop(Random(f"{plan.seed}/loop") if plan.shuffle else None)
        self.loop.set_task_factory(task_factory)  # type: ignore[arg-type]
        self.loop.set_exception_handler(self._failed)
        self.violations: list[str] = []
        self.restless = False
        """It was stopped because it did not come to rest."""
        self.incident_log: list[tuple[float, str, str, int, int]] = []
        """What happened to which member: second, kind, experiment, epoch, rank."""
        self.unrecorded: set[tuple[str, int]] = set()
        """Experiments and epochs that lost a pod of which no status said that it was there: any member of a sequential
        group, and others before a status said that all had a node, or that it served as the coordinator."""
        self.unseen_ends: set[tuple[str, int]] = set()
        """Experiments and epochs in which a finished rank's pod was removed before any status said that it is done."""
        self.writes: list[Write] = []
        self.injected: dict[Fault, float] = {}
        self.held_resource: dict[Fault, str] = {}
        self.spent: set[Fault] = set()
        self.creates = Counter[Refusal]()
        """Creates of pods during each refusal of the scenario."""
        self.created_late: set[str] = set()
        """Paths of objects that a dead daemon's late write created."""
        self.last_change = 0.0
        """When an object last changed, whoever changed it."""
        self.runs: list[DaemonRun] = []
        self.records = Records(self.operator.subject) if self.operator.of_run_kind else None
        self.changes: list[Change] = []
        """Every change, as the oracles see it (``world.records``)."""
        self.users = Users(self)
        self._tasks: set[asyncio.Task[None]] = set()

    # Time

    def clock(self) -> float:
        """Wall-clock seconds, as everybody but the daemon has them."""
        return EPOCH + self.loop.time()

    def send(self, process: Process, step: int) -> None:
        """The process posts its step to the progress endpoint; without a daemon that leads it is lost."""
        metrics = [{"name": "current_step", "value": str(step)}]
        body = msgspec.json.encode({"trainerStatus": {"metrics": metrics}})
        pod = PodIdentity(process.path.split("/")[4], process.name, process.uid)
        for run in self.runs:
            if run.daemon is None or run.transport.dead or not run.daemon.leading:
                continue
            context = copy_context()
            context.run(CURRENT_RUN.set, run)
            with contextlib.suppress(PostRefused):
                namespace, experiment = process.path.split("/")[4], process.experiment_name
                context.run(run.daemon.reported, namespace, experiment, pod, body, process.ip)

    def later(self, seconds: float, do: Callable[..., None], *args: Any) -> None:
        """Call ``do`` after that delay."""
        self.loop.call_later(self.delay(seconds), do, *args)

    def delay(self, usual: float) -> float:
        """That delay, varied if the plan is shuffled. Delays that a scenario states are not varied."""
        if not self.plan.shuffle or usual > JITTERED:
            return usual
        return usual * self.random.choice((0.5, 1.0, 1.0, 2.0, 10.0 if usual < 0.1 else 1.3))

    # Playing

    def play(self) -> None:
        """Play the plan to its end."""
        asyncio.set_event_loop(self.loop)
        with error_log(self), no_real_thread(), patch.object(live_pods, "PAGE", PAGE_SIZE):
            try:
                self.loop.run_until_complete(self._play())
            except AssertionError as error:
                self.violate(f"{type(error).__name__}: {error}")
            finally:
                asyncio.set_event_loop(None)
                self.loop.close()

    async def _play(self) -> None:
        self.api = FakeApi(self.clock, nodes=True)
        self.changes = self.api.history.changes
        if self.operator.of_run_kind:
            self._serve()
        self.invariants = Invariants(self)
        self.gang = self.gang_type(self)
        self.kubelet = self.kubelet_type(self)
        collector = GarbageCollector(self)
        self.api.listeners += [self.kubelet.changed, self.invariants.changed, self._changed, collector.changed]
        self.queue = QueueActor(self) if self.scenario.quota else None
        if self.queue is not None:
            self.api.listeners.append(self.queue.changed)
        self._start_daemon()
        if self.plan.has(*TAKEOVERS):
            self.api.put(LEASE, {"kind": "Lease", "metadata": {"uid": "lease"}, "spec": {}})  # uids are as without it
            skew = next(fault.how for fault in self.plan.faults if fault.kind in TAKEOVERS)
            self._start_daemon(skew=float(skew or 0.0) if self.plan.has("failover") else 0.0)
        self.users.schedule()
        try:
            await self._rest()
            if self.queue is not None:
                self.queue.at_rest()
        finally:
            for run in self.runs:
                await run.kill()
            await self.loop.shutdown_asyncgens()

    async def _rest(self) -> None:
        """Wait until nothing has happened for ten minutes."""
        last = max((step.second for step in self.scenario.user_actions), default=SUBMITTED)
        while True:
            written = self.writes[-1].at - EPOCH if self.writes else 0.0
            quiet_since = max(last, written, self.last_change)
            left = quiet_since + STABLE - self.loop.time()
            if left <= 0:
                return
            if self.loop.time() > HORIZON or len(self.changes) > MOST_CHANGES:
                self.restless, changes = True, f"{len(self.changes)} changes so far"
                self.violate(f"it does not come to rest: the last write was at {written:.1f} s, {changes}")
                return
            await asyncio.sleep(min(left, LOOK))

    # Incidents

    def incidents_of(self, process: Process, *kinds: type[T]) -> list[T]:
        """The scenario's incidents of those kinds for that process."""
        return [
            event
            for event in self.scenario.incidents
            if isinstance(event, kinds)
            and event.experiment == process.experiment_name
            and process.epoch in event.epochs
            and process.attempt in event.attempts
            and process.restarts in event.lives
            and event.rank % process.size == process.rank
        ]

    def record_incident(self, kind: str, process: Process) -> None:
        """Record what happened to a member."""
        self.incident_log.append((self.clock(), kind, process.experiment_name, process.epoch, process.rank))
        obj = self.experiment_named(process.experiment_name)
        conditions = (obj.get("status") or {}).get("conditions", ()) if obj else ()
        true = {said["type"] for said in conditions if said["status"] == "True"}
        gathered = "Scheduled" in true and not self.operator.sequential  # a status says who is done, not who runs
        served = "CoordinatorReady" in true and process.host == process.coordinator_host and self.operator.probed
        if kind != "failure" and not (gathered or served):
            self.unrecorded.add((process.experiment_name, process.epoch))
        if self.say:
            self.say(f"{self.loop.time():9.3f}  {kind} of {process.name}")

    def removed(self, process: Process) -> None:
        """A pod is about to be removed by another actor. If its rank has finished and no status says so yet, a daemon
        that runs on for a second has no excuse, unless its watch loses events."""
        status = (self.experiment_named(process.experiment_name) or {}).get("status") or {}
        done = from_ranges(status.get("completedRanks", ""), process.size)
        if not process.left or (status.get("epoch") == process.epoch and process.rank in done):
            return
        run, place = self.runs[-1], (process.experiment_name, process.epoch)

        def excuse() -> None:
            if run.transport.dead or self.plan.has("drop", "expire"):
                self.unseen_ends.add(place)

        excuse()
        self.loop.call_later(RECORDED, excuse)

    def ends_unseen(self, name: str) -> set[int]:
        """Epochs in which a finished rank's pod was removed before a status said that the rank is done, while no daemon
        ran, or while its watch had lost events: nothing shows that the pod was there."""
        if not self.plan.has(*CRASHES, "drop", "expire"):
            return set()
        return {epoch for experiment, epoch in self.unseen_ends if experiment == name}

    # The daemon's runs

    def _start_daemon(self, stale: int | None = None, skew: float = 0.0) -> None:
        run = DaemonRun(self, len(self.runs), stale, skew)
        self.runs.append(run)
        run.start()

    def crash(self, fault: Fault, transport: FaultyTransport) -> None:
        """The daemon of that transport is dead from now on, and another one starts later, or is there already."""
        self.injected[fault] = self.clock()
        run = next(run for run in self.runs if run.transport is transport)
        if fault.kind == "failover":
            self._own(run.kill(), "failover")
            return
        stale = int(fault.how) if fault.kind == "stale" else None
        skew = float(fault.how) if fault.kind == "skew" else 0.0
        self._own(self._restart_daemon(run, stale, skew), "crash")

    async def _restart_daemon(self, run: DaemonRun, stale: int | None, skew: float) -> None:
        await run.kill()
        await asyncio.sleep(RESTART_DELAY)
        self._start_daemon(stale, skew)

    def carry_out_late(self, seconds: float, method: str, path: str, body: bytes | None) -> None:
        """Carry out a dead daemon's request after all."""

        async def land() -> None:
            await asyncio.sleep(seconds)
            try:
                answer = await self.api.request(method, path, body=body)
                self.created_late.add(f"{path}/{msgspec.json.decode(answer.body)['metadata']['name']}")
            except ApiError:
                return

        self._own(land(), "late write")

    def _own(self, do: Coroutine[Any, Any, None], name: str) -> None:
        """Start a task of the world's own, which does not end with a daemon."""
        context = copy_context()
        context.run(CURRENT_RUN.set, None)
        task = context.run(lambda: self.loop.create_task(do, name=name))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # Bookkeeping

    def write(self, method: str, path: str, transport: FaultyTransport) -> int:
        """Number a write that the transport has received."""
        if not transport.synced:
            self.violate(f"{method} {path} before the first lists were complete")
        resource = path.split("/")[6 if path.startswith("/apis/") else 5]
        self.writes.append(Write(self.clock(), method, path, resource, self.api.history.version))
        return len(self.writes)

    def committed(self, number: int) -> None:
        """That write was carried out just now."""
        change, write = self.api.history.changes[-1], self.writes[number - 1]
        if change.path.startswith(write.path.removesuffix("/status")):
            self.writes[number - 1] = write._replace(committed=change.version)

    def fault_of_write(self, number: int) -> Fault | None:
        """The fault that the plan has for that write."""
        for fault in self.plan.faults:
            if fault.at == number and fault.kind in COUNTED_IN_WRITES:
                self.injected[fault] = self.clock()
                return fault
        return None

    def _serve(self) -> None:
        """The API server has the other kind from the beginning, and the oracles see its objects by their records."""
        self.changes = []
        self.api.listeners.append(self._recorded)
        self.users.serve()

    def _recorded(self, change: Change) -> None:
        assert self.records is not None
        self.changes.append(self.records.change(change))

    def _changed(self, change: Change) -> None:
        """An object changed: inject the faults that name its resourceVersion."""
        if change.resource == "leases":
            return  # renewed for as long as a daemon leads
        self.last_change = self.loop.time()
        if self.say:
            status = change.after.get("status", {})
            self.say(f"{self.last_change:9.3f}  {change.version:4} {change.kind:8} {change.path.split('/', 5)[-1]}"
                     f" {status.get('phase', '')} {change.after.get('message', '')}")  # fmt: skip
        for fault in self.plan.faults:
            if fault.at == change.version and fault.kind not in COUNTED_IN_WRITES and fault not in self.injected:
                self.injected[fault] = self.clock()
                self.held_resource[fault] = change.resource
                if fault.kind == "step-clock":
                    self.runs[-1].skew += float(fault.how)
                if fault.kind in FOREIGN_CHANGES:
                    self.loop.call_soon(self.users.apply_foreign_change, fault)

    def objects(self, resource: str) -> list[Object]:
        """All objects of a plural kind."""
        own = f"/{resource}/"
        return [obj for path, obj in self.api.objects.items() if own in path]

    def members(self) -> list[Object]:
        """The pods that the daemon has made."""
        return [pod for pod in self.objects("pods") if not (forged(pod) or watched(pod))]

    def object_path(self, name: str) -> str:
        """The path of the object that the scenario calls by that name: an Experiment, or one of another kind."""
        return path_of(name) if self.records is None else self.records.own_path(path_of(name))

    def experiments(self) -> list[Object]:
        """All objects that Muster runs, as the oracles see them."""
        if self.records is None:
            return self.objects("experiments")
        return [obj for name in self.scenario.ends if (obj := self.experiment_named(name)) is not None]

    def experiment_named(self, name: str) -> Object | None:
        """The object of that name, as the oracles see it."""
        path = self.object_path(name)
        obj = self.api.objects.get(path)
        return obj if self.records is None or obj is None else self.records.object(path, obj)

    def statuses(self) -> list[Object]:
        """The last status of every Experiment that ever existed."""
        last = {c.after["metadata"]["uid"]: c.after for c in self.changes if c.resource == "experiments"}
        return [obj["status"] for obj in last.values() if obj.get("status")]

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """A callback or task failed and its exception was not handled."""
        self.violate(f"{context['message']}: {context.get('exception')!r}")

    def violate(self, what: str) -> None:
        """Record a violation."""
        self.violations.append(f"at {self.loop.time():.3f} s: {what}")
        if self.say:
            self.say(f"{self.loop.time():9.3f}  VIOLATION  {what}")
