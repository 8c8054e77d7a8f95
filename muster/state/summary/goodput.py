"""Goodput: counts the time into buckets whenever the status is written, and asks for no write itself.

The bucket of a second follows from the record at that second. The phase and the condition Stuck carry it, and both are
persisted as they change. What is known only later is taken back from the productive time (``muster.api.goodput``):

- *lost*: the time between the step from which an epoch resumed and the end of the epoch before. The step is the first
  one that the new epoch reports; its place in the productive time is kept as a mark. Processes that torchrun or
  the kubelet has restarted inside the pods resume in the same way. The processes before them end when their container
  ended, if the pod shows that, else with their last step that was read: the time from then on is *recovery*.
- *stuck*: a hang began with the last report, or when the last process came to its place, and is seen later.
- *program_startup*, *checkpoint_save*, *checkpoint_restore*, *data_loading*, *other*: by the program's own clock, which
  its reports carry. So they cost no write when they begin or end, and no daemon has to run. Those that are first read
  while the gang is Stuck count as far as the hang, whose length the program knows, leaves time for them.
- *recovery*: a failure began when its container ended, if that was seen more than a second later.
- *other*: a success was over when its last pod ended, if that was seen more than five seconds later.

All but these two are claims of the program, and none takes more than the productive time of its epoch.
"""

from math import inf
from typing import Final, NamedTuple

from msgspec.structs import replace

from muster.api.goodput import MAX_MARKS, Bucket, EpochSteps, Goodput, StepMark, micros
from muster.state.facts import hang as hangs
from muster.state.facts.context import Context
from muster.state.facts.hang import HANGS, HUNG
from muster.state.policies.failures import recurrence
from muster.state.policies.gathering import blocked
from muster.state.view.lead import Lead, Point, between, thinned
from muster.state.vocabulary.record import Phase, Record

ROUNDED: Final = 1.0
"""Seconds by which the end of a container, in whole seconds, may be too early."""
HELD: Final = 25_000
"""Milliseconds of a hang that are counted when it is over: a look sees its end so late at most, also in large gangs."""
LATE: Final = 5.0
"""Seconds after which a complete roll is seen at most. Programs may be at work by then."""
PAUSES: Final = {each.value: each for each in (Bucket.CHECKPOINT_SAVE, Bucket.CHECKPOINT_RESTORE, Bucket.DATA_LOADING)}


def bucket_of(record: Record) -> Bucket | None:
    """Return the bucket of the time while the record is so; None: it is suspended, or over."""
    if record.finished or record.phase is Phase.SUSPENDED:
        return None
    if record.phase is Phase.QUEUED or blocked.queued(record):
        return Bucket.QUEUED
    if record.stuck_reason not in ("", recurrence.REASON):  # such a gang works until it fails
        return Bucket.STUCK
    if record.phase is Phase.RUNNING:
        return Bucket.PRODUCTIVE
    if record.broken_at is not None or record.phase is Phase.RESTARTING:
        return Bucket.RECOVERY
    if record.phase is Phase.ASSEMBLING:
        return Bucket.ASSEMBLY
    return Bucket.SCHEDULING if record.scheduled_at is None else Bucket.STARTUP


