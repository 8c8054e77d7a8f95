"""The summary of the status for people, computed from the record at every step, and when it is written.

A status holds five kinds of things, and each has its own time:

- *facts* (phase, epoch, restarts, cause, times): at once. They move with the life of the gang, which back-off bounds.
- *turns* (status or reason of a condition that no fact carries: CoordinatorReady, Stuck): at once, from the budget.
- *words* (the sentences and the reason): 4 s after the last write at the latest, from the budget.
- *steps* that programs report: with the next write, and 60 s after the last one, from the budget (``write_at``). The
  first ones after a restart, which show what it cost: as words.
- *counts* (ready, roll) that no sentence shows: with the next write.

The budget (``state.view.turns``) is six writes in a row and one more every 12 s. So a sentence that is no longer true
is shown for 4 s at most while there is budget, and for 12 s at most if it has changed faster than five times a minute
for a while; an experiment makes at most 11 such writes in its worst minute and five in each one after that, and each
writes the Events of its turns only. Two rules keep the budget for what is new: what flaps is damped where it is judged
(a coordinator is lost after 4 s of silence, and comes back for good only after a time that doubles), and the sentence
of a gang of more than ``EXACT`` members names the half that its count is in, which stays true while the count moves:
the start of 512 members costs 6 status writes and not 512.

The daemon's page and metrics have every count as it changes, at no cost to the API server.
"""

from itertools import starmap
from math import ceil
from typing import NamedTuple

from msgspec.structs import replace

from muster.api.gang import HeldDevices, RollCall, Steps, of_restarts_inside
from muster.api.values.durations import age, count_of
from muster.api.wire.kinds import MAX_COUNTER
from muster.state.facts import admission, gates, presence
from muster.state.facts.context import Context, held
from muster.state.facts.diagnosis import hangs
from muster.state.facts.sentences import WORDS, of_lingering, sentence, share, still_running
from muster.state.policies import container_restarts
from muster.state.policies.failures import known, recurrence
from muster.state.policies.gathering import blocked, lateness
from muster.state.policies.rendezvous import Assembly
from muster.state.policies.watched import following
from muster.state.policies.watched.obstacles import RESTARTED_IN_PLACE
from muster.state.summary import history
from muster.state.summary.conditions import renew, roll_never_seen
from muster.state.summary.gathering import Gathering, gathering, joined
from muster.state.summary.history import of_edits, of_volume
from muster.state.view.progress import Progress
from muster.state.view.recorder.arrivals import Arrivals
from muster.state.view.roll import STALE_MEMBERS, RankState
from muster.state.view.turns import WriteBudget
from muster.state.vocabulary.group import Completeness
from muster.state.vocabulary.record import Condition, ConditionType, Phase, Record
from muster.state.vocabulary.rules import ClockName

TURNING = (ConditionType.COORDINATOR_READY, ConditionType.STUCK)
"""Conditions that turn without a new fact."""
WORDS_AFTER = 4.0
"""Seconds after the last write within which sentences follow the truth."""


class Due(NamedTuple):
    """The decision on a write: whether now, when at the earliest if not, and whether it costs a write of the budget."""

    write: bool
    at: float | None = None
    paid: bool = False


def summarize(context: Context, assembly: Assembly) -> Record:
    """Return the record with its summary computed again."""
    plan, record = context.plan, context.record
    ready, roll = context.tally.ready + context.tally.succeeded, record.roll
    if record.finished:  # the count at the end stays when the pods are deleted
        ready, roll = (plan.size, None) if roll_never_seen(context) else (record.ready, roll)
    elif plan.lifecycle.deleting:
        roll = None  # its pods leave
    elif record.gathering and plan.asked and lateness.known_in(context):
        ended = sum(rank >= plan.expected for rank in context.tally.done) if plan.expected < plan.size else 0
        ready, roll = assembly.arrived + ended, RollCall(plan.expected, assembly.arrived, assembly.missing)
    coordinator = plan.coordinator_address(record.epoch)
    gathered = gathering(context, assembly)
    conditions = renew(context, assembly, gathered, coordinator)
    reason, message = record.reason, record.message
    restarts = container_restarts.track(context)
    stuck = assembly.stuck not in ("", recurrence.REASON)  # that one keeps no member
    if not record.finished:
        reason, message = _waiting_for(context, assembly, gathered, conditions)
        beside = _still_running(context) if _goes_on_beside(context) else ""
        slow = "" if stuck else hangs.of_work(context) or hangs.of_slow(context)
        named = reason in history.NAMED_BY or not record.gathering
        again = "" if named else history.container_restarts(restarts, record.epoch)
        edited = of_edits(record, plan.edits.remark)
        more = again, slow, beside, plan.notice_in(record.epoch), edited, of_volume(record)
        message = joined(message, *more)
    return replace(
        record,
        generation=plan.generation,
        size=plan.size,
        ready=ready,
        roll=roll,
        steps=read(context),
        devices=() if record.finished else tuple(starmap(HeldDevices, held(plan, context.view))),
        coordinator=coordinator,
        dashboard=plan.dashboard_address(record.epoch),
        deadline=_deadline(context),
        reason=reason,
        message=message,
        conditions=conditions,
        stuck=known.track(context, assembly.stuck, gathered.stuck),
        in_place=restarts,
    )


