"""Users: they submit, edit and delete experiments as the scenario says, and change pods and specs as the plan says."""

from copy import deepcopy
from math import inf
from typing import TYPE_CHECKING, Any

from muster.api.names import (
    API_VERSION,
    KIND,
    LABEL_EPOCH,
    LABEL_EXPERIMENT,
    LABEL_GROUP,
    LABEL_JOB,
    LABEL_MANAGED_BY,
    LABEL_POD,
    LABEL_RANK,
    LABEL_UID,
    MANAGER,
    PRIORITY_LABEL,
    QUEUE_LABEL,
)
from muster.kube.resources import core
from tests.fakes.history import Object
from tests.scenarios.scenario import (
    NAMESPACE,
    AddsFinalizer,
    Alteration,
    Alters,
    Asks,
    DeletesNamespace,
    Forges,
    Serves,
    StopsServing,
    SubmitsAgain,
    SubmitsOthers,
    TakesName,
    UserAction,
)
from tests.simulation.oracles.invariants import OVER
from tests.simulation.plans.plan import ALTERED_FOR, Fault
from tests.simulation.world.process import Process, watched_pod

if TYPE_CHECKING:
    from tests.simulation.world.world import World

SECOND_LIFE = "00000000-0000-4000-8000-900000000000"
"""The uid of an Experiment that is submitted again: names of pods do not depend on how much came before it."""
FINALIZER = "example.com/keep"
EMPTIED = ((0.5, "pods"), (1.0, "services"), (8.0, "experiments"), (40.0, "pods"))
"""Seconds from the deletion of a namespace to that of its objects, by kind; pods that come later are deleted, too."""
ALTERATIONS = tuple(Alteration)
SUBMITTED = 1.0
"""The second at which all experiments are submitted."""


