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
    """Seconds by which it moved the persisted times."""


@dataclass(slots=True)
class Entry:
    """One experiment. ``record`` is what is persisted, as far as this daemon knows."""

    seen: ExperimentRecord
    members: Membership
    plan: Plan | None = None
    problem: str = ""
    """Why there is no plan for the latest spec; empty if there is one."""
    record: Record | None = None
    unreadable: bool = False
    """The object's status cannot be understood, so nothing may be decided."""
    freshness: Freshness = field(default_factory=Freshness)
    unanswered: list[Unanswered] = field(default_factory=list)
    """Our status writes since ``freshness.version`` whose outcome is unknown."""
    refused: int = 0
    """The resourceVersion for which a status write was a conflict last."""
    writing: Unanswered | None = None
    """The status write that is under way."""
    own: Mapping[str, Any] = field(default_factory=dict)
    """Of an object of another kind: its own status as it is persisted, without the record."""
    watched: WatchedRun | None = None
    """Of an object that is only watched over; its record lives here alone."""
    looked: int = 0
    """The resourceVersion of the record for which the coordinator was asked a last time."""
    heard_at: float | None = None
    """When Events about it or its pods were read last, in wall seconds."""
    step: float = 0.0
    """Seconds by which the wall clock was set since the record was persisted."""

    def clock_stepped(self, seconds: float) -> None:
        """The wall clock was set."""
        self.step += seconds
        self.view.clock_stepped(seconds)

    @property
    def pending_at(self) -> float | None:
        """When the first status write was decided that may have been carried out, and is not seen yet.

        Time after it may belong to another bucket than the record says. So it is not counted until that is known, and
        no counter falls.
        """
        pending = self.unanswered if self.writing is None else (*self.unanswered, self.writing)
        return min((each.after.updated_at + self.step - each.moved for each in pending), default=None)

    @property
    def owners(self) -> Owners:
        """Whose it is, by the labels that the installation reads."""
        return self.seen.owners

    @property
    def of_run_kind(self) -> bool:
        """It is of another kind than Experiment, and Muster runs it."""
        return self.seen.kind != KIND and self.watched is None

    @property
    def title(self) -> str:
        """Its name for people."""
        return title(self.seen.kind, self.seen.name)

    @property
    def view(self) -> View:
        """What is seen of the members."""
        return self.members.view
