"""Plays case after case in one world. Each case has a random seed of its own, so each can be replayed alone."""

import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.fuzz.families import FAMILIES
from tests.fuzz.world import World

SHOWN = 1_200
"""Characters of the hostile object in a report."""
THOROUGH_EVERY = 4
SHOW_EVERY = 40
"""In one of so many cases, a scrape and the roll-call page are checked, too."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A case that did harm."""

    seed: int
    case: int
    family: str
    problem: str
    sent: str

    def __str__(self) -> str:
        replay = f"python -m tests.fuzz --seed {self.seed} --case {self.case}"
        return f"{self.family}: {self.problem}\n  sent: {self.sent}\n  replay: {replay}"


class Runner:
    """The cases of one seed. After a violation they continue in a new world."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.played: Counter[str] = Counter()
        self.objects = 0
        """Hostile lines, lists, answers and bodies that were sent."""
        self._world = World()
        self._names = list(FAMILIES)
        self._shares = [share for _, share in FAMILIES.values()]

    def run(self, cases: range) -> Iterator[Violation]:
        """Play the cases and yield their violations."""
        for case in cases:
            violation = self._play(case)
            if violation is not None:
                self._world = World()
                yield violation

    def _play(self, case: int) -> Violation | None:
        rng = Random(f"{self.seed}/{case}")
        (name,) = rng.choices(self._names, self._shares)
        self.played[name] += 1
        sent: list[Any] = []
        try:
            self._world.version = 10_000
            self._world.thorough = case % THOROUGH_EVERY == 0
            FAMILIES[name][0](rng, self._world, sent)
            self._world.check_neighbour()
            for entry in self._world.victims():
                self._world.live(entry)
            if case % SHOW_EVERY == 0:
                self._world.show()
            self._world.clear()
            self.objects += len(sent)
        except Exception as error:  # noqa: BLE001 - any exception is a violation
            return Violation(self.seed, case, name, _told(error), repr(sent)[:SHOWN])
        return None


def _told(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    where = " < ".join(f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in reversed(frames[-4:]))
    return f"{type(error).__name__}: {str(error)[:300]} ({where})"
