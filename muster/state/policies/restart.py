"""Restart: what follows the failure of a member. The file reads from top to bottom, as a restart is decided.

1. **The cause** (``first_cause``). The first failing container is the cause, and the burst that follows it is one
   restart, because a failure counts only in its own epoch. What was done to a member (preemption, eviction, node loss,
   a deleted pod) is a disruption. If both are seen, the disruption came first: the processes of a drained node crash
   because of it. Survivors (``culprit``) are a consequence: they come after every other failure. If only they are seen
   while a pod is deleted or missing, the missing pod is the cause: a daemon that was away while a member was preempted
   finds its pod gone, and with it the condition that it was a disruption. Else the cause is what the gang was known to
   wait for (``known``), or the rank that they or the coordinator name, if they name one within seconds.
2. **Is it sure** (``unsure``). A failure is monotone: a late cache cannot invent one. But it can hide what came before
   it, above all the disruption, so a failure is charged only on what the live API reports since. That a pod is *gone*
   is not monotone; it counts only after the live API has confirmed it (``engine.lost``).
3. **Which rule** (``rule_for``): the first that matches the cause. If that concerns a member or a job, each of the
   other failures is judged in the same decision, and one that concerns the gang goes first.
4. **What it costs** (``spend``). A counted restart, of the gang or of a part of it, uses one unit of
   ``restartPolicy.backoffLimit``; with ``renewOnProgress`` only the restarts since the gang made progress count
   (``recurrence``). A rule with a ``limit`` applies so many times in the life of the experiment, whatever the budget
   has left. A restart that is not counted needs the row of disruptions to be shorter than the plan allows. What is used
   up ends the experiment, and the message names it (``summary.ends``).
5. **The next epoch** (``restarted``), or the next attempt of a member or a job (``failures.repair``).
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final

from msgspec.structs import replace

from muster.api.gang import JobRestarts, RuleUse
from muster.state.facts import presence
from muster.state.facts.context import Context
from muster.state.facts.failure_cause import cause_of, first_rule, gone_cause
from muster.state.policies.failures import culprit, known, recurrence, repair, restart_reasons
from muster.state.policies.failures.repair import Repairs
from muster.state.policies.verdicts import Fail, ReadFirst, Repair, Requeue, Restart, Wait
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Cause, ConditionType, Phase, Record, restarts_of
from muster.state.vocabulary.rules import FailureAction, FailureRule
from muster.state.vocabulary.transitions import enter, next_epoch

RULE_USED_UP: Final = "FailureRuleLimitExceeded"
BY_RULE: Final = "FailureRule"
EXHAUSTED: Final = "BackoffLimitExceeded"
DISRUPTED: Final = "MaxDisruptionsExceeded"
GIVEN_UP: Final = "IgnoredMembersFailed"
"""The reasons of ends."""


def judge(context: Context) -> Restart | Repair | Fail | ReadFirst | Wait | None:
    """Restart, repair or fail because of the first failing member, if one failed."""
    cause = first_cause(context)
    if cause is None:
        return _all_given_up(context)
    if unsure(context, cause):
        return ReadFirst()
    until = culprit.awaited_until(context, cause)
    return spend(context, cause) if until is None else Wait(until)


# --- 1. the cause


def first_cause(context: Context) -> Cause | None:
    """Return the failure or disruption that this epoch has suffered first."""
    tally = context.tally

    def order(pod: Pod) -> tuple[bool, float, int]:
        at = pod.exit.finished_at if pod.exit and pod.exit.finished_at else float("inf")  # 0: the kubelet gave no time
        return culprit.is_survivor(context.plan, pod), at, pod.rank

    disrupted = [pod for pod in tally.disrupted.values() if pod.terminating or pod.failed]
    if pod := min(disrupted, key=order, default=None):
        return cause_of(context, pod)
    failed = [pod for pod in tally.failed.values() if not pod.terminating]
    if (pod := min(failed, key=order, default=None)) and not culprit.is_survivor(context.plan, pod):
        return (known.gave_up(context.plan, pod) and known.cause(context)) or cause_of(context, pod)
    candidates = (*tally.leaving.values(), *tally.failed.values())
    if pod := min(candidates, key=lambda pod: (not pod.terminating, order(pod)), default=None):  # deleted pods first
        missing = context.launched and context.tally.pods < context.plan.together
        if not pod.terminating and missing and not context.plan.piecewise:  # nothing brings the missing pod back
            return _gone(context)
        return (not pod.terminating and _of_survivors(context)) or cause_of(context, pod)
    return _gone(context)


def _of_survivors(context: Context) -> Cause | None:
    """Return the cause with the ranks that survivors waited for, else with the rank that they name, else without."""
    waited_for = known.cause(context)
    if waited_for is not None and waited_for.rank >= 0:
        return waited_for
    return culprit.cause(context) or waited_for


def _gone(context: Context) -> Cause | None:
    """Return the cause of a member's pod that is gone, once the live API has confirmed it (see ``ConfirmLoss``)."""
    if context.plan.piecewise:
        return next(_lost(context), None)
    if context.view.engine.lost != context.record.epoch:
        return None
    rank = next(iter(context.view.engine.lost_ranks), min(context.tally.gone, default=-1))
    member = context.plan.member(rank)
    if member is None:
        return Cause(context.record.epoch, "PodDeleted", "a member's pod is gone", context.now, disruption=True)
    return gone_cause(context, rank, member.group)