def account(context: Context, before: Record | None, after: Record) -> Record:
    """Return the record ``after``, which is written now, with the time until now counted by the state of ``before``."""
    now, bucket = context.now, bucket_of(after)
    sums = after.goodput or _begun(before, after, now)
    until = min(now, after.finished_at) if after.finished and after.finished_at is not None else now
    ran = before is not None and before.phase is Phase.RUNNING
    leaves = ran and (after.phase is not Phase.RUNNING or before is None or before.epoch != after.epoch)
    closes = sums.bucket == Bucket.STUCK and bucket is not Bucket.STUCK
    lead = None
    if ran and before is not None:
        progress = context.view.progress_of(before.epoch)
        since = _since(before, sums)
        sums, worked = _of_epoch(sums, before.epoch), sums.bucket == Bucket.PRODUCTIVE
        lead = _dated(progress.lead, sums, since) if progress and progress.lead else None
        hang = None if worked else _Hang()
        if closes:  # before the pauses and steps since: what they have of this time follows from it
            sums, hang = _unstuck(sums, until, lead, over=not leaves)
            sums = _turned(sums, bucket, until, ran=ran)
        if lead is not None and progress is not None:
            former = progress.former if not _counted(sums, lead, since) else None
            for each in (former, lead) if former is not None else (lead,):
                ended = _ended(context, after, sums, each, since)
                sums = _reported(sums, each, since, until, hang, ended, dated=progress.moved or leaves)
                sums = _marked(_unwatched(sums, _ms(progress.unwatched), until), each, since, until)
        if leaves and worked:
            sums = _left(sums, context, lead, before, after, until)
    elif before is not None and before.phase is Phase.ASSEMBLING and after.phase is Phase.SUCCEEDED:
        began = min(until, before.assembling_at or until)
        sums = replace(sums.at(began), bucket=Bucket.PRODUCTIVE)
        sums = sums.taken(Bucket.OTHER, _ms(until - max(began, _over(context, after, until))))
    if (bucket or "") != sums.bucket:
        sums = _turned(sums, bucket, until, ran=ran)
        if bucket is Bucket.STUCK and ran and not leaves and after.stuck_reason in HANGS:
            sums = _hung(sums, context, lead, after.stuck_reason)
    if after.phase is Phase.RUNNING and (not ran or leaves):
        sums = _of_epoch(sums, after.epoch)
    return replace(after, goodput=sums)


def _over(context: Context, after: Record, until: float) -> float:
    """Return when a success that was seen late was over: its last pod had ended, its coordinator answered no more."""
    if after.phase is not Phase.SUCCEEDED or not context.tally.ended_at:
        return until
    ended = max(context.tally.ended_at + ROUNDED, context.probe.last_served_at if context.probe else 0.0)
    return ended if until - ended > LATE else until


def _since(before: Record, sums: Goodput) -> float:
    """Return when the roll was complete, by the present wall clock: ``before`` has the times as they were persisted."""
    if before.assembled_at is None:
        return sums.counted_at
    return before.assembled_at + (sums.counted_at - before.goodput.counted_at if before.goodput else 0.0)


def _dated(lead: Lead, sums: Goodput, since: float) -> Lead:
    """Return the lead with the time of its last report as the daemon before knew it.

    A daemon that takes over while nothing is reported reads an old report as if it were new. When the first step began
    is persisted, and the program has both by one clock, unless it has worked for less than its marks show: it was
    started again since.
    """
    steps = sums.steps
    if steps is None or not steps.program_startup or steps.first != lead.first or lead.spent.begun < 0:
        return lead
    if steps.restarts != lead.spent.restarts or lead.after > _first_at(steps, since):
        return lead
    if sums.marks and _ms(lead.at - lead.begun + ROUNDED) < sums.marks[-1].ms - steps.base:
        return lead
    return replace(lead, offset=min(lead.offset, since + steps.program_startup / 1000 - lead.begun))


def _begun(before: Record | None, after: Record, now: float) -> Goodput:
    """Return the sums of a record that has none: it is new, or an older Muster wrote it."""
    if before is None:
        return Goodput(counted_at=now, bucket=bucket_of(after) or "")
    return Goodput(counted_at=min(before.phase_at, now), bucket=bucket_of(before) or "")


def _turned(sums: Goodput, bucket: Bucket | None, until: float, *, ran: bool) -> Goodput:
    """Return the sums with the time until then counted; from then on it goes into another bucket."""
    if not sums.bucket:
        return replace(sums, counted_at=until, bucket=bucket or "")
    counted = replace(sums.at(until), bucket=bucket or "")
    if ran and sums.bucket == Bucket.STUCK and sums.steps is not None:
        more = counted.stuck - sums.stuck
        return replace(counted, steps=replace(sums.steps, stuck=sums.steps.stuck + more))
    return counted


