"""An entry of the index: what the daemon knows of one experiment."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from muster.api.names import KIND
from muster.api.values.owners import Owners
from muster.state.view.membership import Membership
from muster.state.view.view import View
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Record, StoryLine
from muster.state.vocabulary.subject import title
from muster.tracking.freshness import Freshness
from muster.tracking.watched_run import WatchedRun
from muster.watchers.experiments import ExperimentRecord


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
