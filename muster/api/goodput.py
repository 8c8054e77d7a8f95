"""Goodput: the time of an experiment as one sum of whole milliseconds for each bucket.

``productive - taken_back`` and the other buckets add up to the wall time, suspended time left out, because the wall
time is that sum. ``productive`` only grows: what turns out later to have been lost or stuck is added to its own bucket
and to ``taken_back``. So each figure can be exported as a counter.

The time since ``counted_at`` belongs to ``bucket``. The figures at any second follow from these fields and that second
alone, whichever daemon, or command, reads it.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from itertools import accumulate, pairwise
from operator import attrgetter
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from muster.api.wire.kinds import Count, Counter, Integer, Time, member_of
from muster.api.wire.structs import Wire

MAX_MARKS: Final = 24
"""Steps whose place in the productive time is kept."""
LEAST_SPANS: Final = 4
"""Spans between two marks from which a usual step is known."""


class Bucket(StrEnum):
    """Kinds of time. The names follow ml-goodput-measurement where it has the same thing."""

    PRODUCTIVE = "productive"
    QUEUED = "queued"
    SCHEDULING = "scheduling"
    STARTUP = "startup"
    ASSEMBLY = "assembly"
    PROGRAM_STARTUP = "program_startup"
    CHECKPOINT_SAVE = "checkpoint_save"
    CHECKPOINT_RESTORE = "checkpoint_restore"
    DATA_LOADING = "data_loading"
    STUCK = "stuck"
    RECOVERY = "recovery"
    LOST = "lost"
    OTHER = "other"


BADPUT: Final = tuple(each for each in Bucket if each is not Bucket.PRODUCTIVE)
"""The buckets that are not productive."""
badput_of: Final[Callable[["Goodput"], tuple[int, ...]]] = attrgetter(*BADPUT)
"""The sums of those buckets, in that order."""
WASTED: Final = frozenset((Bucket.STUCK, Bucket.RECOVERY, Bucket.LOST))
"""Buckets of a run in trouble. The others are on the way to work, or a pause that a program wants."""


class Basis(StrEnum):
    """Source of the buckets."""

    PHASE = "phase"
    """Phases and Stuck alone: no program has reported a step, so losses and pauses are not known."""
    STEPS = "steps"
    """The reported steps, too."""


NOT_KNOWN: Final = "lost work, pauses and the startup of programs are not known"
BY_PHASE: Final = f"no program has reported a step: {NOT_KNOWN}"
"""Meaning of ``Basis.PHASE`` for the figures."""


class StepMark(msgspec.Struct, frozen=True, gc=False):
    """Position of a step in the productive time that is preserved."""

    step: Annotated[Counter, Wire("The step.")]
    ms: Annotated[Counter, Wire("Productive milliseconds until it was reached.", name="milliseconds")]


class EpochSteps(msgspec.Struct, frozen=True, gc=False):
    """Time taken from the productive time of one epoch, by what its programs report. In milliseconds."""

    epoch: Annotated[Counter, Wire("The epoch whose roll was complete last.")] = 0
    base: Annotated[Counter, Wire("Productive time, without what was taken back, before the present processes.")] = 0
    first: Annotated[Integer, Wire("The first step that it reported; -1 before.")] = -1
    skipped: Annotated[Counter, Wire("Announced pauses before its time was counted.")] = 0
    program_startup: Annotated[Counter, Wire("Counted from roll complete to the first step.")] = 0
    checkpoint_save: Annotated[Counter, Wire("Counted of its pauses for saving a checkpoint.")] = 0
    checkpoint_restore: Annotated[Counter, Wire("Counted of its pauses for restoring a checkpoint.")] = 0
    data_loading: Annotated[Count, Wire("Counted of its pauses for loading data.")] = 0
    other: Annotated[Counter, Wire("Counted of its other pauses.")] = 0
    stuck: Annotated[Counter, Wire("Counted as Stuck since its roll was complete, its pauses left out.")] = 0
    hang: Annotated[Count, Wire("Of the present hang: what was counted when it was reported.")] = 0
    held: Annotated[Count, Wire("Of the present hang: what is counted when it ends, and its length is known.")] = 0
    restarts: Annotated[
        Count, Wire("Restarts of its processes inside the pods, by torchrun: what else is here is since the last.")
    ] = 0
    resumed: Annotated[
        Count, Wire("Other restarts of its processes that were counted: all here is since the last.")
    ] = 0
    begun: Annotated[Count, Wire("From roll complete to the first step of the present processes.")] = 0


class Goodput(msgspec.Struct, frozen=True, gc=False):
    """Time in whole milliseconds for each bucket, up to ``countedTime``."""

    counted_at: Annotated[Time, Wire("Up to when time is counted.", name="countedTime", moves=True)] = 0.0
    bucket: Annotated[
        str, member_of(Bucket), Wire("What the time since then counts as; empty: suspended, or over.")
    ] = ""
    productive: Annotated[Counter, Wire("All ranks had arrived and ran, and it was not Stuck.")] = 0
    taken_back: Annotated[Count, Wire("The part of that which has turned out to belong to another bucket.")] = 0
    queued: Annotated[Count, Wire("It waited for the admission of a queue.")] = 0
    scheduling: Annotated[Count, Wire("Pods waited for nodes.")] = 0
    startup: Annotated[Count, Wire("Images were pulled and containers started.")] = 0
    assembly: Annotated[Count, Wire("Programs ran, and not all ranks had arrived.")] = 0
    program_startup: Annotated[Count, Wire("From roll complete to the first step.")] = 0
    checkpoint_save: Annotated[Count, Wire("Pauses that programs announced to save a checkpoint.")] = 0
    checkpoint_restore: Annotated[Count, Wire("Pauses that programs announced to restore a checkpoint.")] = 0
    data_loading: Annotated[Count, Wire("Pauses that programs announced to load data.")] = 0
    stuck: Annotated[Count, Wire("It was Stuck; a hang counts from the last step.")] = 0
    recovery: Annotated[
        Count, Wire("From a failure until the roll was complete again, or the next processes in the pods made a step.")
    ] = 0
    lost: Annotated[
        Count, Wire("Steps after the one from which the next epoch, or the next processes in the pods, resumed.")
    ] = 0
    other: Annotated[
        Count,
        Wire("Pauses that programs announced for another reason, and the time from a success until it was seen."),
    ] = 0
    steps: Annotated[EpochSteps | None, Wire("What of it comes from reported steps.")] = None
    marks: Annotated[
        tuple[StepMark, ...],
        Wire("Steps with their place in the productive time, ascending.", most=MAX_MARKS, newest=True, sparse=True),
    ] = ()

    @property
    def net(self) -> int:
        """Return productive milliseconds that were not taken back."""
        return self.productive - self.taken_back

    @property
    def wall(self) -> int:
        """Return the wall time in milliseconds, without suspended time."""
        return self.net + sum(badput_of(self))

    def of(self, bucket: Bucket) -> int:
        """Return milliseconds of a bucket; of the productive one without what was taken back."""
        found: int = self.net if bucket is Bucket.PRODUCTIVE else getattr(self, bucket.value)
        return found

    def at(self, now: float) -> "Goodput":
        """Return the sums at that wall second.

        Whole milliseconds are counted, and ``counted_at`` moves by as many. So no sum is ever smaller at a later
        second, however often it was counted in between.
        """
        if not self.bucket:
            return self
        passed = max(0, micros(now) - micros(self.counted_at)) // 1000
        name = self.bucket if isinstance(self.bucket, Bucket) else Bucket.OTHER  # a newer Muster has more
        counted_at = (micros(self.counted_at) + 1000 * passed) / 10**6
        return replace(self, counted_at=counted_at, **{name: getattr(self, name) + passed})

    def taken(self, bucket: Bucket, ms: int) -> "Goodput":
        """Return the sums with so many productive milliseconds taken back for that bucket."""
        if ms <= 0:
            return self
        return replace(self, taken_back=self.taken_back + ms, **{bucket.value: getattr(self, bucket.value) + ms})


class StepTime(NamedTuple):
    """Duration of steps, in milliseconds. Both figures are parts of the productive time, and no bucket."""

    usual: float
    """The time in which half of the steps were made, each as the mean of its span between two marks."""
    beyond: int
    """Time of the others beyond it: waits for data or storage, and pauses that nobody announced."""


def step_time(marks: Sequence[StepMark]) -> StepTime | None:
    """Return the usual step and the deviation from it; None where too few marks are known."""
    spans = [(last.ms - first.ms, last.step - first.step) for first, last in pairwise(marks) if last.step > first.step]
    if len(spans) < LEAST_SPANS:
        return None
    paces = sorted((ms / steps, steps) for ms, steps in spans)
    made, half = accumulate(steps for _, steps in paces), sum(steps for _, steps in paces) / 2
    usual = next(pace for (pace, _), steps in zip(paces, made, strict=True) if steps >= half)
    return StepTime(usual, round(sum(max(0.0, ms - steps * usual) for ms, steps in spans)))


def whole_seconds(milliseconds: Mapping[Bucket, float], counting: str = "") -> Mapping[Bucket, int]:
    """Return whole seconds that add up to the rounded sum: the largest fractions are rounded up.

    Of a sum that grows, each other bucket than ``counting`` is rounded by itself, so that it does not change with it.
    """
    others = {bucket: round(ms / 1000) for bucket, ms in milliseconds.items() if bucket != counting}
    left = round(sum(milliseconds.values()) / 1000) - sum(others.values())
    if left >= 0 and (grows := next((bucket for bucket in milliseconds if bucket == counting), None)) is not None:
        return {**others, grows: left}
    seconds = {bucket: int(ms // 1000) for bucket, ms in milliseconds.items()}
    rest = round(sum(milliseconds.values()) / 1000) - sum(seconds.values())
    for bucket in sorted(milliseconds, key=lambda each: -(milliseconds[each] % 1000))[: max(0, rest)]:
        seconds[bucket] += 1
    return seconds


def micros(seconds: float) -> int:
    """Return whole microseconds, in which times are persisted."""
    return round(seconds * 10**6)