def _hung(sums: Goodput, context: Context, lead: Lead | None, reason: str) -> Goodput:
    """Return the sums with a hang counted from the last report on, else from when the gang was still."""
    if lead is not None and reason == HUNG:
        return _stuck(sums, _ms(context.now - lead.reported_at), HELD)
    found = hangs.by_collectives(context) or hangs.by_places(context)
    return sums if found is None else _stuck(sums, _ms(context.now - found.since), 0)


def _stuck(sums: Goodput, ms: int, held: int) -> Goodput:
    """Return the sums with that time of a hang counted as such, but for ``held``, which is counted when it is over."""
    assert sums.steps is not None
    steps, ms = sums.steps, max(0, min(ms, sums.net - sums.steps.base))
    held = min(ms, held)
    steps = replace(steps, stuck=steps.stuck + ms - held, hang=ms - held if held else 0, held=held)
    return replace(sums.taken(Bucket.STUCK, ms - held), steps=steps)


class _Hang(NamedTuple):
    """Milliseconds of a hang that is over. All are 0 if it was not productive for another reason."""

    stuck: int = 0
    """The time that is counted of it, from the last report before it on."""
    after: int = 0
    """The productive part of the time from that report until now."""

    def apart(self, pause: int) -> int:
        """Return the part of a pause, seen with its end, that is not Stuck. One that is as long contains it."""
        return min(self.after, pause - self.stuck if pause >= self.stuck else pause)


def _unstuck(sums: Goodput, until: float, lead: Lead | None, *, over: bool) -> tuple[Goodput, _Hang]:
    """Return the sums with the rest of a hang that is over, and that hang.

    A look sees the first report some seconds after it was made, and a counter does not fall. So those seconds were held
    back. The hang was the longest time between two reports of the epoch, which the program knows exactly.
    """
    steps = sums.steps
    if steps is None or not steps.held:
        return sums, _Hang()
    counted = steps.hang + sums.at(until).stuck - sums.stuck
    exact = _ms(lead.longest) if over and lead is not None else 0
    rest = min(steps.held, max(0, exact - counted)) if exact > steps.hang else steps.held
    rest = min(rest, sums.net - steps.base)
    found = _Hang(counted + rest, steps.held - rest)
    steps = replace(steps, stuck=steps.stuck + max(0, rest), hang=0, held=0)
    return replace(sums.taken(Bucket.STUCK, rest), steps=steps), found


def _unwatched(sums: Goodput, ms: int, until: float) -> Goodput:
    """Return the sums with a hang of that length counted whole, which began before this daemon looked and is over."""
    steps = sums.steps
    if steps is None or ms <= steps.stuck or sums.bucket == Bucket.STUCK:
        return sums
    sums = sums.at(until)
    more = max(0, min(ms - steps.stuck, sums.net - steps.base))
    return replace(sums.taken(Bucket.STUCK, more), steps=replace(steps, stuck=steps.stuck + more))


def _of_epoch(sums: Goodput, epoch: int) -> Goodput:
    """Return the sums with an account of that epoch, whose roll is complete."""
    if sums.steps is not None and sums.steps.epoch == epoch:
        return sums
    return replace(sums, steps=EpochSteps(epoch=epoch, base=max(0, sums.net)))


def _first_at(steps: EpochSteps, since: float) -> float:
    """Return when the first step of the processes that are counted began, in wall seconds."""
    return since + max(steps.begun, steps.program_startup) / 1000


def _newer(sums: Goodput, lead: Lead, since: float) -> bool:
    """Return True if the lead is another process than the one that is counted, and began its steps after that.

    torchrun counts its restarts. Of others the pod shows that a container ended, or was started, between the first
    steps of the two. The restart of a sidecar is before or after both.
    """
    steps = sums.steps
    if steps is None or steps.first < 0:
        return False
    first_at = _first_at(steps, since)
    return lead.spent.restarts > steps.restarts or (lead.after > first_at and lead.begun_at > first_at + ROUNDED)


def _counted(sums: Goodput, lead: Lead, since: float) -> bool:
    steps = sums.steps or EpochSteps()
    return steps.first >= 0 and lead.spent.restarts == steps.restarts and not _newer(sums, lead, since)


