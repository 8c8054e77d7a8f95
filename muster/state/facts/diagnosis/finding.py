"""A finding: members that share one cause, with what shows it and what to do next."""

from typing import NamedTuple

import msgspec

from muster.api.values.rank_ranges import to_ranges
from muster.state.facts.causes.cause import MissingCause

NAMED_RANGES = 100
"""Characters of the ranges of ranks in a sentence."""


class Diagnosis(NamedTuple):
    """Why one member is missing. Members with equal ``cause``, ``what`` and ``node`` are one finding."""

    cause: MissingCause
    what: str
    evidence: str
    node: str = ""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One cause, and the members that have it."""

    cause: MissingCause
    ranks: tuple[int, ...]
    """Ascending; empty where it is known how many there are, and not which."""
    count: int
    """How many members have it: more than ``ranks`` where it is not known which."""
    what: str
    """The cause in a few words: ``node n7 is not ready``."""
    evidence: str
    """What shows it: the pod, and what kubelet, scheduler, API server or coordinator say."""
    next_step: str
    group: str = ""
    """The group of all these members; empty where they are of several."""
    node: str = ""
    """Their node, where the node is the cause."""

    @property
    def who(self) -> str:
        """``rank 3``, ``ranks 8-15``, ``ranks 0, 2, 4 and 936 more`` of a long list, ``2 ranks``."""
        if not self.ranks:
            return "1 rank" if self.count == 1 else f"{self.count} ranks"
        shown = to_ranges(self.ranks, NAMED_RANGES).replace(",", ", ")
        rest = self.count - _numbers(shown)
        more = f" and {rest} more" if rest > 0 else ""
        return f"{'rank' if self.count == 1 else 'ranks'} {shown}{more}"

    @property
    def sentence(self) -> str:
        """``ranks 8-15: node n7 is not ready``."""
        return f"{self.who}: {self.what}"


def sentence(findings: tuple[Finding, ...], shown: int = 4) -> str:
    """All findings in one sentence, the most decisive first; the order depends on causes and ranks alone."""
    rest = sum(each.count for each in findings[shown:])
    more = [f"{rest} more"] if rest else []
    return "; ".join([each.sentence for each in findings[:shown]] + more)


def _numbers(ranges: str) -> int:
    """How many numbers ``0-3, 7`` stands for."""
    count = 0
    for part in ranges.split(", "):
        first, _, last = part.partition("-")
        count += int(last or first) - int(first) + 1
    return count
