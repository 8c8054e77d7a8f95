"""An incident: the runs that one subject keeps at one moment, and its past."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from muster.api.values.accelerators import Devices, total
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
    """One sign of each run, in order, with the ranks of all its signs. Empty while it is calm and may return."""
    phases: tuple[str, ...] = ()
    """The causes that most of its ranks had, one after another. The last one is the present cause."""
    explains: frozenset[Run] = frozenset()
    touched: frozenset[str] = frozenset()
    """The namespaces of all runs that it has had."""
    flaps: int = 0
    """The number of its returns within ``WINDOW``."""
    beside: tuple[str, ...] = ()
    """Other subjects of its kind that keep some of its runs."""

    @property
    def cause(self) -> str:
        """Return the present cause of most of its ranks."""
        return self.phases[-1] if self.phases else ""

    @property
    def runs(self) -> tuple[Run, ...]:
        """Return the runs in order."""
        return tuple(sign.run for sign in self.members)

    @property
    def ranks(self) -> int:
        """Return the number of members that the subject keeps, of all runs."""
        return sum(sign.ranks for sign in self.members)

    @property
    def devices(self) -> Devices:
        """Return the devices that all runs hold."""
        return total((sign.devices, 1) for sign in self.members)

    def within(self, namespaces: Collection[str]) -> "Incident":
        """Return the part of the incident in these namespaces."""
        members = tuple(sign for sign in self.members if sign.run.namespace in namespaces)
        return replace(self, members=members, touched=self.touched.intersection(namespaces))

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Return the namespaces of its runs, in order."""
        return tuple(sorted({run.namespace for run in self.runs}))

    @property
    def alone(self) -> str:
        """Return the namespace if all its past and present runs are of one; else empty."""
        return next(iter(self.touched)) if len(self.touched) == 1 else ""

    @property
    def audience(self) -> Audience:
        """Return the owner if all runs are of one namespace and the subject is its owner's; else the platform."""
        return Audience.RESEARCHER if self.alone and self.key.kind in OWNED else Audience.PLATFORM

    @property
    def remedy(self) -> str:
        """Return the remedy for its subject."""
        return remedy(self.key.kind, self.key.subject)

    def explained_causes(self, run: Run) -> frozenset[str]:
        """Return the causes that the run has because of the subject: the run itself needs no action."""
        own = frozenset(sign.cause for sign in self.members if sign.run == run)
        return own | OF_NODE | FOLLOWS if own and self.key.kind in OF_NODES else own
