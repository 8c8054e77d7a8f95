"""Completion and progress: a record of the ranks that are done, and of the last sign that a gang progresses.

A rank that has succeeded stays done, whatever becomes of its pod. A finished pod is collected by others: its node is
scaled down, the pod garbage collector removes it (kube-controller-manager ``--terminated-pod-gc-threshold``, 12,500
finished pods), or ``kubectl delete`` does. So the record lists the done ranks of its epoch (``Record.completed``), and
the view still counts a done rank without a pod.

The record is not written for each rank that ends. Every write of the status takes the ranks along. If nothing else is
written, they are written ``SAVE_PAUSE`` after the first of them ended, and those that end later ``LATER_PAUSE`` after
the first of these: a gang of 512 that ends over ten minutes costs one write. They are written at once when the pod that
shows it is gone or being deleted, because after a restart of the daemon only the record would know. That write comes
before every action of the step. No finalizer holds the pods meanwhile (ADR 34).
"""

from msgspec.structs import replace

from muster.api.values.rank_ranges import to_ranges
from muster.api.wire.kinds import MAX_RANGES
from muster.state.facts.context import Context
from muster.state.vocabulary.record import Phase, Record, attempts_of
from muster.state.vocabulary.rules import ClockName

SAVE_PAUSE = 120.0
"""Seconds after a rank succeeded before the status is written for that alone.

Meanwhile its pod shows it; it would take a crash of the daemon and a collector of pods that comes before the next one.
"""

LATER_PAUSE = 720.0
"""Seconds before that write for ranks that succeed after others were saved."""


def save_at(context: Context) -> float | None:
    """Return when the record must list the ranks that are done, in wall seconds; None if it lists them already."""
    if context.record.finished or not context.tally.unsaved:
        return None
    since = context.view.unsaved_since
    if context.tally.unsaved_gone or since is None:
        return context.now
    return since + (LATER_PAUSE if context.record.completed else SAVE_PAUSE)


def completed(context: Context) -> str:
    """Return the done ranks of the record's epoch, as the record holds them."""
    tally, record = context.tally, context.record
    if not tally.unsaved:
        return record.completed
    if context.settled:
        return to_ranges(sorted(tally.done), MAX_RANGES)
    begun = attempts_of(record.attempts)  # ranks that begin another attempt in this decision are not done in it
    here = (rank for rank in sorted(tally.done) if begun.get(rank, 0) == tally.attempts.get(rank, 0))
    return to_ranges(here, MAX_RANGES)


def note(context: Context) -> Record:
    """Return the record with the last sign of progress of an assembled gang, for the clock ``progress``.

    Muster sees two signs without help of the program: the gang was assembled, and a member ended with exit code 0. A
    program that works for hours between two ends shows none of them, so the clock runs only if the spec asks for it
    (ADR 47). If the program reports steps (``muster.report``), each report is a sign, too.

    The time is kept in the record if that clock runs, and is written along with other news: a gang whose members end or
    step one after another costs no write of its own. It is the instant at which Muster saw the sign: clocks of nodes
    may be set otherwise.
    """
    record = context.record
    if record.phase is not Phase.RUNNING or context.plan.clock(ClockName.PROGRESS) is None:
        return record
    reported = context.view.progress_of(record.epoch)
    moved_at = reported.moved_at if reported else None
    signs = (record.assembled_at, record.progressed_at, context.view.done_at, moved_at)
    last = max((at for at in signs if at is not None), default=None)
    return record if last == record.progressed_at else replace(record, progressed_at=last)
