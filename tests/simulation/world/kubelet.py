"""Scheduler, kubelets and node controller: they take pods from creation to end, in virtual time.

What a program does is true at once; the API server is informed a moment later, and never once the node is lost.
"""

from typing import TYPE_CHECKING, Any

from tests.fakes.api import ENDED
from tests.fakes.history import Change, Object
from tests.scenarios.incidents import (
    Collected,
    ContainerWaits,
    Gated,
    NodeBoots,
    NodeLost,
    Preempted,
    Sidecar,
    SlowImage,
    Unkillable,
    Unschedulable,
)
from tests.simulation.world.process import Process, Stage, forged, process_of, watched

if TYPE_CHECKING:
    from tests.simulation.world.world import World

SCHEDULE = 0.2
PULL = 1.0
START = 0.3
REPORT = 0.02
"""Seconds from a change of a process to the update of its pod's status."""
KILLED = 137
UNSEEN = 255
"""The exit code that containerd gives where it finds no process of a container that ran."""
SIGTERM_EXIT = 0.5
"""Seconds from SIGTERM to the end of a program that handles it."""
REMOVE = 0.1
FIRST_RESTART, LONGEST_RESTART = 10.0, 300.0
"""Seconds from the end of a container to its next life in the pod: twice as long each time."""
SAID_BY_SCHEDULER = {
    "Unschedulable": "0/8 nodes are available: insufficient nvidia.com/gpu",
    "SchedulingGated": "Scheduling is blocked due to non-empty scheduling gates",
}
NOT_READY = 10.0
"""Seconds from the loss of a node to Ready=False on its pods."""


