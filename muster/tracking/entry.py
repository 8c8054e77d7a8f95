"""An entry of the index: what the daemon knows of one experiment, or of one watched run; and the entries by name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import Any, Final

from muster.api.names import KIND
from muster.api.values.owners import Owners
from muster.api.values.secrets import NO_SECRETS, Secrets
from muster.kinds.declaration import Claim, WatchedKind
from muster.kinds.places.attempts import Attempts
from muster.kinds.places.membership import WatchedMembership
from muster.kinds.planning.parts import Part, parts_of
from muster.state.decide.machine import Decision, decide
from muster.state.view.engine_facts import LiveRead
from muster.state.view.membership import Membership
from muster.state.view.view import View
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Phase, Record, StoryLine
from muster.state.vocabulary.subject import title
from muster.watchers.experiments import ExperimentRecord


class Readiness(StrEnum):
    """The step that may follow."""

    WAIT = "wait"
    """A cache is behind our own writes: wait until it has advanced."""
    READ_PODS = "read-pods"
    """The cached pods are older than a record of another kind: read them from the live API first."""
    DECIDE = "decide"


@dataclass(slots=True)
class Freshness:
    """The resourceVersions that the caches of one experiment must have reached before the next decision.

    Watch streams are independent and may be late. Nothing is decided on an experiment or on pods that are older than
    our own last writes to them (read your own writes), nor on pods that are older than a record that another daemon, or
    an earlier run of this one, wrote after it had seen them. Compared with such a record, a running member seems to be
    Pending again, and an ended pod that is kept for its logs seems to run still.
    """

    version: int = 0
    """The version of the known record: our last status write, or the newest that the watch delivered."""
    pods_due: int = 0
    """The version of our newest write to a pod."""
    workloads_due: int = 0
    """The version of our newest write to a Workload."""
    object_version: int = 0
    """The version of a record that this daemon did not write; 0 when the latest record is its own."""

    def ready(self, *, seen: int, pods: int, live_read: LiveRead | None, workloads: int = 0) -> Readiness:
        """Return the step for an Experiment cached at ``seen`` and a pod cache that has reached ``pods``.

        ``workloads`` is the version that the cache of Workloads has reached.
        """
        if seen < self.version or pods < self.pods_due or workloads < self.workloads_due:
            return Readiness.WAIT
        if max(pods, live_read.version if live_read else 0) < self.object_version:
            return Readiness.READ_PODS
        return Readiness.DECIDE

    def wrote(self, pods: int, workloads: int) -> None:
        """Note the resourceVersions with which writes to pods and to a Workload were answered (0: none was written)."""
        self.pods_due, self.workloads_due = max(self.pods_due, pods), max(self.workloads_due, workloads)


LOOKED_AT: Final = 4_096
"""Ranks that are searched for a member without a pod."""


@dataclass(slots=True)
class WatchedRun:
    """One watched object. ``created`` is the wall second of its creation, 0 if it is not known."""

    name: str
    """The name of its kind in the settings."""
    kind: WatchedKind
    created: float = 0.0
    members: WatchedMembership = field(default_factory=WatchedMembership)
    claims: Mapping[str, Claim] = field(default_factory=dict)
    """The claims on pods, by owner key."""
    attempts: Attempts = field(default_factory=Attempts)
    refused: str = ""
    """The problem that the last Event about the object named."""
    alone: Plan | None = None
    """The plan by the object alone, without the object that its controller made."""
    pod: Pod | None = None
    """The pod that the Event about unwatchable labelled pods names."""
    asked_at: float | None = None
    """The wall second at which the API server last accepted the end by a deadline of the run's own."""
    secrets: Secrets = NO_SECRETS
    """The secrets in the spec, while pods are missing."""
    announced: bool = False
    """True once an Event has announced the end by that deadline."""

    def parts(self, plan: Plan, epoch: int) -> tuple[Part, ...]:
        """Return the parts to ask why pods are missing: those of the first member without a pod."""
        tally, ranks = self.members.view.of(epoch), islice(range(plan.size), LOOKED_AT)
        rank = next((each for each in ranks if each not in tally.members and each not in tally.collected), 0)
        return parts_of(self.kind, plan, self.claims, rank)


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A status write whose outcome is unknown; ``version`` is the resourceVersion it was based on."""

    version: int
    before: Record | None
    after: Record
    story: tuple[StoryLine, ...]
    moved: float = 0.0
    """Seconds by which the write moved the persisted times."""


@dataclass(slots=True)
class Entry:
    """One experiment. ``record`` is what is persisted, as far as this daemon knows."""

    seen: ExperimentRecord
    members: Membership
    plan: Plan | None = None
    problem: str = ""
    """The reason why the latest spec has no plan; empty if it has one."""
    record: Record | None = None
    unreadable: bool = False
    """True if the object's status cannot be understood, so that nothing may be decided."""
    freshness: Freshness = field(default_factory=Freshness)
    unanswered: list[Unanswered] = field(default_factory=list)
    """Our status writes since ``freshness.version`` whose outcome is unknown."""
    refused: int = 0
    """The resourceVersion of the last status write that was a conflict."""
    writing: Unanswered | None = None
    """The status write that is in progress."""
    own: Mapping[str, Any] = field(default_factory=dict)
    """The persisted own status of an object of another kind, without the record."""
    watched: WatchedRun | None = None
    """The facts of an object that is only watched; its record is kept here alone."""
    looked: int = 0
    """The resourceVersion of the record for which the coordinator was asked a last time."""
    heard_at: float | None = None
    """The wall second at which Events about it or its pods were read last."""
    step: float = 0.0
    """Seconds by which the wall clock was set since the record was persisted."""

    def clock_stepped(self, seconds: float) -> None:
        """Move the times by a step of the wall clock."""
        self.step += seconds
        self.view.clock_stepped(seconds)

    @property
    def pending_at(self) -> float | None:
        """The time of the first decided status write that may have been applied, and is not seen yet.

        Later time may belong to another bucket than the record's. So it is not counted until that is known, and no
        counter falls.
        """
        pending = self.unanswered if self.writing is None else (*self.unanswered, self.writing)
        return min((each.after.updated_at + self.step - each.moved for each in pending), default=None)

    @property
    def owners(self) -> Owners:
        """The owners, by the labels that the installation reads."""
        return self.seen.owners

    @property
    def of_run_kind(self) -> bool:
        """True for an object of another kind than Experiment that Muster runs."""
        return self.seen.kind != KIND and self.watched is None

    @property
    def title(self) -> str:
        """The name for people."""
        return title(self.seen.kind, self.seen.name)

    @property
    def view(self) -> View:
        """The view of the members."""
        return self.members.view