class Users:
    """Everybody who is neither the daemon nor the cluster."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self._deleted: set[str] = set()
        """Namespaces that are being deleted."""
        self._marks: dict[str, tuple[dict[str, str], list[Object]]] = {}
        """Labels and owner references that altered pods had, by uid."""
        self.altered: dict[str, tuple[float, float]] = {}
        """By uid of an altered pod: from when until when it had not its marks, on the world's clock."""
        self.strangers: set[str] = set()
        """Paths of objects of the other kind that another controller manages."""

    def schedule(self) -> None:
        """Schedule the scenario's submissions and actions."""
        self.world.loop.call_later(SUBMITTED, self.submit_all)
        for step in self.world.scenario.user_actions:
            self.world.loop.call_later(step.second, self.step, step)

    def submit_all(self) -> None:
        """Submit all experiments, always in the same order: it decides the uids, and through them the names of pods."""
        for name in self.world.scenario.ends:
            self.submit(name)
        size = self.world.scenario.watched
        for rank in range(size):
            pod = watched_pod(rank, size)
            self.world.api.put(core(NAMESPACE, "pods", pod["metadata"]["name"]), pod)

    def submit(self, name: str, uid: str = "") -> None:
        """Submit an experiment of that name with the scenario's spec. Without ``uid`` it gets the next one."""
        path = self.world.object_path(name)
        metadata: dict[str, object] = {"namespace": path.split("/")[5], "uid": uid}
        if self.world.scenario.quota:
            metadata["labels"] = {QUEUE_LABEL: "q", PRIORITY_LABEL: "low"}
        subject = self.world.operator.subject
        kind = {"apiVersion": subject.api_version, "kind": subject.kind}
        self.world.api.put(path, {**kind, "metadata": metadata, "spec": self._spec()})

    def _spec(self) -> dict[str, Any]:
        """The spec of a gang of the plan's size, with what the scenario states."""
        operator, stated = self.world.operator, deepcopy(dict(self.world.scenario.spec))
        gang = operator.types(self.world.plan.size)
        if operator.of_run_kind:
            return {**gang, **stated}
        common = {"operator": operator.operator, "image": "demo", "command": "python main.py"}
        return {**common, "types": gang, **stated}

    def serve(self) -> None:
        """Install the CRD of the other kind, or serve it again."""
        subject = self.world.operator.subject
        self.world.api.unserved.discard(subject.plural)
        served = {"kind": "APIResourceList", "resources": [{"name": subject.plural}]}
        self.world.api.put(f"/apis/{subject.api_version}", served)

    def step(self, step: UserAction) -> None:
        """Carry out one action of the scenario."""
        match step:
            case TakesName():
                path = core(NAMESPACE, "services", step.experiment)
                metadata = {"namespace": NAMESPACE, "name": step.experiment}
                self.world.api.put(path, {"kind": "Service", "metadata": metadata})
            case AddsFinalizer():
                self._add_finalizer(step)
            case Forges():
                self._forge(step)
            case SubmitsAgain():
                self.submit(step.experiment, uid=SECOND_LIFE)
            case DeletesNamespace():
                self._delete_namespace()
            case StopsServing():
                self._stop_serving(step)
            case Serves():
                self.serve()
            case Alters():
                self._alters(step)
            case SubmitsOthers():
                self._submit_others(step)
            case Asks():
                self.world.gang.ask()
            case _:
                self._edit(step)

    def _edit(self, step: UserAction) -> None:
        """Merge what the action states into the object, or delete it."""
        path = self.world.object_path(step.experiment)
        obj = self.world.api.objects.get(path)
        if obj is None:
            return
        if step.delete:
            self.world.api.delete(path)
        else:
            annotations = {**obj["metadata"].get("annotations", {}), **step.annotations}
            kept = {**obj["metadata"], **({"annotations": annotations} if annotations else {})}
            self.world.api.put(path, {**obj, "metadata": kept, "spec": {**obj["spec"], **step.spec}})

    def _stop_serving(self, step: StopsServing) -> None:
        subject = self.world.operator.subject
        for path in [path for path in self.world.api.objects if step.delete and f"/{subject.plural}/" in path]:
            self.world.api.delete(path)
        self.world.api.remove(f"/apis/{subject.api_version}")
        self.world.api.unserved.add(subject.plural)
        for run in self.world.runs:
            run.transport.end_watches(subject.plural)
        self.world.api.watches.look(subject.plural)

    def _submit_others(self, step: SubmitsOthers) -> None:
        path = self.world.object_path(step.experiment)
        subject = self.world.operator.subject
        kind = {"apiVersion": subject.api_version, "kind": subject.kind}
        spec = {**self._spec(), **step.spec}
        self.strangers.add(path)
        metadata = {"namespace": path.split("/")[5]}
        self.world.api.put(path, {**kind, "metadata": metadata, "spec": spec, "status": dict(step.status)})

    def leaving(self, path: str) -> bool:
        """Whether that path is in a namespace that is being deleted."""
        return path.split("/namespaces/")[-1].split("/")[0] in self._deleted

    def _delete_namespace(self) -> None:
        self._deleted.add(NAMESPACE)
        for after, kind in EMPTIED:
            kind = self.world.operator.subject.plural if kind == "experiments" else kind
            self.world.loop.call_later(after, self._empty, f"/{kind}/")

    def _empty(self, kind: str) -> None:
        """Delete every object of a kind in the namespace."""
        for path in [path for path in self.world.api.objects if kind in path and self.leaving(path)]:
            self.world.api.delete(path)

    def _add_finalizer(self, step: AddsFinalizer) -> None:
        path = self.world.object_path(step.experiment)
        if step.rank is not None:
            rank = str(step.rank % self.world.plan.size)
            pods = [pod for pod in self.world.members() if pod["metadata"]["labels"][LABEL_RANK] == rank]
            if not pods:
                return
            path = self.world.kubelet.processes[pods[-1]["metadata"]["uid"]].path
        if path in self.world.api.objects:
            self._set_finalizers(path, [FINALIZER])
            self.world.loop.call_at(step.until, self._set_finalizers, path, [])

    def _set_finalizers(self, path: str, finalizers: list[str]) -> None:
        if (obj := self.world.api.objects.get(path)) is not None:
            self.world.api.put(path, {**obj, "metadata": {**obj["metadata"], "finalizers": finalizers}})

    def _forge(self, step: Forges) -> None:
        """Create a pod like the experiment's first one, which no kubelet runs."""
        owner = self.world.experiment_named(step.experiment)
        if owner is None:
            return
        name, uid = owner["metadata"]["name"], owner["metadata"]["uid"]
        labels = {LABEL_MANAGED_BY: MANAGER, LABEL_UID: uid, LABEL_EXPERIMENT: name, LABEL_EPOCH: "0", LABEL_RANK: "0"}
        labels |= {LABEL_GROUP: "worker", LABEL_JOB: "0", LABEL_POD: "0"}
        reference = {"apiVersion": API_VERSION, "kind": KIND, "name": name, "uid": uid, "controller": True}
        metadata = {
            "namespace": step.namespace,
            "labels": {**labels, **step.labels},
            "annotations": {"forged": "true"},
            "ownerReferences": [reference],
            "finalizers": [FINALIZER] * step.finalizer,
        }
        pod = {"kind": "Pod", "metadata": metadata, "spec": {"nodeName": "node-0"}, "status": dict(step.status)}
        self.world.api.put(core(step.namespace, "pods", step.name), pod)

    def _edited(self, obj: Object) -> Object:
        """With another command. That of another kind cannot be edited while it runs: there an annotation changes,
        and the next status write meets a conflict."""
        if self.world.operator.of_run_kind:
            return {**obj, "metadata": {**obj["metadata"], "annotations": {"edited-by": "a user"}}}
        return {**obj, "spec": {**obj["spec"], "command": "python other.py"}}

    def apply_foreign_change(self, fault: Fault) -> None:
        """Delete or edit a pod, or edit the spec, as a fault of the plan says."""
        path = self.world.object_path("run")
        if fault.kind == "edit-spec":
            if (obj := self.world.api.objects.get(path)) is not None:
                self.world.api.put(path, self._edited(obj))
            return
        pods = [pod for pod in self.world.members() if pod["metadata"]["labels"][LABEL_RANK] == fault.how]
        if not pods:
            return
        pod = max(pods, key=lambda pod: int(pod["metadata"]["labels"][LABEL_EPOCH]))
        process = self.world.kubelet.processes[pod["metadata"]["uid"]]
        if fault.kind == "delete-pod":
            obj = self.world.experiment_named(process.experiment_name)
            status = (obj.get("status") or {}) if obj else {}
            if status.get("epoch") == process.epoch and status.get("phase") not in OVER:
                self.world.record_incident("deletion", process)
            self.world.removed(process)
            self.world.api.delete(process.path)
        elif fault.kind == "alter-pod":
            self._alter(process, ALTERATIONS[fault.at % len(ALTERATIONS)])
            self.world.loop.call_later(ALTERED_FOR, self._restore, process)
        else:
            metadata = {**pod["metadata"], "annotations": {"edited-by": "a user"}}
            self.world.api.put(process.path, {**pod, "metadata": metadata})

    def _alters(self, step: Alters) -> None:
        """Alter the latest pod of a rank, as the scenario says."""
        latest = [p for p in self.world.kubelet.processes.values() if p.rank == step.rank % self.world.plan.size]
        if latest:
            self._alter(latest[-1], step.how)
            if step.until is not None:
                self.world.loop.call_at(step.until, self._restore, latest[-1])

    def _alter(self, process: Process, how: Alteration) -> None:
        """Change the marks by which a pod is known as a member's."""
        if (pod := self._pod_of(process)) is None:
            return
        metadata = pod["metadata"]
        self._marks.setdefault(process.uid, (metadata["labels"], metadata["ownerReferences"]))
        self.altered.setdefault(process.uid, (self.world.clock(), inf))
        labels = {name: value for name, value in metadata["labels"].items() if name != LABEL_UID}
        match how:
            case Alteration.UNLABELLED:
                metadata = {**metadata, "labels": labels}
            case Alteration.RELABELLED:
                metadata = {**metadata, "labels": {**labels, LABEL_UID: "another"}}
            case Alteration.DISOWNED:
                metadata = {**metadata, "ownerReferences": []}
        self.world.api.put(process.path, {**pod, "metadata": metadata})

    def _restore(self, process: Process) -> None:
        """Give an altered pod its marks back."""
        if (pod := self._pod_of(process)) is not None:
            labels, owners = self._marks[process.uid]
            self.altered[process.uid] = self.altered[process.uid][0], self.world.clock()
            metadata = {**pod["metadata"], "labels": labels, "ownerReferences": owners}
            self.world.api.put(process.path, {**pod, "metadata": metadata})

    def _pod_of(self, process: Process) -> Object | None:
        found = self.world.api.objects.get(process.path)
        return found if found is not None and found["metadata"]["uid"] == process.uid else None