class Kubelet:
    """All nodes of the world. ``processes`` holds every process by pod uid, including those that have ended."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self.processes: dict[str, Process] = {}
        self._addresses = 0

    def gang(self, uid: str, epoch: int) -> list[Process]:
        """The processes of that epoch of the Experiment with that uid."""
        return [each for each in self.processes.values() if (each.experiment, each.epoch) == (uid, epoch)]

    def named(self, name: str, epoch: int) -> list[Process]:
        """The processes of that epoch of all Experiments that the scenario calls by that name."""
        return [each for each in self.processes.values() if (each.experiment_name, each.epoch) == (name, epoch)]

    def changed(self, change: Change) -> None:
        """A pod was created, changed or removed."""
        if change.resource != "pods":
            return
        metadata = change.after["metadata"]
        if forged(change.after):
            return
        if change.kind == "ADDED":
            process = self.processes[metadata["uid"]] = self._process(change)
            self.world.later(SCHEDULE + process.rank * 0.01, self._schedule, process)
            return
        process = self.processes[metadata["uid"]]
        if change.kind == "DELETED":
            process.removed_at = change.at
            self.world.later(REMOVE, self._kill, process, 137)
        elif metadata.get("deletionGracePeriodSeconds") != _grace(change.before):
            self._end(process, metadata["deletionGracePeriodSeconds"])
        elif change.after["spec"].get("activeDeadlineSeconds") and not process.stopping:
            self._stop(process, change.after["spec"].get("terminationGracePeriodSeconds", 30))

    def _process(self, change: Change) -> Process:
        size = self.world.scenario.watched if watched(change.after) else self.world.plan.size
        return process_of(change.path, change.after, self.world.operator, size, change.at)

    # From creation to start

    def _schedule(self, process: Process) -> None:
        gated = self.world.incidents_of(process, Gated)
        if self.world.incidents_of(process, Unschedulable):
            process.waiting = "Unschedulable"
        elif gated and not process.waiting:
            process.waiting = "SchedulingGated"
            self.world.later(gated[0].seconds, self._schedule, process)
        else:
            process.waiting = ""
            node = f"node-{process.rank}"
            process.node = f"{node}-spare" if node in process.left_out else node
            pull = self.world.incidents_of(process, SlowImage)
            self.world.later(pull[0].seconds if pull else PULL + process.rank * 0.01, self._pulled, process)
        self.report(process)

    def _pulled(self, process: Process) -> None:
        """The image is pulled, or the kubelet reports why the container cannot start."""
        waits = self.world.incidents_of(process, ContainerWaits)
        if not waits:
            self._start(process)
        elif process.stage is Stage.WAITING:
            process.container_waits = waits[0].reason, waits[0].message
            self.report(process)
            self.world.later(waits[0].seconds, self._start, process)

    def _start(self, process: Process) -> None:
        if process.stage is not Stage.WAITING or process.terminating or process.node_lost or not self._exists(process):
            return
        self._addresses += 1
        process.ip = f"10.{self._addresses >> 16}.{self._addresses >> 8 & 255}.{self._addresses & 255}"
        process.stage, process.started_at = Stage.RUNNING, self.world.clock()
        process.has_sidecar = bool(self.world.incidents_of(process, Sidecar))
        self.world.invariants.started(process)
        self.world.gang.started(process)
        self.world.later(REPORT, self.report, process)

    # From start to end

    def exit(self, process: Process, code: int, signal: int = 0) -> None:
        """The program ends, by itself or by a signal."""
        if not process.running:
            return
        process.stage, process.code, process.signal = Stage.ENDED, code, signal
        process.ended_at = self.world.clock()
        self.world.gang.ended(process)
        self.world.later(REPORT, self.report, process)
        for sidecar in self.world.incidents_of(process, Sidecar):
            if sidecar.ends is not None or process.terminating:
                late = SIGTERM_EXIT if process.terminating else sidecar.ends or 0.0
                self.world.later(late, self._end_sidecar, process, sidecar.code)
        if process.terminating and not process.has_sidecar:
            self.world.later(REPORT + REMOVE, self._remove, process)
        if code and process.again and not (process.terminating or process.stopping):
            wait = min(FIRST_RESTART * 2**process.restarts, LONGEST_RESTART)
            self.world.later(wait, self._start_again, process)
        if not code:
            for collected in self.world.incidents_of(process, Collected):
                self.world.later(collected.after, self._collect_ended, process)

    def _start_again(self, process: Process) -> None:
        """The container begins another life in its pod."""
        if process.running or process.terminating or process.stopping or not self._exists(process):
            return
        process.last_end, process.restarts = self._ended(process), process.restarts + 1
        process.stage, process.started_at, process.said, process.reason = Stage.RUNNING, self.world.clock(), "", "Error"
        process.serving = process.assembled = False
        process.arrived = {}
        self.world.gang.started(process)
        self.world.later(REPORT, self.report, process)

    def _end_sidecar(self, process: Process, code: int) -> None:
        """The injected container ends, and with it the pod."""
        if process.sidecar is None and process.stage is Stage.ENDED:
            process.sidecar = code
            self.report(process)
            if process.terminating:
                self.world.later(REMOVE, self._remove, process)

    def preempt(self, process: Process, event: Preempted) -> None:
        """The scheduler preempts the pod."""
        if self._exists(process) and process.running:
            self.world.record_incident("disruption", process)
            process.disruption = "PreemptionByScheduler"
            self.report(process)
            self.world.api.delete(process.path)

    def lose_node(self, process: Process, event: NodeLost) -> None:
        """The node of that process loses power."""
        if not process.running:
            return
        self.world.record_incident("disruption", process)
        for neighbour in self.processes.values():
            if neighbour.node == process.node and self._exists(neighbour):
                neighbour.node_lost = True
                if neighbour.running:
                    neighbour.stage = Stage.ENDED
                    self.world.gang.ended(neighbour)
                self.world.later(NOT_READY, self.report, neighbour, "NotReady")
                self.world.later(event.evicted, self._evict, neighbour)
                if event.collected is not None:
                    self.world.later(event.collected, self._collect, neighbour)

    def boot_node(self, process: Process, event: NodeBoots) -> None:
        """The node of that process loses power, and reports it when it is back."""
        if not process.running:
            return
        self.world.record_incident("disruption", process)
        for neighbour in self.processes.values():
            if neighbour.node == process.node and neighbour.running and self._exists(neighbour):
                neighbour.stage, neighbour.code, neighbour.unseen = Stage.ENDED, UNSEEN, True
                neighbour.ended_at = self.world.clock() + event.back  # containerd gives the time of its own start
                self.world.gang.ended(neighbour)
                self.world.later(event.back, self.report, neighbour)

    def _end(self, process: Process, grace: int) -> None:
        if process.node_lost:
            return
        if not process.running:
            process.terminating = True
            if process.busy:
                self.world.later(SIGTERM_EXIT, self._end_sidecar, process, 143)
            else:
                self.world.later(REMOVE, self._remove, process)
            return
        if not process.terminating and not self.world.scenario.ignores_sigterm:
            self.world.later(SIGTERM_EXIT, self._kill, process, 143)
        process.terminating = True
        self.world.later(grace, self._kill, process, 137)

    def _stop(self, process: Process, grace: int) -> None:
        """The pod's deadline is over: its containers end within the grace period, and it stays."""
        process.stopping = True
        if not self.world.scenario.ignores_sigterm:
            self.world.later(SIGTERM_EXIT, self._give_up, process, 143)
        self.world.later(grace, self._give_up, process, 137)

    def _give_up(self, process: Process, code: int) -> None:
        if process.node_lost:
            return
        self.exit(process, code, code - 128)
        if process.busy:
            self._end_sidecar(process, 143)

    def _kill(self, process: Process, code: int) -> None:
        if process.running and code == KILLED and not process.released:
            for stuck in self.world.incidents_of(process, Unkillable):
                process.released = True
                self.world.later(stuck.seconds, self._kill, process, code)
                return
        if not process.node_lost:
            process.terminating = True
            self.exit(process, code, code - 128)

    def _evict(self, process: Process) -> None:
        if self._exists(process):
            process.disruption = "DeletionByTaintManager"
            self.report(process, "NotReady")
            self.world.api.delete(process.path)

    def _collect(self, process: Process) -> None:
        if self._exists(process):
            self.world.removed(process)
            self.world.api.remove(process.path)

    def _collect_ended(self, process: Process) -> None:
        """Only pods that are known to have ended are collected."""
        known = self.world.api.objects.get(process.path, {}).get("status", {}).get("phase")
        if known in ENDED:
            self._collect(process)
        elif self._exists(process):
            self.world.later(REPORT, self._collect_ended, process)

    def _remove(self, process: Process) -> None:
        if self._exists(process):
            self.world.api.remove(process.path)

    # What the API server is told

    def _exists(self, process: Process) -> bool:
        found = self.world.api.objects.get(process.path)
        return found is not None and found["metadata"]["uid"] == process.uid

    def report(self, process: Process, node_lost: str = "") -> None:
        """Write the pod's status. A lost node's kubelet reports nothing; its node controller passes ``node_lost``."""
        if not self._exists(process) or (process.node_lost and not node_lost):
            return
        pod = self.world.api.objects[process.path]
        status = self._lost(pod) if node_lost else self._status(process)
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
            said = {"reason": process.waiting, "message": SAID_BY_SCHEDULER[process.waiting]}
            return {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", **said}]}
        scheduled = {"type": "PodScheduled", "status": "True"}
        if process.stage is Stage.WAITING:
            reason, message = process.container_waits or ("ContainerCreating", "")
            return _document(process, "Pending", scheduled, False, {"waiting": {"reason": reason, "message": message}})
        if process.running:
            state = {"running": {"startedAt": self.world.api.now(process.started_at - self.world.clock())}}
            running = _document(process, "Running", scheduled, not process.unready, state)
            return _with_sidecar(running, {"running": {}}) if process.has_sidecar else running
        ended = self._ended(process)
        if process.code and process.again and not process.stopping:
            return _document(process, "Running", scheduled, False, {"terminated": ended})
        if process.busy:
            return _with_sidecar(
                _document(process, "Running", scheduled, False, {"terminated": ended}), {"running": {}}
            )
        failed = process.code or process.sidecar
        document = _document(process, "Failed" if failed else "Succeeded", scheduled, False, {"terminated": ended})
        if process.sidecar is None:
            return document
        return _with_sidecar(document, {"terminated": {**ended, "exitCode": process.sidecar, "reason": "Error"}})

    def _ended(self, process: Process) -> Object:
        """How its container ended."""
        return {
            "exitCode": process.code,
            "reason": "Unknown" if process.unseen else process.reason if process.code else "Completed",
            "finishedAt": self.world.api.now(process.ended_at - self.world.clock()),
            **({"signal": process.signal} if process.signal > 0 else {}),
            **({"message": process.said} if process.said else {}),
        }


def _document(process: Process, phase: str, scheduled: Object, ready: bool, state: dict[str, Any]) -> Object:
    conditions = [scheduled, {"type": "Ready", "status": str(ready)}]
    container = {"name": process.container, "ready": ready, "state": state}
    if process.restarts:
        container |= {"restartCount": process.restarts, "lastState": {"terminated": process.last_end}}
    address = {"podIP": process.ip} if process.ip else {}
    return {"phase": phase, "conditions": conditions, "containerStatuses": [container], **address}


def _with_sidecar(status: Object, state: dict[str, Any]) -> Object:
    sidecar = {"name": "istio-proxy", "ready": "running" in state, "state": state}
    return {**status, "containerStatuses": [*status["containerStatuses"], sidecar]}


def _grace(pod: Object | None) -> int | None:
    return pod["metadata"].get("deletionGracePeriodSeconds") if pod else None
