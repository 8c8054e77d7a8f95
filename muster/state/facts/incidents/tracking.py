"""Incidents over time: their beginning and end, their past, and the runs that they explain.

An incident begins when ``RUNS`` runs have shared a subject for ``BEGINS`` seconds, and ends when fewer than ``STAYS``
have for ``ENDS`` seconds, so that a run, or a node, that comes and goes does not make two of it. One that returns
``FLAPS`` times within ``WINDOW`` flaps, and ends after ``WINDOW`` seconds of calm.

**What follows.** A run whose node is lost has no pods after that, or pods that no node fits: with one of ``FOLLOWS`` it
stays in the incident of nodes that it was in, for at most ``REJOINS`` seconds after a node of it was last seen away. An
incident of nodes gives its past to the incident that takes most of its runs, such as that of the node's rack.

A node in trouble keeps the places that it had at the beginning: to move the label of a dead node blames no other rack.

**Explained runs.** The alerts of an explained run are suppressed, so a tenant must not be able to hide the run
of another one behind runs of its own. A run counts as explained if Kubernetes reports its cause of its node, and of
the nodes of two other runs, or if the incident would still be one without any single *other* namespace (ADR 67). Runs
of one namespace explain each other. An incident that is not shown explains nothing: ``MOST`` are shown, those of
several namespaces first, and at most ``MOST_OF_ONE`` of a single namespace.
"""

from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from muster.state.facts.incidents.belief import OF_NODE, OF_NODES
from muster.state.facts.incidents.grouping import RUNS, Groups, Key, Places, assigned, beside, groups
from muster.state.facts.incidents.incident import FLAPS, WINDOW, Incident
from muster.state.facts.incidents.signs import Run, Sign
from muster.state.facts.incidents.subjects import DEVICE, FOLLOWS, NODES

BEGINS: Final = 10.0
ENDS: Final = 300.0
STAYS: Final = 2
REJOINS: Final = 3600.0
MOST: Final = 32
"""Incidents that are shown."""
MOST_OF_ONE: Final = 4
"""Incidents of one namespace alone that are shown."""
MOST_OVER: Final = 1000
"""Past incidents that are remembered."""
MANY: Final = 500
"""Runs of an incident above which it is a step of its own."""
SEVERAL: Final = "SeveralCauses"
"""The cause of a sick node under several runs that each show another cause."""
MOST_PHASES: Final = 4
"""Causes of an incident that are kept, the last ones."""


@dataclass(frozen=True, slots=True)
class _Known:
    """A known incident: it was first a group at ``seen``, has too few runs since ``short``, and ended at ``over``."""

    seen: float
    began: float = 0.0
    active: bool = False
    short: float | None = None
    over: float | None = None
    returns: tuple[float, ...] = ()
    phases: tuple[str, ...] = ()
    runs: frozenset[Run] = frozenset()
    """The runs of the last look that had some."""
    last: Mapping[Run, float] = field(default_factory=dict)
    """The time at which each run last showed the loss of a node itself."""
    explained: frozenset[Run] = frozenset()
    touched: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Tracking:
    """The known incidents at one moment. ``shown`` has them, the largest first; ``hidden`` counts the others."""

    shown: tuple[Incident, ...] = ()
    hidden: int = 0
    looked: bool = False
    """True after a look; before the first one, an empty ``shown`` proves nothing."""
    known: Mapping[Key, _Known] = field(default_factory=dict)
    held: Mapping[str, tuple[Key, ...]] = field(default_factory=dict)
    """The places of each node in trouble, as they were when that began."""

    def explaining(self, run: Run) -> Incident | None:
        """Return the incident that explains that run."""
        return next((each for each in self.shown if run in each.explains), None)


