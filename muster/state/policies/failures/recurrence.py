"""Recurrence: one more restart does not help a gang that fails in the same way, or is disrupted, and gets no further.

**Disruptions.** What the platform does to a gang costs no restart, but it is not repeated without end. A single
preemption is normal, and the gang starts again at once. But a platform that disrupts every epoch before the gang gets
anywhere (a node that kills its pods, a controller that deletes them) would restart it several times a second. So the
gang waits from the second disruption in a row, as long as for counted restarts, is called stuck from the third, and
fails after ``maxDisruptions`` of them if the spec asks for that.

Progress ends the row: the gang was assembled and then ran for ``PROGRESS`` seconds. If the coordinator was never heard
in this epoch (it cannot be reached, or the program has none), it is unknown whether the gang is assembled. Then it is
progress that all programs run ``UNSEEN_PROGRESS`` seconds after the first one began.

**Failures.** A failure is known again by its *fingerprint*: exit code and signal (of the process that a launcher had
started, if the launcher reports them), reason, the last line of the exception, or a last line that is a reason
(``_FAULT``), without numbers and addresses, the file, line and function that raised it, the container, and the group.
Not by rank, pod or node: one failure may strike any of them. Some failures cannot be known again, and end the row: an
exit code 1 or 255, a SIGKILL or a SIGTERM without last words, and members that were only lost to the others. What the
platform does, and restarts that people ask for, neither count nor end the row.

The gang *advanced* between two failures if its best step rose by more than it makes while a rank writes two values (20
s of work): a step is read some seconds late, and checkpoints are further apart. Where a best step is known, ``STALE``
seconds at the end of an epoch without a read step may be an advance. Where none is, 5 minutes of work are one
(``PROGRESS``), and so are the first steps that are read: the epochs before may have come as far or not. What may be an
advance counts as one: a false verdict is worse than none.

From ``sameFailureLimit`` equal failures on, the gang is ``Stuck`` with ``SameFailureAgain``, until it advances. That is
reported and changes nothing, unless the spec lets it end the experiment. The record holds the row, so daemons that take
over continue it.

A gang that advances may get its budget back: if the spec has ``renewOnProgress``, restarts count no more against it
once the gang has worked for 5 minutes and, if it reports steps, has reached a new highest one.
"""

import re
from hashlib import sha256
from math import ceil
from typing import Final, NamedTuple, TypeVar

from msgspec.structs import replace

from muster.api.gang import MAX_PLACES, SameFailure
from muster.api.last_words import NONE
from muster.api.last_words import sentence as sentence_of
from muster.api.progress import report_interval
from muster.state.facts.context import Context
from muster.state.facts.failure_cause import KILLED, OUT_OF_MEMORY, RANK_FAILED
from muster.state.facts.sentences import of_exit
from muster.state.policies.failures.culprit import is_survivor
from muster.state.policies.verdicts import Fail
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Cause, Phase, Record

PROGRESS = 300.0
"""Seconds of an assembled gang that count as progress: as long as the longest default back-off, so that a gang in a
loop spends less time at work than it may have to wait."""
UNSEEN_PROGRESS = 2 * PROGRESS
"""Seconds if no roll can be seen: longer, because the last program may have begun long after the first."""
LOOP = 3
"""Disruptions in a row from which the gang is called stuck."""
DISRUPTION_LOOP = "DisruptionLoop"


def progress_at(context: Context) -> float | None:
    """Return when the row of disruptions will have ended, if the gang keeps running."""
    return worked_at(context) if context.record.consecutive_disruptions else None


def worked_at(context: Context) -> float | None:
    """Return when the gang will have made progress in this epoch, if it keeps running; None while it does not work."""
    record = context.record
    if record.phase is Phase.RUNNING and record.assembled_at is not None:
        return record.assembled_at + PROGRESS
    if record.phase is Phase.ASSEMBLING and record.assembling_at is not None and _runs_unseen(context):
        return record.assembling_at + UNSEEN_PROGRESS
    return None


def _runs_unseen(context: Context) -> bool:
    """Return True if all programs run, and the coordinator was not heard in this epoch."""
    probe, roll, tally = context.probe, context.record.roll, context.tally
    heard = (probe is not None and probe.served) or (roll is not None and roll.arrived > 0)
    return not heard and not tally.idle and tally.working >= context.plan.together


