"""What an epoch's coordinator said last, reduced once per answer so that a decision need not walk the ranks."""

from collections.abc import Mapping
from dataclasses import replace

import msgspec

from muster.state.roll import RollAnswer, by_rank

SHOWN_RANKS = 64
"""How many missing ranks are named."""


class ProbeResult(msgspec.Struct, frozen=True):
    """The last answer of a coordinator, joined to ranks, with what was learned from earlier answers of its epoch."""

    epoch: int
    answer: RollAnswer
    since: float
    """When the coordinator's state or the set of ranks last changed."""
    served: bool
    """It has served at least once in this epoch."""
    arrived: int
    missing: tuple[int, ...]
    """The first ``SHOWN_RANKS`` missing ranks."""
    passed: bool
    leaving: bool
    """Some rank left in good order: the run is ending, and a closed port is no alarm."""

    @property
    def serving(self) -> bool:
        """The coordinator answers now."""
        return self.answer.coordinator.serving


def probe_result(
    answer: RollAnswer, epoch: int, before: ProbeResult | None, rank_of: Mapping[str, int] | None = None
) -> ProbeResult:
    """The result after an answer, given the one before it (of any epoch).

    ``rank_of`` gives the rank behind each pod IP, for coordinators that know their members by address.
    """
    earlier = before if before and before.epoch == epoch else None
    serving = answer.coordinator.serving
    if answer.identities:
        answer = replace(answer, states=by_rank(answer, rank_of or {}), identities=())
    if not serving and earlier is not None:  # the ranks that arrived before the silence stay arrived
        answer = _with_silence(earlier.answer, answer)
    same = earlier is not None and _roll_of(earlier.answer) == _roll_of(answer)
    again = earlier is not None and earlier.answer.incarnation == answer.incarnation
    return ProbeResult(
        epoch=epoch,
        answer=answer,
        since=earlier.since if earlier and same else answer.at,
        served=serving or (earlier is not None and earlier.served),
        arrived=len(answer.arrived),
        missing=answer.missing[:SHOWN_RANKS],
        passed=answer.passed or (earlier is not None and earlier.passed and again),
        leaving=bool(answer.left) or (earlier is not None and earlier.leaving and again),
    )


def _roll_of(answer: RollAnswer) -> tuple[object, ...]:
    return answer.coordinator, answer.states, answer.incarnation


def _with_silence(heard: RollAnswer, silence: RollAnswer) -> RollAnswer:
    """What the coordinator said before it fell silent, with the present state of its port."""
    return replace(
        heard, at=silence.at, coordinator=silence.coordinator, latency=silence.latency, detail=silence.detail
    )