def _ended(context: Context, after: Record, sums: Goodput, lead: Lead, since: float) -> float | None:
    """Return when the processes before those of the lead ended, by their pod; None if it does not show that.

    A pod has only the last end: of several since their first step, the first is unknown. What follows the first member
    of a gang ends later.
    """
    pod, steps, row = context.tally.members.get(lead.rank), sums.steps, after.in_place
    ended = pod.last_exit if pod is not None else None
    if ended is None or steps is None or not 0 < ended.started_at < _first_at(steps, since) < ended.finished_at:
        return None
    first = row.cause.at if row is not None and row.cause is not None else inf
    followed = row is not None and first <= ended.finished_at <= row.latest_at
    return (first if followed else ended.finished_at) + ROUNDED


def _reported(
    sums: Goodput, lead: Lead, since: float, until: float, hang: _Hang | None, ended: float | None, *, dated: bool
) -> Goodput:
    """Return the sums with what the lead reports about its time. ``since``: when the roll was complete.

    Its pauses while the gang is Stuck are split between the buckets when that is over, with ``hang``. Its startup is
    counted once its clock is ``dated``: the only report that a daemon has read may be an old one.
    """
    steps, begun_at = sums.steps, lead.begun_at
    assert steps is not None
    if steps.first < 0:
        known = begun_at < since - LATE  # it was at work before its time was counted
        steps = replace(steps, begun=_ms(begun_at - since))
        sums = _resumed(sums, _before_it(steps, lead) if known else steps, lead)
    elif dated and _newer(sums, lead, since) and sums.bucket != Bucket.STUCK:
        sums = _restarted(sums, steps, lead, since, until, ended)
    steps = sums.steps or EpochSteps()
    if sums.bucket == Bucket.STUCK or not _counted(sums, lead, since):
        return replace(sums, steps=steps)
    startup = 0
    if dated and lead.first == steps.first:
        startup = _ms(begun_at - since)
        steps = replace(steps, begun=startup)
    for bucket, figure in {Bucket.PROGRAM_STARTUP: startup, **_pauses(lead)}.items():
        more = figure - getattr(steps, bucket.value)
        if more > 0:
            apart = more if hang is None or bucket is Bucket.PROGRAM_STARTUP else hang.apart(more)
            sums = sums.at(until)  # time that is taken back must have been counted
            sums = sums.taken(bucket, min(apart, sums.net - steps.base))
            stuck = max(0, steps.stuck - (more - apart))  # the program's clock of work stops in a pause that hangs
            steps = replace(steps, stuck=stuck, **{bucket.value: figure})
    return replace(sums, steps=steps)


def _marked(sums: Goodput, lead: Lead, since: float, until: float) -> Goodput:
    """Return the sums with the places of the steps that the lead has reached."""
    steps = sums.steps
    assert steps is not None
    if not _counted(sums, lead, since):
        return sums
    origin = max(lead.begun, since - lead.offset - steps.skipped / 1000)
    marks, most = list(sums.marks), sums.at(until).net
    for step, work in lead.points:
        last = marks[-1] if marks else StepMark(steps.first, steps.base)
        if step > last.step:
            place = steps.base + round(1000 * (work - origin)) - steps.stuck
            marks.append(StepMark(step, min(max(place, last.ms), max(most, last.ms))))
    kept = thinned(tuple(Point(mark.step, mark.ms) for mark in marks), MAX_MARKS)
    return replace(sums, marks=tuple(StepMark(step, int(ms)) for step, ms in kept))


def _restarted(
    sums: Goodput, steps: EpochSteps, lead: Lead, since: float, until: float, ended_at: float | None
) -> Goodput:
    """Return the sums when processes were restarted inside the pods: those before ended with their last step read.

    That is, unless their end is known. Until the first step of the present ones, the time is that of the recovery.
    """
    sums, begun_at = sums.at(until), lead.begun_at
    begun = max(steps.base, sums.net - _ms(until - begun_at))
    ended = min(begun, sums.marks[-1].ms if sums.marks else begun)
    if ended_at is not None:
        ended = min(begun, max(ended, sums.net - _ms(until - ended_at)))
    resumed = steps.resumed + (lead.spent.restarts <= steps.restarts)
    sums = sums.taken(Bucket.RECOVERY, begun - ended)
    steps = EpochSteps(steps.epoch, ended, program_startup=_ms(begun_at - since), resumed=resumed)
    return _resumed(sums, steps, lead)