def exhausted(plan: Plan, record: Record) -> bool:
    """Return True if one more disruption is more than the spec allows."""
    return plan.restarts.max_disruptions is not None and record.consecutive_disruptions >= plan.restarts.max_disruptions


def loops(context: Context) -> bool:
    """Return True if the gang is disrupted again and again, and so is stuck."""
    record = context.record
    return record.consecutive_disruptions >= LOOP and not record.finished and record.phase is not Phase.SUSPENDED


T = TypeVar("T")

REASON: Final = "SameFailureAgain"
STALE: Final = 30.0
"""Seconds at the end of an epoch: if no steps were read in them, nothing shows how far it came."""
MOST_A_SECOND: Final = 1e6
"""Steps per second that are believed: what a program reports is a claim."""
WORDS: Final = 200
"""Characters of a failure that are shown."""
_ANY_EXIT: Final = frozenset({1, 255, *KILLED})
"""Exit codes that prove nothing by themselves: of each exception of Python, of ``exit(-1)``, as which survivors of
XGBoost end, too, and of signals that others send."""
_PLAIN: Final = frozenset({"", "Error", "ContainerFailed"})
_VALUES: Final = re.compile(r"0x[0-9a-fA-F]+|\b(?=[a-f]*\d)[0-9a-f]{8,}\b|\d+(\.\d+)*")


_FAULT: Final = re.compile(
    r"(?i)\b(?:error|fail(?:ed|ure)|fatal|exception|abort|cannot|can't|could not|unable to|refused|denied|"
    r"not found|no such|unknown|invalid|unreachable)\b"
)
"""Words of a last line that is no exception but a reason, and not the last of what went well."""


class _Mark(NamedTuple):
    """The mark by which a failure is known again, and its text."""

    fingerprint: str
    failure: str


class _Reached(NamedTuple):
    """The progress of the epoch by its reports, as read at ``at``. ``noise`` steps more are no advance."""

    step: int
    noise: int
    at: float


def ended(context: Context, cause: Cause | None) -> Record:
    """Return the record of an epoch that ends for that cause, with its best step and the same failures."""
    record, reached = _tracked(context, context.now if cause is None else cause.at), _reached(context)
    row = record.same_failure
    if cause is not None and not cause.disruption:
        row = _counted(context.with_record(record), cause, row)
    if reached is None or (record.best_step is not None and reached.step <= record.best_step):
        return replace(record, same_failure=row)
    return replace(record, same_failure=row, best_step=reached.step)


def ends(context: Context, cause: Cause) -> Fail | None:
    """Return the end of the experiment, if the spec asks for it and the failure is the same again."""
    if not context.plan.restarts.same_failure_ends:
        return None
    after = ended(context, cause)
    if after.same_failure is None or not after.same_failure.again or cause.disruption:
        return None
    return Fail(REASON, cause=cause)


def met(context: Context, cause: Cause) -> Record:
    """Return the record of a watched run with one more failure. Its work in between is not counted, nor an advance."""
    mark, row = _mark(context, cause), context.record.same_failure
    if mark is None:
        return replace(context.record, same_failure=None)
    count = row.count + 1 if row is not None and row.fingerprint == mark.fingerprint else 1
    return replace(context.record, same_failure=SameFailure(mark.fingerprint, mark.failure, count, cause.epoch))


def track(context: Context) -> Record:
    """Return the record of a gang that still runs: an advance ends the row, and renews the budget if the spec asks."""
    failing = context.tally.failed and not context.plan.piecewise  # (``ended`` follows, with the time of its end)
    return context.record if failing else _tracked(context, context.now)


def _tracked(context: Context, until: float) -> Record:
    record, renews = context.record, _renewable(context)
    if record.same_failure is None and not renews:
        return record
    advanced, at = _advanced(context), worked_at(context)
    worked = at is not None and until >= at
    if record.same_failure is not None and (worked if advanced is None else advanced):
        record = replace(record, same_failure=None)
    if renews and worked and (advanced or (advanced is None and record.best_step is None)):
        record = replace(record, renewed=record.restarts)
    return record


def wake_at(context: Context) -> float | None:
    """Return when work alone will have been an advance."""
    if context.record.same_failure is None and not _renewable(context):
        return None
    return worked_at(context)


def recurs(context: Context) -> bool:
    """Return True if the gang fails in the same way and has not advanced since, and so is stuck."""
    record = context.record
    row = record.same_failure
    if row is None or not row.again or not context.plan.restarts.same_failure_limit:
        return False
    return not record.finished and record.phase is not Phase.SUSPENDED


