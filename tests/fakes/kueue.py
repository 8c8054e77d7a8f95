"""A stand-in for Kueue's scheduler, which follows the recorded traces (tests/state/queueing/traces).

One ClusterQueue with a quota of CPUs and the LocalQueues that feed it. One pass over all Workloads gives the statuses
that Kueue would write: admission in the order of priority and creation, preemption of lower priorities, eviction of
Workloads that were deactivated or whose queue is stopped, and the reasons why the others wait. Like the real one it
never takes the quota of an evicted Workload away before its controller has released it, except where the Workload is
inactive, finished or gone.
"""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from muster.api.values.quantities import parse_quantity

Object = dict[str, Any]

FLAVOR = "standard"
NO_RESERVATION = "The workload has no reservation"


@dataclass
class Kueue:
    """``quota`` is in CPUs. Statuses are written by the caller."""

    quota: float
    queues: tuple[str, ...] = ("q",)
    stopped: bool = False
    """The ClusterQueue is stopped and drained (stopPolicy HoldAndDrain)."""
    down: bool = False
    """The controller does not run."""

    def reconcile(self, workloads: Iterable[Object], now: str) -> list[tuple[Object, Object]]:
        """Workloads with the status that each gets, where that is another one than it has."""
        if self.down:
            return []
        found = [_Work(each, deepcopy(each.get("status") or {}), now) for each in workloads]
        for work in found:
            self._evict(work)
        free = self.quota - sum(work.usage for work in found if work.holds)
        waiting = sorted((work for work in found if work.waits), key=lambda work: (-work.priority, work.created))
        for work in waiting:
            free = self._place(work, found, free)
        return [(work.obj, work.status) for work in found if work.status != (work.obj.get("status") or {})]

    def _evict(self, work: "_Work") -> None:
        if work.true("Finished") or work.leaving:
            return
        if not work.active and not work.true("Evicted"):
            if work.true("QuotaReserved"):
                work.say("Evicted", True, "Deactivated", "The workload is deactivated")
            else:
                work.say("QuotaReserved", False, "Deactivated", "The workload is deactivated")
        elif not work.active and not work.true("QuotaReserved"):
            work.say("QuotaReserved", False, "Deactivated", "The workload is deactivated")
        elif self.stopped and work.true("QuotaReserved") and not work.true("Evicted"):
            work.say("Evicted", True, "ClusterQueueStopped", "The ClusterQueue is stopped")
        if work.active and work.reason("Requeued") == "Deactivated" and not work.true("Requeued"):
            work.say("Requeued", True, "Reactivated", "The workload was reactivated")
        if not self.stopped and work.reason("Requeued") == "ClusterQueueStopped" and not work.true("Requeued"):
            text = "The ClusterQueue was restarted after being stopped"
            work.say("Requeued", True, "ClusterQueueRestarted", text)

    def _place(self, work: "_Work", found: list["_Work"], free: float) -> float:
        """Admit the Workload, or note why it waits; the quota that is free then."""
        if work.queue not in self.queues:
            work.wait("Misconfigured", f"LocalQueue {work.queue} doesn't exist")
        elif self.stopped:
            work.wait("Suspended", "ClusterQueue cq is inactive")
        elif work.usage > self.quota:
            work.wait("ExceedsMaxQuota", f"insufficient quota for cpu in flavor {FLAVOR}, "
                      f"request ({work.usage:g}) > maximum capacity ({self.quota:g})")  # fmt: skip
        elif work.usage <= free:
            work.admit()
            return free - work.usage
        else:
            text = f"insufficient unused quota for cpu in flavor {FLAVOR}, {work.usage - max(free, 0):g} more needed"
            victims = self._victims(work, found, free)
            if victims:
                text += f". Pending the preemption of {len(victims)} workload(s)"
            work.wait("WaitingForPreemptedWorkloads" if victims else "WaitingForQuota", text)
        return free

    def _victims(self, work: "_Work", found: list["_Work"], free: float) -> list["_Work"]:
        """Evict Workloads of lower priority, if that makes room; those whose quota is awaited."""
        lower = sorted(
            (each for each in found if each.holds and each.priority < work.priority),
            key=lambda each: (not each.true("Evicted"), each.priority),
        )
        chosen: list[_Work] = []
        for each in lower:
            if work.usage <= free + sum(one.usage for one in chosen):
                break
            chosen.append(each)
        if work.usage > free + sum(one.usage for one in chosen):
            return []
        for each in chosen:
            if not each.true("Evicted"):
                text = f"Preempted to accommodate a workload (UID: {work.uid}, JobUID: UNKNOWN)"
                each.say("Evicted", True, "Preempted", text)
                each.say("Preempted", True, "InClusterQueue", text)
        return chosen


