"""What a run of tests with real processes comes to, when those that failed have been played again, alone."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tests.outcomes.outcome import Outcome

MOST_FLAKES = 3
"""More in one run fail it: then it is not the machine that was busy for a moment."""
MOST_AGAIN = 10
"""Where more have failed, none is played again."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The first failures of a run, by what they mean."""

    flaky: tuple[Outcome, ...] = ()
    """Passed when they were played again."""
    broken: tuple[Outcome, ...] = ()
    quarantined: tuple[Outcome, ...] = ()
    """Known to be flaky: reported, and no reason to hold anything back."""

    @property
    def well(self) -> bool:
        """Nothing blocks."""
        return not self.broken and len(self.flaky) <= MOST_FLAKES


def again(failed: Sequence[Outcome], quarantined: Collection[str]) -> list[str]:
    """The tests to play once more, alone; none where too many have failed."""
    found = [each.test for each in failed if each.test not in quarantined]
    return found if len(found) <= MOST_AGAIN else []


def judge(failed: Sequence[Outcome], passed: Collection[str], quarantined: Collection[str]) -> Verdict:
    """The verdict on a run in which some tests have failed, of which some have passed when they were played again."""
    others = [each for each in failed if each.test not in quarantined]
    return Verdict(
        flaky=tuple(each for each in others if each.test in passed),
        broken=tuple(each for each in others if each.test not in passed),
        quarantined=tuple(each for each in failed if each.test in quarantined),
    )