def _lost(context: Context) -> Iterator[Cause]:
    """Yield the loss of each member whose pod is gone for sure, of a gang whose members run again one by one."""
    tally, record = context.tally, context.record
    for epoch, rank, attempt in sorted(context.view.engine.lost_attempts):
        member = context.plan.member(rank)
        if epoch != record.epoch or member is None or attempt != tally.attempts.get(rank, 0):
            continue
        if not presence.has_pod_or_needs_none(context, rank):
            yield gone_cause(context, rank, member.group)


def _others(context: Context, first: Cause) -> Iterator[Cause]:
    """Yield every other failure of the epoch that may be charged now."""
    tally, read = context.tally, context.view.engine.live_read
    version = read.version if read else 0
    seen = {first.uid}
    disrupted = [pod for pod in tally.disrupted.values() if pod.terminating or pod.failed]
    for pod in (*disrupted, *tally.failed.values(), *tally.leaving.values()):
        if pod.uid in seen:
            continue
        seen.add(pod.uid)
        cause = cause_of(context, pod)
        if cause.disruption or pod.resource_version <= version:
            yield cause
    yield from _lost(context)


# --- 2. is it sure


def unsure(context: Context, cause: Cause) -> bool:
    """Return True if the failure would be charged, and the pods were not read past the cache since it was first seen.

    A late cache may hide what refutes a known cause: so it is read, too, if the platform is charged.
    """
    if cause.disruption and not cause.evidence:
        return False
    failed, read = context.tally.failed, context.view.engine.live_read
    if context.plan.piecewise and cause.uid in failed:  # another member may have failed, and been read, long before
        return read is None or read.version < failed[cause.uid].resource_version
    return read is None or read.version < min(pod.resource_version for pod in failed.values())


# --- 3. which rule


def rule_for(context: Context, cause: Cause, jobs: Mapping[int, JobRestarts], *, of_job: bool = False) -> FailureRule:
    """Return the rule for that failure, with the last words of the member if nothing else explains it.

    ``jobs`` has what each job has used up of a rule.
    """
    pod = context.tally.failed.get(cause.uid)
    last_words = pod.exit.message if pod is not None and pod.exit is not None else ""
    job = context.plan.job_of(cause.rank)
    held = jobs.get(job) if job is not None else None
    failure = replace(cause, message=cause.message or last_words)
    return first_rule(context.plan, failure, held.failures if held else 0, of_job=of_job)


def mends(context: Context, group: Group) -> bool:
    """Return True if a member of that group whose pod is lost concerns only itself or its job."""
    lost = gone_cause(context, group.first_rank, group.name)
    return rule_for(context, lost, restarts_of(context.record.job_restarts)).action.partial


# --- 4. what it costs


