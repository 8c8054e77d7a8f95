"""Resumption: the cost of a restart, once the first step of the new epoch is known.

``resumed at step 40: 16 steps (8 s) lost, 22 s to recover``, or ``at least 16 steps`` if the last step was read some
time before the end. The lost time is that of the account (``state.summary.goodput``); the way back lasts from the end
of the last epoch that took steps to the first step of this one. The same holds of processes that were restarted
inside the pods: ``torchrun restarted its processes; resumed at step 40: at least 16 steps (8 s) lost ...``. Of those
that the kubelet has restarted, ``RestartedInPlace`` names the container.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from muster.api.goodput import EpochSteps, StepMark
from muster.state.vocabulary.record import Record

REASON: Final = "StepsResumed"
LEAST: Final = 1_000
"""Milliseconds without a step from which nothing is concluded."""


def turns(before: Record | None, after: Record) -> Iterator[tuple[str, str, bool]]:
    """Yield the line of the story that reports it, in the write that has the first step."""
    if before is None or before.goodput is None or after.goodput is None:
        return
    steps, marks = after.goodput.steps, before.goodput.marks
    if steps is None or steps.first < 0 or not marks or _begun(before.goodput.steps, steps):
        return
    known = before.goodput.steps
    inside = known is not None and known.epoch == steps.epoch and steps.restarts + steps.resumed > 0
    count, ms = max(0, marks[-1].step - steps.first), after.goodput.lost - before.goodput.lost
    more = "at least " if (inside and count) or _unread(marks, steps.base + ms) else ""
    lost = f"{more}{count} step{'' if count == 1 else 's'} ({_seconds(ms)}) lost" if count or more else "no step lost"
    way = float(after.goodput.recovery - before.goodput.recovery) if inside else _way(after, steps)
    recovery = f", {_seconds(way)} to recover" if way is not None else ""
    by_torchrun = known is not None and known.resumed == steps.resumed
    again = (
        ("torchrun restarted its processes; " if by_torchrun else "its processes were restarted; ") if inside else ""
    )
    yield REASON, f"{again}resumed at step {steps.first}: {lost}{recovery}", False


def _unread(marks: Sequence[StepMark], end: int) -> bool:
    """Return True if at its pace the last epoch took steps after the last one read. ``end`` is in the marks' time."""
    taken = marks[-1].step - marks[0].step
    pace = (marks[-1].ms - marks[0].ms) / taken if taken else 0.0
    return end - marks[-1].ms >= max(pace, LEAST)


def _begun(before: EpochSteps | None, steps: EpochSteps) -> bool:
    """Return True if the first step of these processes was known before, or they are the first that take steps."""
    if before is None or before.first < 0:
        return False
    return (before.epoch, before.restarts, before.resumed) == (steps.epoch, steps.restarts, steps.resumed)


def _way(record: Record, steps: EpochSteps) -> float | None:
    """Return the milliseconds from the end of the last epoch with steps to the first step of this one."""
    ends = [each for each in record.evidence if each.epoch < steps.epoch]
    end = next((each for each in reversed(ends) if each.steps), next(reversed(ends), None))
    if end is None or record.assembled_at is None:
        return None
    return max(0.0, 1000 * (record.assembled_at - end.at) + steps.program_startup)


def _seconds(ms: float) -> str:
    return f"{round(ms / 1000)} s"
