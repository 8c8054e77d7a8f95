"""Scheduler, kubelets and node controller: they carry pods from their creation to their end, in virtual time.

What a process does is a fact at once; that the API server hears of it takes a moment, and after a node is lost it never
hears of it.
"""

from typing import TYPE_CHECKING, Any

from muster.api.names import CONTAINER
from tests.fakes.history import Change, Object
from tests.simulation.scenarios.scenario import NodeLost, Preempted, SlowImage, Unschedulable
from tests.simulation.world.process import Process, Stage, process_of

if TYPE_CHECKING:
    from tests.simulation.world.world import World

SCHEDULE = 0.2
PULL = 1.0
START = 0.3
REPORT = 0.02
"""Seconds from what a process does to the API server's knowing it."""
OBEY = 0.5
"""Seconds from SIGTERM to the end of a program that obeys."""
REMOVE = 0.1
NOT_READY = 10.0
"""Seconds from a node's loss to its pods' being called not ready."""


class Kubelet:
    """All nodes of the world. ``processes`` by pod uid, those that have ended included."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self.processes: dict[str, Process] = {}
        self._addresses = 0

    def changed(self, change: Change) -> None:
        """A pod came, changed or went."""
        if change.resource != "pods":
            return
        metadata = change.after["metadata"]
        if change.kind == "ADDED":
            process = self.processes[metadata["uid"]] = process_of(change.path, change.after)
            self.world.later(SCHEDULE + process.rank * 0.01, self._schedule, process)
            return
        process = self.processes[metadata["uid"]]
        if change.kind == "DELETED":
            self.world.later(REMOVE, self._kill, process, 137)
        elif metadata.get("deletionGracePeriodSeconds") != _grace(change.before):
            self._end(process, metadata["deletionGracePeriodSeconds"])

    # From creation to the first instruction

    def _schedule(self, process: Process) -> None:
        if self.world.befalls(process, Unschedulable):
            process.waiting = "Unschedulable"
        else:
            process.node = f"node-{process.rank}"
            pull = self.world.befalls(process, SlowImage)
            self.world.later(pull[0].seconds if pull else PULL + process.rank * 0.01, self._start, process)
        self.commit(process)

    def _start(self, process: Process) -> None:
        if process.stage is not Stage.WAITING or process.dying or process.cut_off or not self._there(process):
            return
        self._addresses += 1
        process.ip = f"10.{self._addresses >> 16}.{self._addresses >> 8 & 255}.{self._addresses & 255}"
        process.stage = Stage.RUNNING
        self.world.invariants.started(process)
        self.world.gang.started(process)
        self.world.later(REPORT, self.commit, process)

    # To the end

    def exit(self, process: Process, code: int, signal: int = 0) -> None:
        """The program ends, by itself or by force."""
        if not process.running:
            return
        process.stage, process.code, process.signal = Stage.ENDED, code, signal
        process.ended_at = self.world.clock()
        self.world.gang.ended(process)
        self.world.later(REPORT, self.commit, process)
        if process.dying:
            self.world.later(REPORT + REMOVE, self._remove, process)

    def preempt(self, process: Process, event: Preempted) -> None:
        """The scheduler wants the place."""
        if self._there(process) and process.running:
            self.world.happened("disruption", process)
            process.disruption = "PreemptionByScheduler"
            self.commit(process)
            self.world.api.delete(process.path)

    def lose_node(self, process: Process, event: NodeLost) -> None:
        """The lights go out where that process runs."""
        if not process.running:
            return
        self.world.happened("disruption", process)
        for neighbour in self.processes.values():
            if neighbour.node == process.node and self._there(neighbour):
                neighbour.cut_off = True
                if neighbour.running:
                    neighbour.stage = Stage.ENDED
                    self.world.gang.ended(neighbour)
                self.world.later(NOT_READY, self.commit, neighbour, "NotReady")
                self.world.later(event.evicted, self._evict, neighbour)
                if event.collected is not None:
                    self.world.later(event.collected, self._collect, neighbour)

    def _end(self, process: Process, grace: int) -> None:
        if process.cut_off:
            return
        if not process.running:
            process.dying = True
            self.world.later(REMOVE, self._remove, process)
            return
        if not process.dying and not self.world.scenario.deaf:
            self.world.later(OBEY, self._kill, process, 143)
        process.dying = True
        self.world.later(grace, self._kill, process, 137)

    def _kill(self, process: Process, code: int) -> None:
        if not process.cut_off:
            process.dying = True
            self.exit(process, code, code - 128)

    def _evict(self, process: Process) -> None:
        if self._there(process):
            process.disruption = "DeletionByTaintManager"
            self.commit(process, "NotReady")
            self.world.api.delete(process.path)

    def _collect(self, process: Process) -> None:
        if self._there(process):
            self.world.api.remove(process.path)

    def _remove(self, process: Process) -> None:
        if self._there(process):
            self.world.api.remove(process.path)

    # What the API server is told

    def _there(self, process: Process) -> bool:
        found = self.world.api.objects.get(process.path)
        return found is not None and found["metadata"]["uid"] == process.uid

    def commit(self, process: Process, cut_off: str = "") -> None:
        """Report the process as it is now. A lost node reports nothing; its controller says ``cut_off``."""
        if not self._there(process) or (process.cut_off and not cut_off):
            return
        pod = self.world.api.objects[process.path]
        status = self._lost(pod) if cut_off else self._status(process)
        if process.disruption:
            target = {"type": "DisruptionTarget", "status": "True", "reason": process.disruption, "message": "injected"}
            status["conditions"] = [*status["conditions"], target]
        spec = {**pod["spec"], "nodeName": process.node} if process.node else pod["spec"]
        self.world.api.put(process.path, {**pod, "spec": spec, "status": status})

    @staticmethod
    def _lost(pod: Object) -> Object:
        old = pod.get("status", {})
        conditions = [each for each in old.get("conditions", []) if each["type"] == "PodScheduled"]
        return {**old, "conditions": [*conditions, {"type": "Ready", "status": "False"}]}

    def _status(self, process: Process) -> Object:
        if process.waiting:
            said = {"reason": process.waiting, "message": "0/8 nodes are available: insufficient nvidia.com/gpu"}
            return {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", **said}]}
        scheduled = {"type": "PodScheduled", "status": "True"}
        if process.stage is Stage.WAITING:
            return _document("Pending", scheduled, False, {"waiting": {"reason": "ContainerCreating"}})
        if process.running:
            return _document("Running", scheduled, True, {"running": {}}, process.ip)
        ended = {
            "exitCode": process.code,
            "reason": "Error" if process.code else "Completed",
            "finishedAt": self.world.api.now(process.ended_at - self.world.clock()),
            **({"signal": process.signal} if process.signal > 0 else {}),
        }
        return _document("Failed" if process.code else "Succeeded", scheduled, False, {"terminated": ended}, process.ip)


def _document(phase: str, scheduled: Object, ready: bool, state: dict[str, Any], ip: str = "") -> Object:
    conditions = [scheduled, {"type": "Ready", "status": str(ready)}]
    container = {"name": CONTAINER, "ready": ready, "state": state}
    return {"phase": phase, "conditions": conditions, "containerStatuses": [container], **({"podIP": ip} if ip else {})}


def _grace(pod: Object | None) -> int | None:
    return pod["metadata"].get("deletionGracePeriodSeconds") if pod else None