def _resumed(sums: Goodput, steps: EpochSteps, lead: Lead) -> Goodput:
    """Return the sums when the first step of the epoch is known: what was done before, and after that step, is lost."""
    first = lead.first
    lost = min(steps.base, max(0, steps.base - _place(sums.marks, first, steps.base)))
    steps = replace(steps, first=first, base=steps.base - lost, restarts=lead.spent.restarts)
    marks = (*(mark for mark in sums.marks if mark.step < first), StepMark(first, steps.base))
    return replace(sums.taken(Bucket.LOST, lost), steps=steps, marks=marks)


def _place(marks: tuple[StepMark, ...], step: int, most: int) -> int:
    """Return the place of a step in the productive time; ``most`` if nothing is known about it."""
    if not marks:
        return most
    if step <= marks[0].step:
        return marks[0].ms
    later = next((place for place, mark in enumerate(marks) if mark.step >= step), len(marks) - 1)
    if later == 0:
        return most
    before, after = marks[later - 1], marks[later]
    return min(most, round(between((before.step, before.ms), (after.step, after.ms), step)))


def _before_it(steps: EpochSteps, lead: Lead) -> EpochSteps:
    """Return the account with the pauses of the lead so far as counted: they were before its time was."""
    done = {bucket.value: figure for bucket, figure in _pauses(lead).items()}
    return replace(steps, skipped=_ms(lead.spent.paused), **done)


def _pauses(lead: Lead) -> dict[Bucket, int]:
    spent = lead.spent
    return {
        Bucket.CHECKPOINT_SAVE: _ms(spent.saved),
        Bucket.CHECKPOINT_RESTORE: _ms(spent.restored),
        Bucket.DATA_LOADING: _ms(spent.loaded),
        Bucket.OTHER: _ms(spent.paused - spent.saved - spent.restored - spent.loaded),
    }


def _left(sums: Goodput, context: Context, lead: Lead | None, before: Record, after: Record, until: float) -> Goodput:
    """Return the sums when the gang no longer runs: the part of its last time that was not productive is taken back."""
    steps, cause = sums.steps, after.cause
    assert steps is not None
    if cause is not None and cause.epoch == before.epoch and cause.at and after.phase is not Phase.SUCCEEDED:
        ended = max(cause.at + ROUNDED, lead.reported_at if lead is not None else 0.0)
        sums = sums.taken(Bucket.RECOVERY, min(_ms(until - ended), sums.at(until).net - steps.base))
        until_then = min(until, ended)
    else:
        until_then = _over(context, after, until)
        sums = sums.taken(Bucket.OTHER, min(_ms(until - until_then), sums.at(until).net - steps.base))
    if lead is None or steps.first < 0:
        probe = context.view.probe_result_of(before.epoch)
        answered = context.plan.asked is None or (probe is not None and probe.served)
        if after.steps is not None and answered and steps.first < 0:  # this epoch came to no step
            return sums.taken(Bucket.PROGRAM_STARTUP, sums.at(until).net - steps.base)
        return sums
    if not lead.pause:
        silent, progress = until_then - lead.reported_at, context.view.progress_of(before.epoch)
        if progress is None or progress.moved or not progress.repeated or after.phase is Phase.SUCCEEDED:
            return sums
        hung = not progress.hung and silent >= progress.lasting_patience  # this daemon took over in that silence
        return sums.taken(Bucket.STUCK, min(_ms(silent), sums.at(until).net - steps.base)) if hung else sums
    paused = min(_ms(until_then - lead.reported_at), sums.at(until).net - steps.base)
    return sums.taken(PAUSES.get(lead.spent.kind, Bucket.OTHER), paused)


def _ms(seconds: float) -> int:
    return max(0, micros(seconds) // 1000)