class _Work:
    """One Workload in a pass, with the status that it will have."""

    def __init__(self, obj: Object, status: Object, now: str) -> None:
        metadata, spec = obj["metadata"], obj["spec"]
        self.obj = obj
        self.status = status
        self.now = now
        self.uid: str = metadata["uid"]
        self.created: tuple[str, str] = (metadata.get("creationTimestamp", ""), self.uid)
        self.leaving = "deletionTimestamp" in metadata
        self.queue: str = spec["queueName"]
        self.active: bool = spec.get("active", True)
        self.priority: int = spec.get("priority", 0)
        self.usage = sum(_cpus(each) for each in spec["podSets"])

    @property
    def holds(self) -> bool:
        """It has quota. Of an inactive Workload it is given away at once."""
        return self.true("QuotaReserved") and not self.true("Finished") and self.active

    @property
    def waits(self) -> bool:
        """It is in the queue."""
        out = self.true("Finished") or self.true("QuotaReserved") or self.leaving or not self.active
        return not out and not (self.reason("Requeued") and not self.true("Requeued") and not self._stopped)

    @property
    def _stopped(self) -> bool:
        return self.reason("Requeued") == "ClusterQueueStopped"

    def condition(self, kind: str) -> Mapping[str, str]:
        found = (each for each in self.status.get("conditions", ()) if each["type"] == kind)
        return next(found, {})

    def true(self, kind: str) -> bool:
        return self.condition(kind).get("status") == "True"

    def reason(self, kind: str) -> str:
        return self.condition(kind).get("reason", "")

    def say(self, kind: str, true: bool, reason: str, message: str) -> None:
        status = "True" if true else "False"
        before = self.condition(kind)
        if (before.get("status"), before.get("reason"), before.get("message")) == (status, reason, message):
            return
        since = before["lastTransitionTime"] if before.get("status") == status else self.now
        said = {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": since}
        others = {each["type"]: each for each in self.status.get("conditions", ())}
        self.status["conditions"] = list((others | {kind: said}).values())

    def wait(self, reason: str, message: str) -> None:
        name = self.obj["spec"]["podSets"][0]["name"]
        needs = "" if reason in ("Misconfigured", "Suspended") else f"couldn't assign flavors to pod set {name}: "
        self.say("QuotaReserved", False, reason, f"{needs}{message}")
        self.say("Admitted", False, "NoReservation", NO_RESERVATION)

    def admit(self) -> None:
        assigned = [
            {"name": each["name"], "count": each["count"], "flavors": {"cpu": FLAVOR, "memory": FLAVOR}}
            for each in self.obj["spec"]["podSets"]
        ]
        self.status["admission"] = {"clusterQueue": "cq", "podSetAssignments": assigned}
        self.say("QuotaReserved", True, "QuotaReserved", "Quota reserved in ClusterQueue cq")
        for kind in ("Evicted", "Preempted"):
            if self.true(kind):
                self.say(kind, False, "QuotaReserved", f"Previously: {self.condition(kind)['message']}")
        self.say("Admitted", True, "Admitted", "The workload is admitted")


def _cpus(pod_set: Mapping[str, Any]) -> float:
    containers = pod_set["template"]["spec"]["containers"]
    each = sum(_cpu(one) for one in containers)
    return float(pod_set["count"]) * each


def _cpu(container: Mapping[str, Any]) -> float:
    return float(parse_quantity(container.get("resources", {}).get("requests", {}).get("cpu", "0")))