def following(
    before: Tracking, signs: Sequence[Sign], now: float, places: Places, in_use: Collection[tuple[str, str]]
) -> Generator[None, None, Tracking]:
    """Return the incidents at ``now``, from the signs of all runs at that moment.

    It takes steps, so that a loop can do other work: 20,000 stuck runs take a quarter of a second. ``places`` are those
    of nodes. ``in_use`` has kinds and names of subjects that well runs use. If that is a device, the cluster is full,
    and that is no incident. If it is a storage, other runs hang for another reason.
    """
    active = {key for key, each in before.known.items() if each.active}
    meant = list(_at_home(signs, before.known, now, in_use))
    held = {each.subject: before.held.get(each.subject) or places.of(each.subject) for each in signs if each.node}
    yield
    readings = groups(meant, places.holding(held), active)
    yield
    found = _renamed(readings, before.known)
    yield
    chosen = yield from assigned(found, active)
    yield
    past = _inherited(before.known, chosen)
    also = beside(found, chosen)
    yield
    known: dict[Key, _Known] = {}
    incidents = []
    for key in chosen.keys() | past.keys():
        runs = chosen.get(key, {})
        if len(runs) > MANY:
            yield
        each = _aged(past.get(key) or _Known(now), key, runs, now)
        if each is None:
            continue
        if each.active:
            if len(runs) > MANY:
                yield
            incident = _incident(key, each, runs, now, also.get(key, ()))
            each = replace(each, explained=incident.explains)
            incidents.append(incident)
        known[key] = each
    yield
    shown = tuple(_most_urgent(incidents))
    return Tracking(shown, len(incidents) - len(shown), looked=True, known=_bounded(known), held=held)


def _at_home(
    signs: Sequence[Sign], known: Mapping[Key, _Known], now: float, in_use: Collection[tuple[str, str]]
) -> Iterator[Sign]:
    """Yield the signs; those that follow the loss of a node count for the incident that their run was in.

    Such signs do not count while the run still shows that loss itself.
    """
    there = {sign.run for sign in signs if sign.node}
    home = {
        run: key
        for key, each in known.items()
        if each.active and key.kind in OF_NODES
        for run, at in each.last.items()
        if now - at < REJOINS and run not in there
    }
    for sign in signs:
        if sign.cause in FOLLOWS and (sign.run in there or sign.run in home):
            if (key := home.get(sign.run)) is not None:
                yield sign._replace(kind=key.kind, subject=key.subject)
        elif sign.kind and not ((sign.kind == DEVICE or sign.weak) and (sign.kind, sign.subject) in in_use):
            yield sign


def _renamed(found: Groups, known: Mapping[Key, _Known]) -> Groups:
    """Rename groups: nodes that failed together keep their name while some of their runs are the same."""
    named: Groups = {}
    order: dict[Key, int] = {}
    of_run: dict[Run, Key] = {}
    for old, each in known.items():
        if old.kind == NODES:
            order[old] = len(order)
            for run in each.runs:
                of_run.setdefault(run, old)
    for key, runs in found.items():
        if key.kind == NODES and key not in known:
            same = {of_run[run] for run in runs if run in of_run}
            key = min(same, key=order.__getitem__, default=key)
        into = named.setdefault(key, runs)
        if into is not runs:
            for run, some in runs.items():
                into[run] = [*into.get(run, ()), *some]
    return named


def _inherited(known: Mapping[Key, _Known], chosen: Groups) -> dict[Key, _Known]:
    """Return the known incidents; one of nodes that lost most of its runs to another group becomes that group."""
    past = dict(known)
    left = [
        (old, each)
        for old, each in known.items()
        if each.active and old.kind in OF_NODES and len(chosen.get(old, ())) < STAYS
    ]
    place = {run: key for key, runs in chosen.items() if left and key.kind in OF_NODES for run in runs}
    for old, each in left:
        counts = Counter(place[run] for run in each.runs if run in place)
        new, runs = next(iter(counts.most_common(1)), (old, 0))
        if new != old and 2 * runs > len(each.runs):
            del past[old]
            other = past.get(new)
            past[new] = each if other is None or not other.active else _joined(other, each)
    return past


def _joined(one: _Known, other: _Known) -> _Known:
    return replace(
        one,
        began=min(one.began, other.began),
        last={**other.last, **one.last},
        explained=one.explained | other.explained,
        touched=one.touched | other.touched,
    )


