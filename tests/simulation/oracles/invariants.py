"""What must hold at every instant, judged by the true state and not by what the daemon knows."""

from typing import TYPE_CHECKING

import msgspec

from muster.api.names import LABEL_ATTEMPT, LABEL_EPOCH, LABEL_GROUP, LABEL_RANK, LABEL_UID
from muster.api.values.rank_ranges import from_ranges
from muster.kinds.planning.run_object import without_record
from muster.kube.resources import core
from tests.fakes.history import Change, Object
from tests.simulation.oracles.repairs import SIZE, attempts_of, begun
from tests.simulation.world.process import Process, Stage, forged, kept_off

if TYPE_CHECKING:
    from tests.simulation.world.world import World

OVER = ("Succeeded", "Failed")
GROUPED = 3
"""Runs that an incident has at least."""
UNSEEN = 0.01
"""Seconds from the creation of an object to the end of what was decided without it: four messages."""


class Invariants:
    """Is called for everything that happens, and records violations."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self.story_lines: dict[tuple[str, int, str, str], int] = {}
        """Lines of the story in persisted statuses, by (uid, epoch, reason, message)."""
        self.stuck: set[str] = set()
        """The uids of the experiments that a persisted status has called Stuck."""

    # Processes

    def started(self, process: Process) -> None:
        """Two epochs of one experiment never run at once, no rank runs twice, a sequential group runs one by one."""
        for other in self.world.kubelet.processes.values():
            if other is process or not other.running or other.experiment != process.experiment:
                continue
            if other.epoch != process.epoch:
                self._violate(f"two epochs run: {process.name} (epoch {process.epoch}) beside {other.name}")
            elif other.rank == process.rank:
                self._violate(f"rank {process.rank} runs twice: {process.name} and {other.name}")
            elif self.world.operator.sequential:
                self._violate(f"two members of one job run together: {process.name} and {other.name}")
        for other in self.world.kubelet.processes.values():
            place = (other.experiment, other.epoch, other.rank, other.attempt)
            unseen = process.epoch in self.world.ends_unseen(process.experiment_name)
            here = (process.experiment, process.epoch, process.rank, process.attempt)
            again = place == here and other is not process
            if other.left and again and not unseen:
                self._violate(f"rank {process.rank} has finished and runs again: {process.name}")

    def serves(self, coordinator: Process) -> None:
        """No running process of another gang has this coordinator's address."""
        for other in self.world.kubelet.processes.values():
            if other.running and other.coordinator_host == coordinator.host:
                self.arrives(other, coordinator)

    def arrives(self, process: Process, coordinator: Process) -> None:
        """A member reaches the coordinator of its own epoch only."""
        if (process.experiment, process.epoch) != (coordinator.experiment, coordinator.epoch):
            self._violate(f"{process.name} of epoch {process.epoch} reaches the coordinator {coordinator.name}")

    # Changes of objects, by anybody

    def changed(self, change: Change) -> None:
        """An object was changed."""
        if change.resource == self.world.operator.subject.plural:
            self._own_status_changes(change)
        change = self.world.changes[-1]
        if change.resource == "experiments" and change.kind == "MODIFIED" and change.before is not None:
            self._status(change, change.before.get("status"), change.after.get("status"))

    def _status(self, change: Change, before: Object | None, after: Object | None) -> None:
        if not after or before == after:
            return
        uid = change.after["metadata"]["uid"]
        for line in after.get("story", ()):
            key = (uid, line.get("epoch", 0), line["reason"], line.get("message", ""))
            self.story_lines.setdefault(key, change.version)
        if any((each["type"], each["status"]) == ("Stuck", "True") for each in after.get("conditions", ())):
            self.stuck.add(uid)
        if not before:
            return
        if after["epoch"] not in (before["epoch"], before["epoch"] + 1):
            self._violate(f"epoch {before['epoch']} is followed by epoch {after['epoch']}")
        charges = [after[account] - before[account] for account in ("restarts", "disruptions")]
        # The failure policy of a JobSet charges disruptions, too.
        ended = max(charges) if self.world.operator.jobs else sum(charges)
        began = after["epoch"] - before["epoch"] + len(begun(before, after))
        if ended > began:
            self._violate("a restart is counted without a new epoch or attempt")
        if before["phase"] in OVER and after["phase"] != before["phase"]:
            self._violate(f"{before['phase']} is final, but {after['phase']} follows")
        self._says_what_is_true(uid, after)

    def _own_status_changes(self, change: Change) -> None:
        """A status write changes something that its readers see: the record, or the own status of another kind."""
        before, after = ((obj or {}).get("status") for obj in (change.before, change.after))
        if not before or not after or before == after:
            return
        known = self.world.records
        shown = [known.object("", {"spec": {}, "status": each})["status"] for each in (before, after)] if known else []
        records = shown or [before, after]
        own = [without_record(each) for each in (before, after)] if known else [{}, {}]
        if own[0] == own[1] and _without_update_time(records[0]) == _without_update_time(records[1]):
            self._violate(f"a status write changes nothing (resourceVersion {change.version})")

    def _says_what_is_true(self, uid: str, status: Object) -> None:
        """What a status says of the roll is true of its own epoch."""
        if not self.world.operator.probed:
            return  # the readiness of pods is all that is known there
        gang = self.world.kubelet.gang(uid, status["epoch"])
        if any(each.size == 1 for each in gang):
            return  # a coordinator without other members is not probed
        said = {each["type"] for each in status.get("conditions", ()) if each["status"] == "True"}
        if "CoordinatorReady" in said and not any(each.serving for each in gang):
            self._violate(f"the coordinator of epoch {status['epoch']} is called ready before it serves")
        if "Assembled" in said and not any(len(each.arrived) == each.size for each in gang):
            self._violate(f"epoch {status['epoch']} is called assembled before all ranks have arrived")

    # Writes of the daemon

    def wrote(self, method: str, path: str, body: bytes) -> None:
        """A write of the daemon was carried out."""
        resource = path.split("/")[5]
        if resource == "pods" and method == "POST":
            self._created(msgspec.json.decode(body))
        elif resource == "pods" and method == "DELETE":
            self._deleted(path)
        elif resource == "events":
            self._announced(msgspec.json.decode(body))

    def _created(self, pod: Object) -> None:
        labels = pod["metadata"]["labels"]
        if self.world.queue is not None:
            self.world.queue.created(pod)
        name, uid, epoch = pod["metadata"]["name"], labels[LABEL_UID], int(labels[LABEL_EPOCH])
        status = self._persisted(uid)
        if status is None:
            return  # the Experiment was deleted meanwhile; the garbage collector takes the pod
        if status.get("epoch") != epoch:
            self._violate(f"{name} of epoch {epoch} is created while epoch {status.get('epoch')} is persisted")
        if status.get("phase") in (*OVER, "Suspended"):
            self._violate(f"{name} is created for an experiment that is {status['phase']}")
        self._finds_its_volumes(pod)
        rank, attempt = int(labels[LABEL_RANK]), int(labels[LABEL_ATTEMPT])
        if attempt != (known := attempts_of(status).get(rank, 0)) and status.get("epoch") == epoch:
            self._violate(f"{name} of attempt {attempt} is created while attempt {known} is persisted")
        if missed := {each["name"] for each in status.get("nodeFailures", ()) if each["avoided"]} - kept_off(pod):
            self._violate(f"{name} may run on {', '.join(sorted(missed))}, which is to be avoided")
        self._starts_in_order(name, uid, epoch, rank)
        self._starts_after_its_gates(name, uid, epoch, labels[LABEL_GROUP])
        if self.world.operator.cluster:
            self._starts_in_its_cluster(name, uid, epoch, rank)
        for other in self._pods(uid):
            theirs = other["metadata"]["labels"]
            same = theirs[LABEL_RANK] == str(rank) and theirs[LABEL_ATTEMPT] != str(attempt)
            stands = int(theirs[LABEL_EPOCH]) != epoch or same
            if stands and _phase(other) not in OVER and not self._lands_now(other):
                self._violate(f"{name} is created beside {other['metadata']['name']}, which may still run")

    def _lands_now(self, pod: Object) -> bool:
        """A create of a dead leader was carried out so late, and such a moment ago, that no watch has shown the pod."""
        metadata = pod["metadata"]
        path = core(metadata["namespace"], "pods", metadata["name"])
        age = self.world.clock() - self.world.kubelet.processes[metadata["uid"]].created_at
        return path in self.world.created_late and age <= UNSEEN

    def _finds_its_volumes(self, pod: Object) -> None:
        """The claims that a member mounts exist before its pod."""
        namespace = pod["metadata"]["namespace"]
        claims = [
            each["persistentVolumeClaim"]["claimName"]
            for each in pod["spec"].get("volumes", ())
            if "persistentVolumeClaim" in each
        ]
        for claim in claims:
            if core(namespace, "persistentvolumeclaims", claim) not in self.world.api.objects:
                self._violate(f"{pod['metadata']['name']} is created before its claim {claim}")

    def _starts_in_order(self, name: str, uid: str, epoch: int, rank: int) -> None:
        """With CoordinatorFirst the other members are created after the coordinator of their epoch has served (where
        Muster does not ask it: after it has run)."""
        if self.world.scenario.spec.get("startup", {}).get("order") != "CoordinatorFirst" or rank == 0:
            return
        probed = self.world.operator.probed
        if not any(each.serving if probed else each.ip for each in self.world.kubelet.gang(uid, epoch)):
            self._violate(f"{name} is created before the coordinator of epoch {epoch} serves")

    def _starts_after_its_gates(self, name: str, uid: str, epoch: int, group: str) -> None:
        """A group that waits for the completion of others is created after each of them has ended with exit code 0."""
        types = self.world.scenario.spec.get("types", {})
        awaited = [gate["group"] for gate in types.get(group, {}).get("dependsOn", ()) if gate["status"] == "Complete"]
        gang = self.world.kubelet.gang(uid, epoch)
        for other in awaited:
            done = {p.rank for p in gang if p.group == other and p.stage is Stage.ENDED and p.code == 0}
            if len(done) < types[other]["count"]:
                self._violate(f"{name} is created before group {other} of epoch {epoch} is complete")

    def _starts_in_its_cluster(self, name: str, uid: str, epoch: int, rank: int) -> None:
        """Workers are created when their head serves, and the submitter when all of them have joined it."""
        heads = [each for each in self.world.kubelet.gang(uid, epoch) if each.rank == 0]
        if rank and not any(head.serving for head in heads):
            self._violate(f"{name} is created before the head of epoch {epoch} serves")
        nodes = set(range(self.world.plan.size - 1))
        if rank == self.world.plan.size - 1 and not any(nodes <= set(head.arrived) for head in heads):
            self._violate(f"{name} is created before all nodes of epoch {epoch} have joined")

    def _deleted(self, path: str) -> None:
        """Pods are deleted only after the end of their epoch was persisted, and only pods that the daemon has made."""
        if (pod := self.world.api.objects.get(path)) and forged(pod):
            self._violate(f"{path} is deleted, which a user has made")
        process = next((p for p in self.world.kubelet.processes.values() if p.path == path), None)
        status = self._persisted(process.experiment) if process else None
        if process and self._leaves(process.experiment):
            return
        older = process and status and process.attempt < attempts_of(status).get(process.rank, 0)
        if process and status and process.epoch == status["epoch"] and older:
            return
        if process and status and process.rank in from_ranges(status.get("ignoredRanks", ""), SIZE):
            return  # it was given up: its Job has succeeded without it
        if process and status and process.epoch == status["epoch"] and status["phase"] not in (*OVER, "Suspended"):
            self._violate(f"{process.name} is deleted before its epoch's end is persisted")

    def _announced(self, event: Object) -> None:
        if self.world.operator.of_run_kind:
            return  # its status has no story
        uid = event["involvedObject"]["uid"]
        if event["involvedObject"]["kind"] == "Pod":
            return  # of a watched gang, whose record is in memory
        if event["reason"] == "Incident":  # of several runs, so it is in the status of none
            if uid not in self.stuck or len(self.stuck) < GROUPED:
                self._violate(f"an incident explains a run that is not one of {GROUPED} Stuck ones: {event['message']}")
            return
        said = (event["reason"], event["message"][:200])
        if not any((key[0], key[2], key[3][:200]) == (uid, *said) for key in self.story_lines):
            self._violate(f"the Event {event['reason']} is in no persisted status: {event['message']}")

    # Look-ups

    def _leaves(self, uid: str) -> bool:
        """The Experiment is being deleted, and a finalizer holds it."""
        found = (obj["metadata"] for obj in self.world.experiments())
        return any(each["uid"] == uid and "deletionTimestamp" in each for each in found)

    def _persisted(self, uid: str) -> Object | None:
        for obj in self.world.experiments():
            if obj["metadata"]["uid"] == uid:
                return obj.get("status") or {}
        return None

    def _pods(self, uid: str) -> list[Object]:
        pods = self.world.members()
        processes = self.world.kubelet.processes
        return [pod for pod in pods if processes[pod["metadata"]["uid"]].experiment == uid]  # labels may be altered

    def _violate(self, what: str) -> None:
        self.world.violate(what)


def _phase(pod: Object) -> str:
    return str(pod.get("status", {}).get("phase", "Pending"))


def _without_update_time(status: Object) -> Object:
    return {key: value for key, value in status.items() if key != "updateTime"}
