"""A finding: members that share one cause, with its evidence and the next step."""

from typing import NamedTuple

import msgspec

from muster.api.values.rank_ranges import spans, to_ranges
from muster.state.facts.causes.cause import MissingCause
from muster.state.facts.sentences import NAMED_RANGES


class Diagnosis(NamedTuple):
    """The cause of one missing member. Members with equal ``cause``, ``what`` and ``node`` are one finding."""

    cause: MissingCause
    what: str
    evidence: str
    node: str = ""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One cause, and the members that have it."""

    cause: MissingCause
    ranks: tuple[int, ...]
    """The ranks, ascending; empty if only their number is known."""
    count: int
    """The number of members with the cause: more than ``ranks`` if it is not known which they are."""
    what: str
    """The cause in a few words: ``node n7 is not ready``."""
    evidence: str
    """The proof: the pod, and the words of kubelet, scheduler, API server or coordinator."""
    next_step: str
    group: str = ""
    """The group of all these members; empty if they have several groups."""
    node: str = ""
    """Their node, if the node is the cause."""

    @property
    def who(self) -> str:
        """Return ``rank 3``, ``ranks 8-15``, ``ranks 0, 2, 4 and 936 more`` of a long list, ``2 ranks``."""
        if not self.ranks:
            return "1 rank" if self.count == 1 else f"{self.count} ranks"
        shown = to_ranges(self.ranks, NAMED_RANGES)
        rest = self.count - sum(last - first + 1 for first, last in spans(shown))
        more = f" and {rest} more" if rest > 0 else ""
        return f"{'rank' if self.count == 1 else 'ranks'} {shown.replace(',', ', ')}{more}"

    @property
    def sentence(self) -> str:
        """Return ``ranks 8-15: node n7 is not ready``."""
        return f"{self.who}: {self.what}"
