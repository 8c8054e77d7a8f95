"""The last answer of an epoch's coordinator, reduced once per answer so that a decision need not walk the ranks.

One lost probe proves nothing: a coordinator is *absent* once it has been silent for ``LOST_AFTER``, and every answer
before that ends the silence as if it had not been. One that is lost again and again is *unsteady*: from the third
time on it counts as present only after it has answered for a time that doubles with each loss, so that a coordinator
that comes and goes is reported as that, and costs no status write each time.
"""

from dataclasses import replace

import msgspec

from muster.state.view.roll import RollAnswer
from muster.state.vocabulary.wall_time import WallTime

SHOWN_RANKS = 64
"""Most missing ranks that are named."""
LOST_AFTER = 4.0
"""Seconds of silence after which a coordinator is absent: two lost probes and more (``daemon.prober_pool``)."""
STEADY_LOSSES = 2
"""Losses in one epoch after which the coordinator is present again at its first answer."""
LONGEST_GAP = 15.0
"""Seconds: a longer time between two arrivals proves nothing about the next one (or the clock was set)."""
FIRST_HOLD, LAST_HOLD = 5.0, 60.0
"""Seconds for which it must answer after more losses than that."""


class ProbeResult(msgspec.Struct, frozen=True):
    """The last answer of a coordinator, joined to ranks, with what was learned from earlier answers of its epoch."""

    epoch: int
    answer: RollAnswer
    since: WallTime
    """The time of the last change of the coordinator's state or the set of ranks."""
    served: bool = False
    """True if it has served at least once in this epoch."""
    arrived: int = 0
    missing: tuple[int, ...] = ()
    """The first ``SHOWN_RANKS`` missing ranks."""
    passed: bool = False
    leaving: bool = False
    """True if some rank left in good order: the run is ending, and a closed port is no alarm."""
    silent_at: WallTime | None = None
    """The time since which the coordinator that served has not answered; None while it does."""
    losses: int = 0
    """The number of its returns in this epoch after it was absent."""
    back_at: WallTime = 0.0
    """The time of its last return."""
    gap: float = 0.0
    """The longest time between two arrivals in this epoch."""
    served_at: WallTime = 0.0
    """The time at which its present life was first heard to serve in this epoch; 0 before that."""
    last_served_at: WallTime = 0.0
    """The time at which it last served with all its parts (``RollAnswer.lacks``) in this epoch; 0: never."""

    @property
    def serving(self) -> bool:
        """True if the coordinator answers now."""
        return self.answer.coordinator.serving

    @property
    def hold(self) -> float:
        """The seconds for which it must answer after its last loss before it is present again."""
        late = self.losses - STEADY_LOSSES
        return min(LAST_HOLD, FIRST_HOLD * 2.0 ** min(late - 1, 8)) if late > 0 else 0.0

    def present(self, now: float) -> bool:
        """Return True if the coordinator counts as serving."""
        if not self.served:
            return False
        if self.silent_at is None:
            return now >= self.back_at + self.hold
        return now < self.silent_at + LOST_AFTER and self.silent_at >= self.back_at + self.hold

    @property
    def was_steady(self) -> bool:
        """True if it does not answer, and had counted as serving for a minute when that began."""
        return self.silent_at is not None and self.silent_at >= self.back_at + self.hold + LAST_HOLD

    def turns_at(self, now: float) -> float | None:
        """Return when ``present`` turns by the mere passing of time."""
        at = self.back_at + self.hold if self.silent_at is None else self.silent_at + LOST_AFTER
        return at if at > now and self.present(at) != self.present(now) else None


def probe_result(answer: RollAnswer, epoch: int, before: ProbeResult | None) -> ProbeResult:
    """Return the result after an answer by rank, given the one before it (of any epoch)."""
    earlier = before if before and before.epoch == epoch else ProbeResult(epoch, answer, answer.at)
    serving = answer.coordinator.serving
    whole = serving and not answer.lacks
    if not serving:  # the ranks that arrived before the silence stay arrived
        answer = _with_silence(earlier.answer, answer)
    again = earlier.answer.incarnation == answer.incarnation
    continues = earlier.served and (again or not serving)
    silent_at, losses, back_at = _steadiness(answer, earlier)
    arrived = max(len(answer.arrived), answer.joined or 0)
    gap = answer.at - earlier.since if arrived > earlier.arrived > 0 else 0.0
    return ProbeResult(
        epoch=epoch,
        answer=answer,
        since=earlier.since if _roll_of(earlier.answer) == _roll_of(answer) else answer.at,
        served=serving or earlier.served,
        arrived=arrived,
        missing=answer.missing[:SHOWN_RANKS],
        passed=answer.passed or (earlier.passed and again),
        leaving=bool(answer.left) or (earlier.leaving and again),
        silent_at=silent_at,
        losses=losses,
        back_at=back_at,
        gap=max(earlier.gap, min(gap, LONGEST_GAP)),
        served_at=earlier.served_at if continues else answer.at if serving else 0.0,
        last_served_at=answer.at if whole else earlier.last_served_at,
    )


def _steadiness(answer: RollAnswer, earlier: ProbeResult) -> tuple[float | None, int, float]:
    """Return ``silent_at``, ``losses`` and ``back_at`` after an answer."""
    if not earlier.served:
        return None, 0, 0.0
    if not answer.coordinator.serving:
        began = answer.at - answer.latency  # it was silent from the moment it was asked
        return (began if earlier.silent_at is None else earlier.silent_at), earlier.losses, earlier.back_at
    if earlier.silent_at is not None and answer.at >= earlier.silent_at + LOST_AFTER:
        return None, earlier.losses + 1, answer.at
    return None, earlier.losses, earlier.back_at


def _roll_of(answer: RollAnswer) -> tuple[object, ...]:
    over = answer.work is not None and answer.work.ended
    return answer.coordinator, answer.states, answer.joined, answer.incarnation, over, bool(answer.lacks)


def _with_silence(heard: RollAnswer, silence: RollAnswer) -> RollAnswer:
    """Return the last answer before the coordinator fell silent, with the present state of its port."""
    return replace(
        heard, at=silence.at, coordinator=silence.coordinator, latency=silence.latency, detail=silence.detail
    )
