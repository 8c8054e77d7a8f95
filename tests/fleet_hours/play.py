"""Plays hours of the fleet with masses in them, and judges each incident that is shown."""

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Final

from muster.state.facts.incidents.grouping import Places
from muster.state.facts.incidents.tracking import Tracking
from muster.state.summary.hurt import incident_sentence
from tests.fleet_hours.fleet import NAMESPACES, PLACES, WELL, Fleet
from tests.fleet_hours.masses import KINDS, Mass
from tests.fleet_hours.shown import FleetRun
from tests.state.facts.incidents.fleet import follow

STEP: Final = 20.0
LOOK: Final = 5.0
"""Seconds between two looks of musterd, which are played while a mass is there."""
NAMED_WITHIN: Final = 90.0
LASTS: Final = 600.0
OVER: Final = 1800.0
"""Seconds after a mass until its incident has ended, flaps included."""


@dataclass
class Result:
    """What was seen."""

    hours: float = 0.0
    false: dict[str, None] = field(default_factory=dict)
    """Sentences of incidents that no mass and no bad node explains."""
    bad_nodes: int = 0
    """Incidents that named a bad node of the fleet, rightly."""
    masses: Counter[str] = field(default_factory=Counter)
    named: Counter[str] = field(default_factory=Counter)
    late: list[str] = field(default_factory=list)
    """Masses that were not named in time."""
    wrong: dict[str, None] = field(default_factory=dict)
    """Names that were shown of a mass, and are not its own."""
    slowest: float = 0.0


class Play:
    """A fleet, and musterd's look at it."""

    def __init__(self, seed: int, *, labelled: bool = True) -> None:
        self.fleet, self.random = Fleet(seed), Random(f"masses {seed}")
        self.places = PLACES if labelled else Places()
        self.tracking, self.now, self.result = Tracking(), 1_000_000.0, Result()
        self._known: set[str] = set()
        self._mass = 0

    def hours(self, hours: float) -> None:
        """So many hours without a mass."""
        for _ in range(int(hours * 3600 / STEP)):
            self.now += STEP
            self.fleet.step(self.now, STEP)
            self.tracking = follow(self.tracking, self.fleet.signs(), self.now, self.places, WELL)
            self._judge()
        self.result.hours += hours

    def mass(self, mass: Mass) -> None:
        """One mass, until it is forgotten."""
        began, named, result = self.now, None, self.result
        self._mass += 1
        runs = [
            FleetRun(10**6 + 1000 * self._mass + n, f"team-{n % NAMESPACES}", each.nodes, each.image, each.storage)
            for n, each in enumerate(mass.victims)
        ]
        shown = [
            (began + each.after, each.shows(run, began + each.after))
            for run, each in zip(runs, mass.victims, strict=True)
        ]
        result.masses[mass.kind] += 1
        for _ in range(int((LASTS + OVER) / LOOK)):
            self.now += LOOK
            self.fleet.step(self.now, LOOK)
            there = self.now - began < LASTS
            signs = [sign for at, some in shown if at <= self.now and there for sign in some]
            used = WELL - mass.used_no_more if there else WELL
            signs += self.fleet.signs()
            self.tracking = follow(self.tracking, signs, self.now, self.places, used)
            keys = {(each.key.kind, each.key.subject) for each in self.tracking.shown}
            if named is None and keys & mass.names:
                named = self.now - began
            self._judge(mass)
        result.hours += (LASTS + OVER) / 3600
        if named is not None and named <= NAMED_WITHIN:
            result.named[mass.kind] += 1
            result.slowest = max(result.slowest, named)
        else:
            result.late.append(f"{mass.kind}: {sorted(mass.names)} after {named} s")

    def _judge(self, mass: Mass | None = None) -> None:
        bad = self.fleet.bad
        for each in self.tracking.shown:
            name, sentence = (each.key.kind, each.key.subject), incident_sentence(each)
            if sentence in self._known or not each.members or (mass is not None and name in mass.names):
                continue
            self._known.add(sentence)
            if each.key.kind == "node" and each.key.subject in bad:
                self.result.bad_nodes += 1
            elif mass is not None and any(run.name >= f"run-{10**6}" for run in each.runs):
                self.result.wrong[f"{mass.kind}: {sentence}"] = None
            else:
                self.result.false[sentence] = None


def play(hours: float, masses: int, seed: int, *, labelled: bool = True) -> Result:
    """The hours, with the masses spread over them."""
    world = Play(seed, labelled=labelled)
    between = max(0.0, hours - masses * (LASTS + OVER) / 3600) / (masses + 1)
    world.hours(between)
    for number in range(masses):
        world.mass(KINDS[number % len(KINDS)](world.random))
        world.hours(between)
    return world.result
