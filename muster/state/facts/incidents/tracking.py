"""Incidents over time: when one begins and ends, and which runs it explains.

One begins when ``RUNS`` runs have shared cause and subject for ``BEGINS`` seconds, and ends when fewer than ``STAYS``
have for ``ENDS`` seconds, so that a run that comes and goes does not make two of it.

**Whom it explains.** The alerts of a run that is explained are kept back, so a tenant must not be able to hide the run
of another one behind runs of its own. A run counts as explained if the incident would still be one without any single
*other* namespace (ADR 67). Runs of one namespace explain each other. An incident that is not shown explains nothing:
``MOST`` are shown, those of several namespaces first, and at most ``MOST_OF_ONE`` of a single namespace.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from muster.api.values.devices import Devices, total
from muster.state.facts.audience import Audience
from muster.state.facts.incidents.grouping import RUNS, Groups, Key, assigned, groups
from muster.state.facts.incidents.places import Places
from muster.state.facts.incidents.signs import Run, Sign
from muster.state.facts.incidents.subjects import NODES, OWNED, remedy

BEGINS: Final = 10.0
ENDS: Final = 60.0
STAYS: Final = 2
MOST: Final = 32
"""Incidents that are shown."""
MOST_OF_ONE: Final = 4
"""Incidents of one namespace alone that are shown."""


@dataclass(frozen=True, slots=True)
class Incident:
    """Runs that one subject keeps. ``began`` is when the first of them became Stuck, in wall seconds."""

    key: Key
    began: float
    members: tuple[Sign, ...]
    """One of each run, in order."""
    explains: frozenset[Run] = frozenset()

    @property
    def runs(self) -> tuple[Run, ...]:
        """In order."""
        return tuple(sign.run for sign in self.members)

    @property
    def ranks(self) -> int:
        """The members of all runs that have the cause."""
        return sum(sign.ranks for sign in self.members)

    @property
    def devices(self) -> Devices:
        """What all runs hold."""
        return total((sign.devices, 1) for sign in self.members)

    def within(self, namespaces: Collection[str]) -> "Incident":
        """The part of it that is in these namespaces."""
        return replace(self, members=tuple(sign for sign in self.members if sign.run.namespace in namespaces))

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Those of its runs."""
        return tuple(sorted({run.namespace for run in self.runs}))

    @property
    def alone(self) -> str:
        """The namespace, where all runs are of one; else empty."""
        found = self.namespaces
        return found[0] if len(found) == 1 else ""

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
        """``node n7: NodeNotReady keeps 12 runs (40 ranks)``."""
        scope = f", all of namespace {self.alone}" if self.alone else f" of {len(self.namespaces)} namespaces"
        runs = f"{len(self.runs)} run{'' if len(self.runs) == 1 else 's'}"
        ranks = f"{self.ranks} rank{'' if self.ranks == 1 else 's'}"
        return f"{self.key.kind} {self.key.subject}: {self.key.cause} keeps {runs}{scope} ({ranks})"


@dataclass(frozen=True, slots=True)
class _Known:
    """``seen`` is when it was first a group, ``short`` since when it has too few runs."""

    seen: float
    began: float = 0.0
    active: bool = False
    short: float | None = None
    runs: frozenset[Run] = frozenset()
    explained: frozenset[Run] = frozenset()


@dataclass(frozen=True, slots=True)
class Tracking:
    """What is known at one moment. ``shown`` are the incidents, the largest first; ``hidden`` counts the others."""

    shown: tuple[Incident, ...] = ()
    hidden: int = 0
    looked: bool = False
    """There was a look; without one, that nothing is shown says nothing."""
    known: Mapping[Key, _Known] = field(default_factory=dict)

    def explaining(self, run: Run) -> Incident | None:
        """The incident that explains that run."""
        return next((each for each in self.shown if run in each.explains), None)


def follow(before: Tracking, signs: Iterable[Sign], now: float, places: Places | None = None) -> Tracking:
    """The incidents at ``now``, from the signs of all runs at that moment; ``places`` are those of nodes."""
    found = _renamed(groups(signs, Places() if places is None else places), before.known)
    active = {key for key, each in before.known.items() if each.active}
    chosen = assigned(found, active)
    known: dict[Key, _Known] = {}
    incidents = []
    for key in chosen.keys() | active:
        runs = chosen.get(key, {})
        each = _aged(before.known.get(key) or _Known(now), runs, now)
        if each is None:
            continue
        if each.active and runs:
            incident = _incident(key, each, runs)
            each = replace(each, explained=incident.explains)
            incidents.append(incident)
        known[key] = each
    shown = tuple(_most_urgent(incidents))
    return Tracking(shown, len(incidents) - len(shown), looked=True, known=known)


def _renamed(found: Groups, known: Mapping[Key, _Known]) -> Groups:
    """Nodes that failed together keep their name while some of their runs are the same."""
    named: Groups = {}
    order: dict[Key, int] = {}
    of_run: dict[tuple[str, Run], Key] = {}
    for old, each in known.items():
        if old.kind == NODES:
            order[old] = len(order)
            for run in each.runs:
                of_run.setdefault((old.cause, run), old)
    for key, runs in found.items():
        if key.kind == NODES and key not in known:
            same = {of_run[key.cause, run] for run in runs if (key.cause, run) in of_run}
            key = min(same, key=order.__getitem__, default=key)
        named.setdefault(key, {}).update(runs)
    return named


def _aged(each: _Known, runs: Mapping[Run, Sign], now: float) -> _Known | None:
    each = replace(each, runs=frozenset(runs))
    if not each.active:
        if len(runs) < RUNS:
            return None
        if now - each.seen < BEGINS:
            return each
        began = min(sign.since for sign in runs.values())
        return replace(each, active=True, began=began)
    if len(runs) >= STAYS:
        return replace(each, short=None)
    short = now if each.short is None else each.short
    return replace(each, short=short) if now - short < ENDS else None


def _incident(key: Key, each: _Known, runs: Mapping[Run, Sign]) -> Incident:
    without = _without_another(Counter(run.namespace for run in runs))
    return Incident(
        key,
        each.began,
        tuple(runs[run] for run in sorted(runs)),
        frozenset(run for run in runs if without[run.namespace] >= (STAYS if run in each.explained else RUNS)),
    )


def _without_another(counts: Counter[str]) -> dict[str, int]:
    """By namespace, the runs that are left without whichever other one has most: the incident would still be one."""
    (largest, most), (_, second) = (*counts.most_common(2), ("", 0))[:2]
    return {namespace: counts.total() - (second if namespace == largest else most) for namespace in counts}


def _most_urgent(incidents: list[Incident]) -> Iterable[Incident]:
    def order(each: tuple[str, Incident]) -> tuple[bool, int, int, Key]:
        alone, incident = each
        return bool(alone), -sum(number for _, number in incident.devices), -len(incident.members), incident.key

    of_one: Counter[str] = Counter()
    number = 0
    for alone, incident in sorted(((each.alone, each) for each in incidents), key=order):
        of_one[alone] += bool(alone)
        if number < MOST and of_one[alone] <= MOST_OF_ONE:
            number += 1
            yield incident