def _aged(each: _Known, key: Key, runs: Mapping[Run, list[Sign]], now: float) -> _Known | None:
    if not each.active:
        return _begun(each, key, runs, now)
    if len(runs) < STAYS:
        short = now if each.short is None else each.short
        patience = WINDOW if len(_recent(each, now)) >= FLAPS else ENDS
        over = now - short >= patience
        each = replace(each, short=short, active=not over, over=now if over else None)
        return each if over or not runs else _with_runs(each, key, runs, now)
    back = each.short is not None and now - each.short >= BEGINS
    returns = (*_recent(each, now), now) if back else each.returns
    return _with_runs(replace(each, short=None, returns=returns), key, runs, now)


def _begun(each: _Known, key: Key, runs: Mapping[Run, list[Sign]], now: float) -> _Known | None:
    if len(runs) < RUNS:
        remembered = each.over is not None and now - each.over < WINDOW
        return replace(each, seen=now) if remembered else None
    if now - each.seen < BEGINS:
        return each
    began = min(sign.since for some in runs.values() for sign in some)
    returns = () if each.over is None else (*_recent(each, now), now)
    return _with_runs(replace(each, active=True, began=began, over=None, short=None, returns=returns), key, runs, now)


def _with_runs(each: _Known, key: Key, runs: Mapping[Run, list[Sign]], now: float) -> _Known:
    """Return the incident with the causes that its runs show now."""
    ranks: Counter[str] = Counter()
    for some in runs.values():
        for sign in some:
            ranks[sign.cause] += sign.ranks
    last = each.phases[-1] if each.phases else ""
    cause = max(ranks, key=lambda name: (ranks[name], name == last, name))
    if 2 * ranks[cause] <= ranks.total() and any(sign.weak for some in runs.values() for sign in some):
        cause = SEVERAL  # none of them alone is the node's cause
    phases = each.phases if cause == last else (*each.phases, cause)[-MOST_PHASES:]
    seen: dict[Run, float] = {}
    if key.kind in OF_NODES:
        seen = {run: at for run, at in each.last.items() if now - at < REJOINS}
        seen |= {run: now for run, some in runs.items() if any(sign.cause not in FOLLOWS for sign in some)}
    touched = each.touched.union(run.namespace for run in runs)
    return replace(each, phases=phases, runs=frozenset(runs), last=seen, touched=touched)


def _recent(each: _Known, now: float) -> tuple[float, ...]:
    return tuple(at for at in each.returns if now - at < WINDOW)


def _incident(key: Key, each: _Known, runs: Mapping[Run, list[Sign]], now: float, also: tuple[str, ...]) -> Incident:
    without = _without_another(Counter(run.namespace for run in runs))
    certain = {run for run, some in runs.items() if key.kind in OF_NODES and _certain(run, some, each.explained)}
    enough = {run: STAYS if run in each.explained else RUNS for run in runs}
    return Incident(
        key,
        each.began,
        tuple(_one(runs[run]) for run in sorted(runs)),
        each.phases,
        frozenset(
            run
            for run, needed in enough.items()
            if (len(certain) if run in certain else without[run.namespace]) >= needed
        ),
        each.touched,
        len(_recent(each, now)),
        also,
    )


def _one(signs: list[Sign]) -> Sign:
    """Return the first sign, with the ranks of all."""
    return signs[0] if len(signs) == 1 else signs[0]._replace(ranks=sum(sign.ranks for sign in signs))


def _certain(run: Run, signs: list[Sign], explained: Collection[Run]) -> bool:
    """Return True if Kubernetes reports the node's fault now, or did so and the run shows a consequence of it."""
    return any(sign.cause in OF_NODE for sign in signs) or (
        run in explained and any(sign.cause in FOLLOWS for sign in signs)
    )


def _without_another(counts: Counter[str]) -> dict[str, int]:
    """Return, for each namespace, the number of runs without the *other* namespace that has most."""
    (largest, most), (_, second) = (*counts.most_common(2), ("", 0), ("", 0))[:2]
    return {namespace: counts.total() - (second if namespace == largest else most) for namespace in counts}


def _bounded(known: dict[Key, _Known]) -> dict[Key, _Known]:
    over = [key for key, each in known.items() if each.over is not None]
    for key in sorted(over, key=lambda each: known[each].over or 0.0)[: max(0, len(over) - MOST_OVER)]:
        del known[key]
    return known


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