def spend(context: Context, cause: Cause, *, of_job: bool = False) -> Restart | Repair | Fail:
    """Apply the plan's rules to that cause, and to all other failures of the epoch."""
    plan, totals, repairs = context.plan, context.record, Repairs(context)
    ends: list[tuple[FailureRule, Cause]] = []
    for each in chain((cause,), _others(context, cause)):
        if each.rank in repairs:
            continue
        rule = rule_for(context, each, repairs.jobs, of_job=of_job and each is cause)
        if rule.action.partial and each.rank >= 0:
            after = _charged_for_part(plan, totals, rule, each)
            if isinstance(after, Fail):
                return after
            totals = after
            repairs.begin(rule, each)
        elif plan.failures.by_rule:
            ends.append((rule, each))
        else:
            return _end_epoch(context, rule, each)
    if ends:
        return _end_epoch(context, *min(ends, key=lambda end: (plan.failures.place(end[0]), end[1].at)))
    record = repairs.record(totals, cause)
    if record is None:
        return _end_epoch(context, rule_for(context, cause, restarts_of(context.record.job_restarts)), cause)
    return Repair(record)


def _charged_for_part(plan: Plan, record: Record, rule: FailureRule, cause: Cause) -> Record | Fail:
    """Return the record after a member, or its job, runs again or is given up; the end if that is not allowed."""
    if refused := used_up(plan, record, rule, cause):
        return refused
    if rule.action is FailureAction.IGNORE:
        return _with_use(record, limited(plan, rule))
    if rule.counted and (over := exhausted(plan, record, cause)):
        return over
    return charged(plan, record, cause, counted=rule.counted, rule=limited(plan, rule))


def _end_epoch(context: Context, rule: FailureRule, cause: Cause) -> Restart | Fail:
    """Return a restart of the gang, if it is allowed, else the end of the experiment."""
    plan, record = context.plan, context.record
    if refused := used_up(plan, record, rule, cause):
        return refused
    if rule.action is FailureAction.FAIL_EXPERIMENT:
        return Fail(BY_RULE, cause=cause, rule=rule)
    if again := recurrence.ends(context, cause):
        return again
    if rule.counted:
        over = exhausted(plan, record, cause)
        return over or Restart(cause, counted=True, rule=limited(plan, rule))
    if recurrence.exhausted(plan, record):
        return Fail(DISRUPTED, cause=cause)
    return Restart(cause, counted=False, rule=limited(plan, rule))


def used_up(plan: Plan, record: Record, rule: FailureRule, cause: Cause) -> Fail | None:
    """Return the end of the experiment if the rule has applied as often as its limit allows."""
    if rule.limit is None or _uses(record, limited(plan, rule)) < rule.limit:
        return None
    return Fail(RULE_USED_UP, cause=cause, rule=rule)


def exhausted(plan: Plan, record: Record, cause: Cause) -> Fail | None:
    """Return the end of the experiment if no counted restart is left."""
    return None if used(record) < plan.restarts.limit else Fail(EXHAUSTED, cause=cause)


def used(record: Record) -> int:
    """Return the number of counted restarts that count now."""
    return record.restarts - record.renewed


def charged(plan: Plan, record: Record, cause: Cause, *, counted: bool, rule: str = "") -> Record:
    """Return the record after one more restart, of the gang or of a part of it. ``rule`` names one that has a limit."""
    record = restart_reasons.failed_on(plan, _with_use(record, rule), cause)
    return replace(
        record,
        restarts=record.restarts + counted,
        disruptions=record.disruptions + cause.disruption,
        restart_reasons=restart_reasons.counted(record.restart_reasons, cause.reason),
    )


def limited(plan: Plan, rule: FailureRule) -> str:
    """Return the name under which the uses of a rule with a limit are counted; empty for one without."""
    if rule.limit is None:
        return ""
    return rule.name or f"{plan.failures.rules.index(rule) + 1}"


def _uses(record: Record, name: str) -> int:
    return next((each.used for each in record.rule_uses if each.name == name), 0)


