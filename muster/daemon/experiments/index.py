"""The index: every experiment the daemon knows, with its plan, its record and its view.

The watch stores report each change here. A change of a tracked field requeues the owning experiment. Pods may be seen
before the Experiment that owns them (the streams are independent), so views are keyed by namespace and owner's uid, and
wait for their Experiment. An owner reference holds within one namespace only: a pod of another namespace that names the
uid of an Experiment has a view of its own, which no decision reads.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

import structlog
from msgspec import structs

from muster.api.names import KIND
from muster.api.values.retention import NONE, Retention
from muster.daemon.experiments.reading import Reading, read
from muster.state.view.membership import Membership
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Record
from muster.state.vocabulary.workload import Workload
from muster.tracking.entry import Entries, Entry
from muster.watchers.experiments import ExperimentRecord, stripped
from muster.watchers.metadata import ServiceRecord

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Cached:
    """The cached state of one experiment. ``known``: its object exists."""

    known: bool
    pods: Iterable[Pod]
    services: Iterable[ServiceRecord]
    workloads: Iterable[Workload]


Key = tuple[str, str]
"""Namespace and uid of an owner."""

MICROSECOND = 1e-6
"""Seconds. The resolution of times in a status: two times that differ by less are the same."""


@dataclass(slots=True)
class ExperimentIndex:
    """All entries by uid. ``wanted`` is called with the uid of every experiment whose tracked fields changed.

    ``gone`` is called with the uid of an experiment that is gone, while its entry still exists.
    """

    wanted: Callable[[str], None]
    gone: Callable[[str], None]
    entries: Entries = field(default_factory=Entries)
    elsewhere: Entries = field(default_factory=Entries)
    """Experiments of another manager (``spec.managedBy``), by uid: they are shown only."""
    members: defaultdict[Key, Membership] = field(default_factory=lambda: defaultdict(Membership))
    """The members of every owner of pods and Services, whether its Experiment is known or not."""
    pods: int = 0
    retention: Retention = NONE
    """The retention of finished Experiments whose spec sets none."""
    _admissions: dict[Key, Workload] = field(default_factory=dict)
    """The Workloads that Kueue made, by owner, whether the owner is known or not."""

    def experiment_changed(self, old: ExperimentRecord | None, new: ExperimentRecord | None) -> None:
        """Take in a new, changed or deleted experiment."""
        self._show(old, new)
        new = new if new is not None and new.ours else None
        if new is None:
            if old is not None and old.ours:
                self._forget(old)
            return
        if old is not None and old.namespace != new.namespace:
            self._forget(old)
        entry = self.entries.get(new.uid)
        if entry is not None and entry.watched is not None:  # handed over to Muster, and its other watch lags
            self.gone(new.uid)
            entry = None
        if entry is None:
            members = self.members[new.namespace, new.uid]
            members.view.engine.service = False
            entry = self.entries[new.uid] = Entry(seen=new, members=members)
        entry.seen = stripped(new)
        if new.resource_version != entry.freshness.version or entry.plan is None:
            self._take(entry, self._read(new, entry.plan))
        self.wanted(new.uid)

    def _show(self, old: ExperimentRecord | None, new: ExperimentRecord | None) -> None:
        """Keep what is shown of an Experiment that another manager runs."""
        if new is not None and new.managed_by:
            reading = read(new)
            shown = Entry(stripped(new), Membership(), reading.plan, reading.problem, reading.record)
            shown.unreadable = reading.unreadable
            self.elsewhere[new.uid] = shown
            self.wanted(new.uid)  # for the page; its step finds nothing to do
        elif either := new or old:
            self.elsewhere.discard(either.uid)

    def pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        """Take in a new, changed or deleted pod. Pods that no Experiment controls are ignored."""
        self.pods += (new is not None) - (old is not None)
        if old is not None and new is not None and (old.owner, old.namespace) != (new.owner, new.namespace):
            self._pod(old, old, None)
            self._pod(new, None, new)
        elif either := new or old:
            self._pod(either, old, new)

    def service_changed(self, old: ServiceRecord | None, new: ServiceRecord | None) -> None:
        """Take in a headless Service. One that changes its owner, namespace or name is gone for the old owner."""
        if old is not None and (new is None or _names(new) != _names(old)):
            self._service(old, there=False)
        if new is not None:
            self._service(new, there=True)

    def workload_changed(self, old: Workload | None, new: Workload | None) -> None:
        """Take in a Workload. One that changes its owner is gone for the first one."""
        if old is not None and (new is None or _holder(new) != _holder(old)):
            self._workload(old, there=False)
        if new is not None:
            self._workload(new, there=True)

    def admission_of(self, entry: Entry) -> Workload | None:
        """Return the Workload that Kueue has made for an object of its own kinds."""
        return self._admissions.get((entry.seen.namespace, entry.seen.uid))

    def orphans(self, uid: str) -> list[Workload]:
        """Return the Workloads of a gone Experiment without running pods whose deletion waits for Muster."""
        idle = (members.view for members in self._left_by(uid) if not members.working)
        return [each for view in idle for each in view.workloads.values() if each.deleting and each.held]

    def vanished(self, uid: str) -> list[Pod]:
        """Return the vanished pods of an Experiment that is gone but still has a Workload."""
        waiting = (members.view for members in self._left_by(uid) if members.view.workloads)
        return [pod for view in waiting for pod in view.engine.vanished.values()]

    def _left_by(self, uid: str) -> list[Membership]:
        """Return what an Experiment has left; nothing while it exists."""
        return [] if uid in self.entries else [each for (_, owner), each in self.members.items() if owner == uid]

    def ended(self, uid: str, pods: list[Pod]) -> None:
        """Note that these pods of a gone Experiment have ended, according to the live API."""
        for (_, owner), members in self.members.items():
            if owner == uid:
                members.view.engine.found(pods, ())

    def orphaned(self) -> set[str]:
        """Return the uids of Experiments that are gone and have Workloads."""
        return {owner for (_, owner), each in self.members.items() if owner not in self.entries and each.view.workloads}

    def rebuild(self, uid: str, unread: ExperimentRecord | None, cached: Cached) -> None:
        """Rebuild everything of that owner from the caches, after an exception in one of the methods above.

        ``unread`` is the Experiment if it could not be read.
        """
        for key in [key for key in self.members if key[1] == uid]:
            del self.members[key]
        entry = self.entries.get(uid)
        if entry is not None and not cached.known:
            self._forget(entry.seen)
        elif entry is not None:
            entry.members = self.members[entry.seen.namespace, uid]
            if entry.plan is not None:
                entry.members.follow(entry.plan)
        if unread is not None and cached.known:
            self.experiment_changed(None, unread)
        for service in cached.services:
            self._service(service, there=True)
        for workload in cached.workloads:
            self._workload(workload, there=True)
        for pod in cached.pods:
            self._pod(pod, None, pod)

    def experiments_went_back(self, version: int, kind: str = KIND) -> None:
        """Prepare for a list of that kind that is older than the cache, because a backup of etcd was restored.

        resourceVersions start again from an earlier number, and may be given to other states. So nothing is compared
        with a number from before: the list replaces what is known here, our own last writes too. If the versions were
        moved ahead, nothing is decided before the pod cache has reached ``version``, that of the list; 0 means that it
        need not wait.
        """
        log.warning("resourceVersions went back, as after the restoration of a backup", kind=kind)
        for entry in (each for each in self if each.seen.kind == kind and each.watched is None):
            entry.plan = None
            entry.freshness.version = 0
            entry.unanswered.clear()
            self._pods_went_back(entry)
            entry.freshness.pods_due = version

    def undone(self, seen: ExperimentRecord, version: int) -> bool:
        """Return True if an object in a list of that ``version`` lacks a status that we wrote before the list."""
        entry = self.entries.get(seen.uid)
        return entry is not None and seen.resource_version < entry.freshness.version <= version

    def pods_went_back(self, _version: int) -> None:
        """Drop what was read of pods: writes to them may be undone, and the live API answered for the time before."""
        log.warning("resourceVersions went back, as after the restoration of a backup", kind="Pod")
        for entry in self:
            self._pods_went_back(entry)
            self.wanted(entry.seen.uid)

    @staticmethod
    def _pods_went_back(entry: Entry) -> None:
        entry.freshness.pods_due = entry.freshness.object_version = 0
        entry.view.engine.reset()
        entry.view.engine.deleting.clear()

    def foreign_pods(self) -> Counter[str]:
        """Count the pods that name a known Experiment as their owner but are not its members, by the reason.

        ``altered`` counts former members that may run, and that no watch shows as members any longer.
        """
        found: Counter[str] = Counter({"namespace": 0, "identity": 0, "altered": 0})
        for (namespace, uid), members in self.members.items():
            entry = self.entries.get(uid)
            if entry is not None and entry.seen.namespace == namespace:
                altered = members.view.engine.altered
                found["identity"] += members.foreign - len(altered.keys() & members.others.keys())
                found["altered"] += len(altered)
            elif entry is not None:
                found["namespace"] += len(members.others)
        return found

    def get(self, uid: str) -> Entry | None:
        """Return the entry of that experiment, if it still exists."""
        return self.entries.get(uid)

    def named(self, namespace: str, name: str, kind: str = KIND) -> Entry | None:
        """Return the entry of the object of that kind and name."""
        return self.entries.named(namespace, name, kind) or self.elsewhere.named(namespace, name, kind)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries.values())

    def _read(self, new: ExperimentRecord, known: Plan | None) -> Reading:
        """Read an object. The new plan of an Experiment gets the retention of the installation."""
        reading = read(new, known)
        plan, stays = reading.plan, self.retention.of(new.namespace)
        if plan is None or new.kind != KIND or plan.lifecycle.retention == stays:
            return reading
        return replace(reading, plan=replace(plan, lifecycle=replace(plan.lifecycle, retention=stays)))

    def _take(self, entry: Entry, reading: Reading) -> None:
        """Take over the object, except a status that is older than our own last write."""
        first = entry.plan is None
        if reading.plan is not None or reading.unreadable:
            entry.plan = reading.plan  # None for an unreadable status: a decision without its record would start over
        elif entry.plan is not None:
            entry.plan = replace(entry.plan, edits=replace(entry.plan.edits, problem=reading.problem))
        if entry.plan is not None:
            entry.members.follow(entry.plan)
            if (
                first and entry.plan.domain in entry.members.services
            ):  # later the watch, or the answer to the create, sets this
                entry.view.engine.service = True
        entry.problem, entry.unreadable = reading.problem, reading.unreadable
        if entry.seen.resource_version > entry.freshness.version:
            if _written(entry.record, reading.record):
                entry.freshness.object_version = entry.seen.resource_version
            entry.record, entry.freshness.version = _with_story(entry, reading.record), entry.seen.resource_version
            entry.own = reading.own

    def _pod(self, pod: Pod, old: Pod | None, new: Pod | None) -> None:
        """Replace the record of a pod; ``pod`` is the old or the new record, and names the owner."""
        if not pod.owner:
            return
        key = (pod.namespace, pod.owner)
        members = self.members[key]
        if members.change(old, new) or (members.view.workloads and self._owner(key) is None):
            self._touched(key)
        elif members.empty:
            self._drop(key)

    def _service(self, service: ServiceRecord, *, there: bool) -> None:
        if not service.owner:
            return
        key = (service.namespace, service.owner)
        members = self.members[key]
        members.services = members.services | {service.name} if there else members.services - {service.name}
        entry = self._owner(key)
        if entry is not None and service.name == (entry.plan.domain if entry.plan else entry.seen.name):
            entry.view.engine.service = there
            if not there:  # a deletion may come before garbage collection: confirm before the Service is created again
                entry.view.engine.confirmed = -1
        self._touched(key)

    def _workload(self, workload: Workload, *, there: bool) -> None:
        if not workload.owner:
            return
        key = (workload.namespace, workload.owner)
        if not workload.ours:
            self._admission(key, workload, there=there)
            return
        members = self.members[key]
        if there:
            members.view.workloads[workload.uid] = workload
        else:
            members.view.workloads.pop(workload.uid, None)
        self._touched(key)

    def _admission(self, key: Key, workload: Workload, *, there: bool) -> None:
        known = self._admissions.get(key)
        if there:
            self._admissions[key] = workload
        elif known is not None and known.uid == workload.uid:
            del self._admissions[key]
        if self._owner(key) is not None:
            self.wanted(key[1])

    def _touched(self, key: Key) -> None:
        """Requeue the owning experiment; without one, drop the view if it has no pod.

        A gone Experiment is requeued, too, if one of its Workloads waits for Muster.
        """
        if self._owner(key) is not None:
            self.wanted(key[1])
            return
        self._drop(key)
        if key in self.members and (self.orphans(key[1]) or self.vanished(key[1])):
            self.wanted(key[1])

    def _owner(self, key: Key) -> Entry | None:
        """Return the entry of the Experiment of that uid, if it is in that namespace."""
        entry = self.entries.get(key[1])
        return entry if entry is not None and entry.seen.namespace == key[0] else None

    def _drop(self, key: Key) -> None:
        if self._owner(key) is None and (members := self.members.get(key)) and members.empty:
            del self.members[key]

    def _forget(self, gone: ExperimentRecord) -> None:
        self.gone(gone.uid)
        self.entries.discard(gone.uid)
        self._drop((gone.namespace, gone.uid))
        if self.orphans(gone.uid):
            self.wanted(gone.uid)


def _with_story(entry: Entry, record: Record | None) -> Record | None:
    """Return the record that was read. An object of another kind stores no story: it keeps the known lines."""
    if not entry.of_run_kind or record is None or entry.record is None:
        return record
    return structs.replace(record, story=entry.record.story)


def _holder(workload: Workload) -> tuple[str, str, bool]:
    return workload.owner, workload.namespace, workload.ours


def _names(service: ServiceRecord) -> tuple[str, str, str]:
    return service.owner, service.namespace, service.name


def _written(before: Record | None, after: Record | None) -> bool:
    """Return True if a status was written between two records, whose times are exact to the microsecond."""
    return after is not None and (before is None or abs(after.updated_at - before.updated_at) >= MICROSECOND)