MOST_TURNS: Final = 16
"""Most decisions in a row at one moment; each moves a run by at most one phase."""


def keep(entry: Entry, decision: Decision, now: float) -> None:
    """Take over the record of a decision, in place of a status that nobody writes."""
    entry.record = decision.record
    if decision.record.phase is Phase.SUSPENDED:
        entry.view.forget_coordinator()
    entry.step -= decision.moved
    if decision.paid:
        entry.view.writes.spend(now)


def settle(entry: Entry, now: float) -> Decision:
    """Decide until nothing more follows at this moment. The entry has a plan, and a record afterwards."""
    assert entry.plan is not None
    for _ in range(MOST_TURNS):
        before, decision = entry.record, decide(entry.plan, entry.record, entry.view, now, step=entry.step)
        if decision.write or before is None:
            keep(entry, decision, now)
        if (decision.wake_at is None or decision.wake_at > now) and not decision.write:
            break
    return decision


_Name = tuple[str, str, str]
"""Namespace, name and kind."""


class Entries(dict[str, Entry]):
    """Entries by uid, and by namespace, name and kind. They are added by assignment and removed by ``pop``.

    A post names its run, which is found among 10,000 without a walk.
    """

    def __init__(self) -> None:
        super().__init__()
        self._uids: dict[_Name, str] = {}

    def __setitem__(self, uid: str, entry: Entry) -> None:
        super().__setitem__(uid, entry)
        self._uids[_name(entry)] = uid

    def discard(self, uid: str) -> None:
        """Remove the entry of that uid, if there is one."""
        entry = self.pop(uid, None)
        if entry is not None and self._uids.get(_name(entry)) == uid:
            del self._uids[_name(entry)]

    def named(self, namespace: str, name: str, kind: str) -> Entry | None:
        """Return the entry of the object of that kind and name; of several, the one that was added last."""
        wanted = namespace, name, kind
        entry = self.get(self._uids.get(wanted, ""))
        return entry if entry is not None and _name(entry) == wanted else None


def _name(entry: Entry) -> _Name:
    return entry.seen.namespace, entry.seen.name, entry.seen.kind