def _with_use(record: Record, name: str) -> Record:
    """Return the record after one more use of the rule of that name, if that has a limit."""
    if not name:
        return record
    rest = tuple(each for each in record.rule_uses if each.name != name)
    return replace(record, rule_uses=(*rest, RuleUse(name, _uses(record, name) + 1)))


def _all_given_up(context: Context) -> Fail | None:
    """Fail if every target has ended, some by the action Ignore, and the success rule, asked first, does not hold.

    A member that is given up counts as ended, and never as succeeded. The others still run, so that nothing of their
    work is lost before. With the success rule All, the experiment can no longer succeed if the member's group is a
    target; with Any, it can while another job may still succeed.
    """
    tally, targets = context.tally, context.plan.targets
    if not tally.ignored or not context.settled:
        return None
    ranks = given_up(context)
    ended = len(ranks) + sum(tally.of_group(group.name).succeeded for group in targets)
    if not ranks or ended < sum(group.size for group in targets):
        return None
    return Fail(GIVEN_UP, cause=context.record.cause)


def given_up(context: Context) -> list[int]:
    """Return the ranks that the success rule asks for and that are given up."""
    targets = context.plan.targets
    return sorted(rank for rank in context.tally.ignored if context.plan.group_of(rank) in targets)


# --- 5. the next epoch


def restarted(context: Context, verdict: Restart) -> Record:
    """Return the record at the start of the next epoch, which begins when its back-off is over."""
    plan, cause, now, counted, requested = context.plan, verdict.cause, context.now, verdict.counted, verdict.requested
    record = recurrence.ended(context, None if requested else cause)
    record = charged(plan, record, cause, counted=counted, rule=verdict.rule)
    row = record.consecutive_disruptions + (not counted and not requested)
    epoch = record.epoch + 1
    wait = repair.counted(plan, used(record), epoch) if counted else repair.disrupted(plan, row, epoch)
    return replace(
        next_epoch(record, Phase.RESTARTING, now),
        gang_restarts=record.gang_restarts + 1,
        consecutive_disruptions=row,
        cause=cause,
        resume_at=now if requested else now + wait,
        restart_request=plan.lifecycle.restart_request if requested else record.restart_request,
        broken_at=now if record.broken_at is None else record.broken_at,
    )


def requeued(context: Context, verdict: Requeue) -> Record:
    """Return the record at the start of the next epoch, which begins when a queue admits it."""
    record, now = context.record, context.now
    if record.phase is Phase.RESTARTING:  # the epoch has not begun: nothing is disrupted
        return enter(record, Phase.QUEUED, now)
    record = charged(context.plan, recurrence.ended(context, verdict.cause), verdict.cause, counted=False)
    broken_at = now if record.broken_at is None else record.broken_at
    return replace(next_epoch(record, Phase.QUEUED, now), cause=verdict.cause, broken_at=broken_at)


def lost(context: Context) -> int | None:
    """Return the rank of the coordinator that has served in this epoch and has no pod; None if there is none.

    It was lost and is not pending. The other members met at it, so its loss is theirs, however few of them there were:
    a Ray head keeps its jobs and actors in memory, and the JAX coordinator its registrations. Its pod is not created
    again in the epoch, also if not all members had a node yet. The record shows that it served (``CoordinatorReady``,
    or a roll with an arrival), so a daemon that was away while the pod was taken decides as one that saw it go. The
    live API is asked before (``ConfirmLoss``).

    A coordinator that may run again alone, because a failure rule allows it, is created in its current attempt.
    """
    coordinator = context.plan.asked
    if coordinator is None:
        return None
    rank = coordinator.rank
    if presence.has_pod_or_needs_none(context, rank) or not _served(context):
        return None
    group = context.plan.group_of(rank)
    alone = context.plan.piecewise and group is not None and mends(context, group)
    return None if alone else rank


def _served(context: Context) -> bool:
    record, probe = context.record, context.probe
    if probe is not None and probe.served:
        return True
    ready, roll = record.condition(ConditionType.COORDINATOR_READY), record.roll
    return bool(ready and ready.status) or bool(roll and roll.arrived)
