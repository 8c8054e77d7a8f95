"""The index: every experiment the daemon knows, with its plan, its record and its view.

The watch stores report each change here. A change of a tracked field requeues the owning experiment. Pods may be seen
before the Experiment that owns them (the streams are independent), so views are keyed by the owner's uid and wait for
their Experiment.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from muster.api.errors import MusterError
from muster.api.manifest.experiment import parse_experiment
from muster.daemon.freshness import Freshness
from muster.state.operators.planning import plan_of
from muster.state.plan import Plan
from muster.state.pod import Pod
from muster.state.record import Record, StoryLine
from muster.state.status import from_status
from muster.state.view.view import View
from muster.watchers.experiments import ExperimentRecord
from muster.watchers.services import ServiceRecord

MICROSECOND = 1e-6
"""Seconds. The resolution of times in a status: two times that differ by less are the same."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The plan and the record of an Experiment. Without a plan, ``problem`` says why, in words for its author."""

    plan: Plan | None
    record: Record | None
    problem: str = ""
    unreadable: bool = False
    """The status, rather than the spec, is the problem: nothing may be decided."""


def read(seen: ExperimentRecord, known: Plan | None = None) -> Reading:
    """Read an Experiment. Never raises: what is wrong with one object stays with it.

    ``known`` is its plan so far, which holds until the API server counts another generation of the spec: most events
    of an Experiment bring a status that we have written ourselves.
    """
    try:
        document = json.loads(seen.raw)
    except (ValueError, RecursionError) as error:
        return Reading(None, None, f"the object is not readable: {error}", unreadable=True)
    status = document.get("status")
    try:
        record = from_status(status) if status is not None else None
    except MusterError as error:
        return Reading(None, None, str(error), unreadable=True)
    if known is not None and (known.generation, known.deleting) == (seen.generation, seen.deleting):
        return Reading(known, record)
    try:
        return Reading(plan_of(parse_experiment(document)), record)
    except MusterError as error:
        return Reading(None, record, str(error))


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A status write whose outcome is unknown; ``version`` is the resourceVersion it was based on."""

    version: int
    before: Record | None
    after: Record
    story: tuple[StoryLine, ...]


@dataclass(slots=True)
class Entry:
    """One experiment. ``record`` is what is persisted, as far as this daemon knows."""

    seen: ExperimentRecord
    view: View
    plan: Plan | None = None
    problem: str = ""
    """Why there is no plan for the latest spec; empty if there is one."""
    record: Record | None = None
    unreadable: bool = False
    """The object's status cannot be understood, so nothing may be decided."""
    freshness: Freshness = field(default_factory=Freshness)
    unanswered: list[Unanswered] = field(default_factory=list)
    """Our status writes since ``freshness.version`` whose outcome is unknown."""


@dataclass(slots=True)
class ExperimentIndex:
    """All entries by uid. ``wanted`` is called with the uid of every experiment of which a tracked field changed."""

    wanted: Callable[[str], None]
    gone: Callable[[str], None]
    entries: dict[str, Entry] = field(default_factory=dict)
    views: dict[str, View] = field(default_factory=dict)
    pods: int = 0

    def experiment_changed(self, old: ExperimentRecord | None, new: ExperimentRecord | None) -> None:
        """An experiment came, changed or went."""
        if new is None:
            if old is not None:
                self._forget(old.uid)
            return
        entry = self.entries.get(new.uid)
        if entry is None:
            entry = self.entries[new.uid] = Entry(seen=new, view=self._view(new.uid))
        entry.seen = new
        if new.resource_version != entry.freshness.version or entry.plan is None:
            self._take(entry, read(new, entry.plan))
        self.wanted(new.uid)

    def pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        """A pod came, changed or went. Pods that no Experiment controls are ignored."""
        self.pods += (new is not None) - (old is not None)
        if old is not None and new is not None and old.owner != new.owner:
            self._pod(old.owner, old, None)
            self._pod(new.owner, None, new)
        elif either := new or old:
            self._pod(either.owner, old, new)

    def service_changed(self, old: ServiceRecord | None, new: ServiceRecord | None) -> None:
        """An experiment's headless Service came or went. One that changes hands is gone for its first owner."""
        if old is not None and (new is None or new.owner != old.owner):
            self._service(old.owner, there=False)
        if new is not None:
            self._service(new.owner, there=True)

    def get(self, uid: str) -> Entry | None:
        """The entry of that experiment, if it still exists."""
        return self.entries.get(uid)

    def named(self, namespace: str, name: str) -> Entry | None:
        """The entry of the experiment of that name."""
        return next((e for e in self if (e.seen.namespace, e.seen.name) == (namespace, name)), None)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries.values())

    def __len__(self) -> int:
        return len(self.entries)

    def _take(self, entry: Entry, reading: Reading) -> None:
        """Take over the object, except a status that is older than our own last write."""
        if reading.plan is not None or reading.unreadable:
            entry.plan = reading.plan  # None for an unreadable status: a decision without its record would start over
        entry.problem, entry.unreadable = reading.problem, reading.unreadable
        if entry.seen.resource_version > entry.freshness.version:
            if _written(entry.record, reading.record):
                entry.freshness.foreign_version = entry.seen.resource_version
            entry.record, entry.freshness.version = reading.record, entry.seen.resource_version

    def _pod(self, owner: str, old: Pod | None, new: Pod | None) -> None:
        if not owner:
            return
        view = self._view(owner)
        if view.change(old, new):
            self._touched(owner, view)

    def _service(self, owner: str, *, there: bool) -> None:
        if not owner:
            return
        view = self._view(owner)
        view.engine.service = there
        if not there:
            view.engine.confirmed = -1  # the garbage collector may follow a deletion: confirm before it is made again
        self._touched(owner, view)

    def _touched(self, owner: str, view: View) -> None:
        """Requeue the owning experiment; drop the view if there is none and the view is empty."""
        if owner in self.entries:
            self.wanted(owner)
        elif not view.epochs and not view.engine.service:
            del self.views[owner]

    def _view(self, uid: str) -> View:
        view = self.views.get(uid)
        if view is None:
            view = self.views[uid] = View()
        return view

    def _forget(self, uid: str) -> None:
        self.entries.pop(uid, None)
        if view := self.views.get(uid):
            view.engine.service = False  # where only our own create was seen, no watch event says that it is gone
            if not view.epochs:
                del self.views[uid]
        self.gone(uid)


def _written(before: Record | None, after: Record | None) -> bool:
    """Whether a status write lies between two records: each holds its time, to the microsecond."""
    return after is not None and (before is None or abs(after.updated_at - before.updated_at) >= MICROSECOND)
