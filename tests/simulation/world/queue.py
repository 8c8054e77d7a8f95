"""The queue of the simulated world: a stand-in for Kueue, and what its administrator does to it."""

from typing import TYPE_CHECKING

from muster.api.errors import error_of
from muster.api.names import FINALIZER_QUOTA, LABEL_UID
from muster.api.values.timestamps import whole_time
from muster.reconcilers.render.workload import API_VERSION
from tests.fakes.api import Fault
from tests.fakes.history import Change, Object
from tests.fakes.kueue import Kueue
from tests.scenarios.queue_actions import QueueAction, QueueDoes
from tests.simulation.oracles.invariants import OVER

if TYPE_CHECKING:
    from tests.simulation.world.world import World

PASS = 0.015
"""Seconds from a change of a Workload to the queue's answer; the real one takes about as long."""
LATE = 2.0
"""Seconds after the loss of an admission within which a daemon without faults has stopped to create pods."""
WAIT = 1.0
"""Seconds after which an administrator looks again whether the gang runs."""
DOWN = 'Internal error occurred: failed calling webhook "mworkload.kb.io": connection refused'


class QueueActor:
    """Admits and evicts Workloads, and judges what the daemon does to them."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self.kueue = Kueue(quota=world.scenario.quota)
        self._due = False
        self._fault: Fault | None = None
        self._admitted: set[str] = set()
        """uids of the Experiments that are admitted."""
        self._lost: dict[str, float] = {}
        """By uid of the Experiment: when it lost its admission last, in seconds from the beginning."""
        flavor = {"kind": "ResourceFlavor", "spec": {"nodeLabels": {"kubernetes.io/os": "linux"}}}
        world.api.put(f"/apis/{API_VERSION}/resourceflavors/standard", flavor)
        for name, value in (("low", 100), ("high", 1000)):
            world.api.put(f"/apis/{API_VERSION}/workloadpriorityclasses/{name}", {"value": value})
        self._schedule(list(world.scenario.queue), 0.0)

    def _schedule(self, steps: list[QueueAction], before: float) -> None:
        """The next action, as long after the one before it as the scenario says."""
        if steps:
            self.world.loop.call_later(steps[0].second - before, self._try, steps)

    def _try(self, steps: list[QueueAction]) -> None:
        """Quota is taken back from a gang that runs; where faults have delayed it, its end is waited for as well."""
        if steps[0].from_gang and not self._at_work():
            self.world.loop.call_later(WAIT, self._try, steps)
            return
        self.act(steps[0])
        self._schedule(steps[1:], steps[0].second)

    def _at_work(self) -> bool:
        return any(each.running and each.assembled for each in self.world.kubelet.processes.values())

    def act(self, step: QueueAction) -> None:
        """What the administrator does."""
        match step.does:
            case QueueDoes.QUOTA:
                self.kueue.quota = step.quota
            case QueueDoes.STOP | QueueDoes.START:
                self.kueue.stopped = step.does is QueueDoes.STOP
            case QueueDoes.GO_DOWN:
                self.kueue.down = True
                self._fault = self.world.api.fail(
                    "POST /apis/kueue", error_of(500, "InternalError", DOWN), times=1 << 30
                )
            case QueueDoes.COME_UP:
                self.kueue.down = False
                if self._fault is not None:
                    self._fault.times = 0
            case QueueDoes.UNINSTALL:
                self.world.api.unserved.add("workloads")
            case QueueDoes.INSTALL:
                self.world.api.unserved.clear()
            case QueueDoes.DEACTIVATE | QueueDoes.ACTIVATE:
                for path, obj in self._workloads():
                    active = step.does is QueueDoes.ACTIVATE
                    if not active:
                        self._record_eviction(_owner(obj))
                    self.world.api.put(path, {**obj, "spec": {**obj["spec"], "active": active}})
            case QueueDoes.SUBMIT | QueueDoes.FINISH:
                self._preemptor(step)
        self._soon()

    def _preemptor(self, step: QueueAction) -> None:
        """Another user's Workload of high priority, which takes the whole quota."""
        path = f"/apis/{API_VERSION}/namespaces/other/workloads/high"
        if step.does is QueueDoes.FINISH:
            self.world.api.remove(path)
            return
        container = {"name": "main", "resources": {"requests": {"cpu": str(int(self.kueue.quota))}}}
        pod_set = {"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}
        spec = {"queueName": "q", "priority": 1000, "podSets": [pod_set]}
        self.world.api.put(path, {"kind": "Workload", "metadata": {"namespace": "other"}, "spec": spec})

    # Changes

    def changed(self, change: Change) -> None:
        """A Workload was changed: judge that, and answer soon."""
        if change.resource != "workloads":
            return
        owner = _owner(change.after)
        if owner:
            self._judge(change, owner)
        self._soon()

    def _soon(self) -> None:
        if not self._due:
            self._due = True
            self.world.loop.call_later(PASS, self._pass)

    def _pass(self) -> None:
        self._due = False
        by_name = {obj["metadata"]["uid"]: path for path, obj in self._workloads(every=True)}
        objects = [obj for _, obj in self._workloads(every=True)]
        for obj, status in self.kueue.reconcile(objects, whole_time(self.world.clock())):
            if _true(status, "Evicted") and not _true(obj.get("status", {}), "Evicted"):
                self._record_eviction(_owner(obj))
            self.world.api.put(by_name[obj["metadata"]["uid"]], {**obj, "status": status})

    def _record_eviction(self, owner: str) -> None:
        for obj in self.world.experiments():
            status = obj.get("status") or {}
            if obj["metadata"]["uid"] == owner and status.get("phase") not in (*OVER, "Queued", "Suspended"):
                name, epoch = obj["metadata"]["name"], status.get("epoch", 0)
                if not any(each[1:4] == ("disruption", name, epoch) for each in self.world.incident_log):
                    self.world.incident_log.append((self.world.clock(), "disruption", name, epoch, 0))

    def _workloads(self, *, every: bool = False) -> list[tuple[str, Object]]:
        found = [(path, obj) for path, obj in self.world.api.objects.items() if "/workloads/" in path]
        return [(path, obj) for path, obj in found if every or _owner(obj)]

    # Oracles

    def _judge(self, change: Change, owner: str) -> None:
        """Quota is given back only when no process of the gang runs; and the time without admission is noted."""
        before = (change.before or {}).get("status") or {}
        after = change.after.get("status") or {}
        gone = change.kind == "DELETED"
        released = _true(before, "QuotaReserved") and (gone or not _true(after, "QuotaReserved"))
        done = _true(after, "Finished") and not _true(before, "Finished")
        let_go = gone and FINALIZER_QUOTA in (change.before or {}).get("metadata", {}).get("finalizers", ())
        if released or done or let_go:
            for process in self.world.kubelet.processes.values():
                if process.experiment == owner and process.running:
                    self.world.violate(f"quota is given back while {process.name} runs")
        if gone or not _true(after, "Admitted") or _true(after, "Evicted"):
            if owner in self._admitted:
                self._admitted.discard(owner)
                self._lost[owner] = self.world.loop.time()
        else:
            self._admitted.add(owner)

    def created(self, pod: Object) -> None:
        """The daemon has created a pod: its Workload must be admitted, or have been a moment ago."""
        uid = pod["metadata"]["labels"][LABEL_UID]
        lost = self._lost.get(uid)
        late = lost is not None and self.world.loop.time() - lost <= LATE
        if uid not in self._admitted and not late:
            self.world.violate(f"{pod['metadata']['name']} is created while no queue admits its experiment")

    def at_rest(self) -> None:
        """At the end every eviction has been answered, and nothing that is finished holds quota."""
        statuses = {obj["metadata"]["uid"]: obj.get("status") or {} for obj in self.world.experiments()}
        for _, obj in self._workloads():
            status, owner = obj.get("status") or {}, _owner(obj)
            name = obj["metadata"]["name"]
            kept = _true(status, "QuotaReserved") and not _true(status, "Finished")
            if _true(status, "Evicted") and kept and obj["spec"].get("active", True):
                self.world.violate(f"the quota of the evicted Workload {name} was not given back")
            if owner not in statuses:
                self.world.violate(f"the Workload {name} outlives its Experiment")
                continue
            held = not _true(status, "Finished") or FINALIZER_QUOTA in obj["metadata"].get("finalizers", ())
            if statuses[owner].get("phase") in OVER and held:
                self.world.violate(f"the Workload {name} of a finished experiment holds quota")


def _owner(obj: Object) -> str:
    return next((str(each["uid"]) for each in obj["metadata"].get("ownerReferences", ())), "")


def _true(status: Object, kind: str) -> bool:
    return any(each["type"] == kind and each["status"] == "True" for each in status.get("conditions", ()))