def _deadline(context: Context) -> float | None:
    """Return when the total clock passes; after the end, when it would have."""
    total, started = context.plan.clock(ClockName.TOTAL), context.record.started_at
    if context.record.finished:
        return context.record.deadline
    if blocked.queued(context.record):
        return None  # it is moved by the time in the queue
    return float(ceil(started + total.after)) if total and started is not None else None


def _waiting_for(
    context: Context, assembly: Assembly, gathered: Gathering, conditions: tuple[Condition, ...]
) -> tuple[str, str]:
    """Return the reason and one line: what it is waiting for."""
    record, tally, size = context.record, context.tally, context.plan.size
    words = WORDS[context.plan.engine]
    if context.plan.lifecycle.deleting:
        return history.DELETING, following.deletion(context)
    if assembly.stuck:
        return assembly.stuck, gathered.whole
    if record.phase is Phase.SUSPENDED:
        if admission.held(context) is not None:
            reason = "Queued" if context.view.admission else "Suspended"
            return reason, joined(gathered.whole, _still_running(context))
        own = context.view.own
        if own is not None and own.queued:
            return "Queued", joined(own.queued, history.of_suspension(record))
        what = words.suspended.format(kind=context.plan.subject.kind)
        return "Suspended", joined(what, history.of_suspension(record), _still_running(context) if words.beside else "")
    if record.phase is Phase.QUEUED:
        ending = "" if presence.none_older(context) else f"; waiting for {of_lingering(context)} to terminate"
        return "Queued", f"{gathered.whole}{ending}"
    if not presence.none_older(context) and not _goes_on_beside(context):
        return "AwaitingOldPods", f"waiting for {of_lingering(context)} to terminate{_after(record)}"
    if record.phase is Phase.RESTARTING:
        reason, what = words.restarting
        return reason, f"{what.format(epoch=record.epoch)}{_after(record)}"
    stale = record.phase is Phase.RUNNING and not assembly.complete and RankState.STALE in tally.roll
    if assembly.obstacle:
        pending = record.phase is Phase.PENDING
        if stale and assembly.obstacle.reason == RESTARTED_IN_PLACE:
            return STALE_MEMBERS, gathered.whole  # it names the restart, mostly the coordinator's, and the stale
        return assembly.obstacle.reason, gathered.obstacle if pending else gathered.whole
    if waiting := gates.awaited(context):
        return "AwaitingGroup", joined(waiting, gathered.whole)
    if record.phase is Phase.PENDING:
        if tally.pods < size and tally.scheduled == tally.pods:
            return "CreatingPods", f"{share(tally.pods, size)} pods created"
        scheduled = next(each for each in conditions if each.type is ConditionType.SCHEDULED)
        return "Pending", f"starting {count_of(size, 'member')}" if scheduled.status else scheduled.message
    if record.phase is Phase.ASSEMBLING:
        return "AwaitingRanks", gathered.whole
    if stale:
        return STALE_MEMBERS, gathered.whole
    coordinator = context.plan.coordinator
    if not assembly.complete and (coordinator is None or coordinator.complete is Completeness.ARRIVED):
        return "AwaitingRanks", gathered.whole
    return "RollComplete", gathered.whole


def _goes_on_beside(context: Context) -> bool:
    """Return True if its pods are made beside those of an older epoch: another controller makes them."""
    return WORDS[context.plan.engine].beside and context.record.gathering


def _still_running(context: Context) -> str:
    """Return which unwanted pods still run: their resources are not free."""
    older = [pod for tally in context.view.others(context.record.epoch) for pod in tally.alive.values()]
    stopped = [] if context.record.gathering else list(context.tally.alive.values())
    return still_running([*stopped, *older])


def _after(record: Record) -> str:
    return f"; {sentence(record.cause)}" if record.cause else ""