def _counted(context: Context, cause: Cause, row: SameFailure | None) -> SameFailure | None:
    """Return the row after one more failure; None if too little is known to know it again."""
    limit = context.plan.restarts.same_failure_limit
    mark = _mark(context, cause)
    if mark is None:
        return None
    work = _work(context, cause)
    if row is None or row.fingerprint != mark.fingerprint or _came_further(context, cause, work):
        row = SameFailure(mark.fingerprint, mark.failure, 0, cause.epoch, spread=True)
        work = 0
    count, members = row.count + 1, context.tally.members.values()
    return replace(
        row,
        count=count,
        work=max(row.work, work),
        ranks=_with(row.ranks, cause.rank) if cause.rank >= 0 else row.ranks,
        nodes=_with(row.nodes, cause.node) if cause.node else row.nodes,
        spread=row.spread and bool(cause.node) and any(pod.node not in ("", cause.node) for pod in members),
        again=0 < limit <= count,
    )


def _mark(context: Context, cause: Cause) -> _Mark | None:
    """Return the mark of that failure; None if too little is known."""
    pod = context.tally.failed.get(cause.uid)
    if not cause.exit_code or cause.evidence or cause.reason == RANK_FAILED:
        return None
    if pod is not None and is_survivor(context.plan, pod):
        return None
    end = pod.exit if pod is not None else None
    code, child = (end.own_code, end.child) if end is not None else (cause.exit_code, NONE)
    raised = cause.message if child == NONE or (end is not None and end.explains) else ""
    if not raised and child == NONE and _FAULT.search(cause.last_line):
        raised = cause.last_line
    words = _VALUES.sub("#", raised)
    plain = cause.reason in _PLAIN
    if not words and plain and code in _ANY_EXIT:
        return None
    raised_at = end.raised_at if end is not None and words else ""
    parts = (str(code), str(cause.signal), cause.reason, words, raised_at, cause.container, cause.group)
    shown = f"{of_exit(cause.exit_code, cause.signal)}{'' if plain else f', {cause.reason}'}"
    if child != NONE and not words:
        shown += f": {sentence_of(child)}"
    elif words:
        shown += f": {words if len(words) <= WORDS else f'{words[: WORDS - 1]}…'}"
    return _Mark(
        sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:16],
        f"{shown}, raised at {raised_at}" if raised_at and cause.reason != OUT_OF_MEMORY else shown,
    )


def _work(context: Context, cause: Cause) -> int:
    """Return the seconds for which the gang of the epoch was at work when that failed."""
    record = context.record
    began = record.assembled_at if record.assembled_at is not None else record.assembling_at
    return max(0, ceil(cause.at - began)) if began is not None else 0


def _came_further(context: Context, cause: Cause, work: int) -> bool:
    """Return True if the epoch may have advanced beyond the ones before."""
    reached, record = _reached(context), context.record
    if record.best_step is None:  # steps, if this epoch has some, may be further than the epochs before came
        return reached is not None or work >= (UNSEEN_PROGRESS if record.assembled_at is None else PROGRESS)
    unread = work if reached is None else cause.at - reached.at
    return unread > STALE or bool(_advanced(context))


def _advanced(context: Context) -> bool | None:
    """Return True if the epoch has come further than those before; None if the steps of either are unknown."""
    best, reached = context.record.best_step, _reached(context)
    if best is None or reached is None:
        return None
    return reached.step > best + reached.noise


def _reached(context: Context) -> _Reached | None:
    """Return the steps of the epoch: as this daemon has read them, else as the record has them."""
    epoch, kept = context.record.epoch, context.record.steps
    seen = context.view.progress_of(epoch)
    if seen is not None and seen.ranks:
        rate = seen.rate if seen.rate is not None and 0 <= seen.rate <= MOST_A_SECOND else 0.0
        return _Reached(seen.step, ceil(rate * 2 * report_interval(seen.reporting)), seen.read_at)
    return _Reached(kept.step, 0, kept.at) if kept is not None and kept.epoch == epoch else None


def _renewable(context: Context) -> bool:
    record = context.record
    return context.plan.restarts.renews and record.renewed < record.restarts


def _with(known: tuple[T, ...], one: T) -> tuple[T, ...]:
    return known if one in known or len(known) >= MAX_PLACES else (*known, one)
