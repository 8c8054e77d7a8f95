"""Sentences of ends that failures bring about, by their reason (``policies.restart``), and of the cost of a restart."""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from muster.api.gang import MAX_PLACES, SameFailure
from muster.api.goodput import EpochSteps, StepMark
from muster.api.values.durations import age, count_of
from muster.api.values.rank_ranges import of_ranks
from muster.state.facts.context import Context
from muster.state.facts.sentences import NAMED_RANGES, sentence
from muster.state.policies import restart
from muster.state.policies.failures import recurrence
from muster.state.policies.verdicts import Fail
from muster.state.vocabulary.plan import MAX_EPOCH, Plan
from muster.state.vocabulary.record import Record


def worded(context: Context, end: Fail) -> Fail:
    """Return that end with its message; one of another kind has a message already."""
    if end.message:
        return end
    parts = (_why(context, end), "") if end.cause is None else (sentence(end.cause), _why(context, end))
    if end.reason == recurrence.REASON and end.cause is not None:
        parts = recurring(recurrence.ended(context, end.cause)), sentence(end.cause)
    elif end.reason == restart.GIVEN_UP:
        ranks = restart.given_up(context)
        were = f"{of_ranks(ranks, NAMED_RANGES)} failed and {'was' if len(ranks) == 1 else 'were'} not run again"
        parts = "every member has ended", were
    return replace(end, message="; ".join(filter(None, parts)))


def _why(context: Context, end: Fail) -> str:
    plan, rule, limit = context.plan, end.rule, context.plan.restarts.limit
    match end.reason:
        case restart.RULE_USED_UP if rule is not None:
            return f"limit of failure rule {restart.limited(plan, rule)} reached ({rule.limit})"
        case restart.BY_RULE:
            which = f"failure rule {rule.name}" if rule is not None and rule.name else "a failure rule"
            return f"{which} ends the experiment"
        case restart.EXHAUSTED if not limit:
            return "not restarted (restart limit 0)"
        case restart.EXHAUSTED:
            return f"restart limit reached ({limit} of {limit}{_span(plan)})"
        case restart.DISRUPTED:
            most = plan.restarts.max_disruptions
            return f"limit of disruptions in a row reached ({most} of {most})"
    return ""


def share(plan: Plan, record: Record) -> str:
    """Return ``4 of 6``, ``1 of 3 since its last progress``: the counted restarts that count now, of those allowed."""
    limit = f" of {plan.restarts.limit}" if plan.restarts.limit < MAX_EPOCH else ""
    return f"{restart.used(record)}{limit}{_span(plan)}"


def recurring(record: Record) -> str:
    """Return ``the last 3 failures are the same, with at most 12s of work in between: exit code 1: ...``; places."""
    row = record.same_failure
    assert row is not None
    best = f" (best step {record.best_step:,})" if record.best_step is not None else ""
    work = f"with at most {age(row.work)} of work in between" if row.work else "without progress in between"
    same = f"the last {row.count} failures are the same, {work}{best}: {row.failure}"
    return "; ".join(filter(None, (same, _places(row))))


def _places(row: SameFailure) -> str:
    """Return what the places of the failures point to; empty if they point to nothing."""
    if len(row.nodes) > 1:
        more = " and others" if len(row.nodes) == MAX_PLACES else ""
        return f"they were on different nodes ({', '.join(row.nodes)}{more}), which points to the program"
    if row.nodes and row.spread and len(row.ranks) > 1:
        ranks = ", ".join(map(str, row.ranks))
        return f"all were on node {row.nodes[0]}, of different ranks ({ranks}), which points to the node"
    return ""


def _span(plan: Plan) -> str:
    return " since its last progress" if plan.restarts.renews else ""


REASON: Final = "StepsResumed"
LEAST: Final = 1_000
"""Milliseconds without a step from which nothing is concluded."""


def turns(before: Record | None, after: Record) -> Iterator[tuple[str, str, bool]]:
    """Yield the line of the story with the cost of a restart, in the write that has the first step of the new epoch.

    ``resumed at step 40: 16 steps (8 s) lost, 22 s to recover``, or ``at least 16 steps`` if the last step was read
    some time before the end. The lost time is that of the account (``state.summary.goodput``); the way back lasts from
    the end of the last epoch that took steps to the first step of this one. The same holds of processes that were
    restarted inside the pods: ``torchrun restarted its processes; resumed at step 40: at least 16 steps (8 s) lost
    ...``. If the kubelet has restarted them, the line ``RestartedInPlace`` names the container.
    """
    if before is None or before.goodput is None or after.goodput is None:
        return
    steps, marks = after.goodput.steps, before.goodput.marks
    if steps is None or steps.first < 0 or not marks or _begun(before.goodput.steps, steps):
        return
    known = before.goodput.steps
    inside = known is not None and known.epoch == steps.epoch and steps.restarts + steps.resumed > 0
    count, ms = max(0, marks[-1].step - steps.first), after.goodput.lost - before.goodput.lost
    more = "at least " if (inside and count) or _unread(marks, steps.base + ms) else ""
    lost = f"{more}{count_of(count, 'step')} ({_seconds(ms)}) lost"
    if not count:
        lost = "steps that were not read may be lost" if more else "no step lost"
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