def due(before: Record | None, after: Record, budget: WriteBudget, now: float) -> Due:
    """Return when ``after`` is written; ``before`` is the record as persisted."""
    if before == after:
        return Due(False)
    if before is None or before.facts != _as_obstacle_of(before, after).facts:
        return Due(True)
    if before.reason == after.reason and before.message == after.message and _words(before) == _words(after):
        soon = write_at(before, after, now)
    else:
        updated_at = min(before.updated_at, now)  # a wall clock that was set back must not silence the status
        soon = now if _turns(before) != _turns(after) else updated_at + WORDS_AFTER
    if soon is None:
        return Due(False)
    at = max(soon, budget.free_at(now))
    return Due(now >= at, at, paid=True)


def _as_obstacle_of(before: Record, after: Record) -> Record:
    """Return ``after`` with the former reason of its obstacle: a kubelet alternates between reasons while it retries.

    What counts is since when an obstacle exists. Its reason is in the words, and is written with them.
    """
    was, now = before.blocked, after.blocked
    same = was is not None and now is not None and (was.since, was.gone_at) == (now.since, now.gone_at)
    return replace(after, blocked=was) if same else after


def _words(record: Record) -> list[tuple[object, ...]]:
    return [(each.type, each.reason, each.message) for each in record.conditions]


def _turns(record: Record) -> list[tuple[object, ...]]:
    return [(each.status, each.reason) for each in record.conditions if each.type in TURNING]


STEPS_AFTER = 60.0
"""Seconds after the last write of the status within which a further step is written."""


def read(context: Context) -> Steps | None:
    """Return the steps as they were read last, for people who read the API server only; ``Steps.at`` has their age.

    Those of the epoch before stay until the next one reports.
    """
    kept, epoch = context.record.steps, context.record.epoch
    seen = context.view.progress_of(epoch) or (context.view.progress_of(epoch - 1) if epoch else None)
    if seen is None or (kept is not None and kept.epoch > seen.epoch) or not seen.ranks:
        return kept  # steps that are only resumed from the record are no news
    rate = "" if seen.rate is None else shown_rate(seen.rate).replace(",", "")
    patience = min(ceil(seen.lasting_patience), MAX_COUNTER) if seen.sent else 0
    at = seen.moved_at if seen.sent else seen.read_at
    return Steps(seen.epoch, seen.step, rate, seen.reporting, patience, at, seen.restarts)


def write_at(before: Record, after: Record, now: float) -> float | None:
    """Return when ``after`` is written for its steps alone; None if the programs have come no further.

    Steps move all the time, and a write for each would be a write a second. A gang that reports nothing, or makes no
    progress, costs no write.
    """
    if after.finished or after.steps is None:
        return None
    resumes = before.steps is not None and _life(before.steps) < _life(after.steps)
    if before.steps is not None and not resumes and before.steps.step == after.steps.step:
        return None
    return min(before.updated_at, now) + (WORDS_AFTER if resumes else STEPS_AFTER)


def _life(steps: Steps) -> tuple[int, int]:
    return steps.epoch, steps.restarts


def of_progress(progress: Progress, now: float) -> str:
    """Return how far the gang has come, for pages: ``step 1,840, 9.81 steps/s, slowest rank 2 at 1,838``."""
    parts = [f"step {progress.step:,}"]
    if progress.rate is not None:
        parts.append(f"{shown_rate(progress.rate)} steps/s")
    if progress.slowest is not None:
        parts.append(f"slowest rank {progress.slowest} at {progress.slowest_step:,}")
    if progress.straggling:
        parts.append(count_of(progress.straggling, "straggler"))
    if progress.restarts:
        parts.append(of_restarts_inside(progress.restarts))
    if progress.hung:
        parts.insert(0, f"no step since {age(now - progress.moved_at)}")
    return ", ".join(parts)


def shown_rate(rate: float) -> str:
    """Return three digits: 9.81, 0.0125, 1,840."""
    return f"{rate:,.0f}" if rate >= 1000 else f"{rate:.3g}"


def of_arrivals(arrivals: Arrivals) -> str:
    """Return who comes last to which collectives, by how much, for pages; empty if none does."""
    last = arrivals.last
    if not last:
        return ""
    one = last[0]
    it = "it waits" if len(last) == 1 else f"rank {one.rank} waits"
    return (
        f"{hangs.of_last(arrivals)}, {one.seconds:.2g} s after half of the others: "
        f"{it} in them for {one.waits:.0%} of its time, they for {one.others:.0%}"
    )
