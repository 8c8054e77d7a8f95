"""An incident: what one subject keeps, at one moment, with what it has gone through."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from muster.api.values.devices import Devices, total
from muster.state.facts.audience import Audience
from muster.state.facts.incidents.belief import OF_NODE, OF_NODES
from muster.state.facts.incidents.grouping import Key
from muster.state.facts.incidents.signs import Run, Sign
from muster.state.facts.incidents.subjects import FOLLOWS, OWNED, remedy

WINDOW = 1200.0
"""Seconds in which the returns of an incident are counted."""
FLAPS = 2
"""Returns within ``WINDOW`` from which it flaps."""


@dataclass(frozen=True, slots=True)
class Incident:
    """Runs that one subject keeps. ``began`` is when the first of them became Stuck, in wall seconds."""

    key: Key
    began: float
    members: tuple[Sign, ...]
    """One of each run, in order, with the ranks of all its signs. None while it is calm and may return."""
    phases: tuple[str, ...] = ()
    """The causes that most of its ranks had, one after another. The last one is that of now."""
    explains: frozenset[Run] = frozenset()
    touched: frozenset[str] = frozenset()
    """The namespaces of all runs that it has had."""
    flaps: int = 0
    """How many times it returned within ``WINDOW``."""
    beside: tuple[str, ...] = ()
    """Other subjects of its kind that keep some of its runs."""

    @property
    def cause(self) -> str:
        """That of most of its ranks."""
        return self.phases[-1] if self.phases else ""

    @property
    def runs(self) -> tuple[Run, ...]:
        """In order."""
        return tuple(sign.run for sign in self.members)

    @property
    def ranks(self) -> int:
        """The members of all runs that the subject keeps."""
        return sum(sign.ranks for sign in self.members)

    @property
    def devices(self) -> Devices:
        """What all runs hold."""
        return total((sign.devices, 1) for sign in self.members)

    def within(self, namespaces: Collection[str]) -> "Incident":
        """The part of it that is in these namespaces."""
        members = tuple(sign for sign in self.members if sign.run.namespace in namespaces)
        return replace(self, members=members, touched=self.touched.intersection(namespaces))

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Those of its runs."""
        return tuple(sorted({run.namespace for run in self.runs}))

    @property
    def alone(self) -> str:
        """The namespace, where all runs that it has had are of one; else empty."""
        return next(iter(self.touched)) if len(self.touched) == 1 else ""

    @property
    def audience(self) -> Audience:
        """The owner of the namespace where all runs are of one and the subject is theirs; else the platform."""
        return Audience.RESEARCHER if self.alone and self.key.kind in OWNED else Audience.PLATFORM

    @property
    def remedy(self) -> str:
        """What to do."""
        return remedy(self.key.kind, self.key.subject)

    @property
    def sentence(self) -> str:
        """``node n7: NodeNotReady, then NodeLost keeps 12 runs of 3 namespaces (40 ranks)``, and whether it flaps."""
        subject = " and ".join((self.key.subject, *self.beside))
        flaps = f", flaps: {self.flaps} times in {WINDOW / 60:.0f} min" if self.flaps >= FLAPS else ""
        return f"{self.key.kind} {subject}: {', then '.join(self.phases)} {self._keeps}{flaps}"

    @property
    def _verb(self) -> str:
        """Runs that fail and are started again are not kept."""
        return "hits" if any(sign.ended for sign in self.members) else "blocks"

    @property
    def _keeps(self) -> str:
        if not self.members:
            return "blocks no run now"
        found = self.namespaces
        scope = f", all of namespace {found[0]}" if len(found) == 1 else f" of {len(found)} namespaces"
        runs = f"{len(self.runs)} run{'' if len(self.runs) == 1 else 's'}"
        return f"{self._verb} {runs}{scope} ({self.ranks} rank{'' if self.ranks == 1 else 's'})"

    def explained_causes(self, run: Run) -> frozenset[str]:
        """The causes that the run has because of the subject: nothing is to be done about the run itself."""
        own = frozenset(sign.cause for sign in self.members if sign.run == run)
        return own | OF_NODE | FOLLOWS if own and self.key.kind in OF_NODES else own
