"""Failure: the first member that fails decides what happens to the epoch, by the plan's failure rules.

- The first failing container is the cause, and the whole burst that follows it is one restart, because a failure
  counts only in its own epoch.
- What was done to a member (preemption, eviction, node loss, a deleted pod) is a disruption. Where both are seen, the
  disruption came first: the processes of a drained node crash because of it.
- A failure is monotone: once seen it cannot be unseen, so a late cache cannot invent one. But it can hide what came
  before it, above all the disruption, so a failure is charged only on what the live API has said since. That a pod is
  *gone* is not monotone; it counts only after the live API has confirmed it (``engine.lost``).
- Survivors (``culprit``) are a consequence: they come after every other failure. Where only they are
  seen while a member's pod is deleted or missing, the missing pod is the cause: a daemon that was away while a member
  was preempted finds its pod gone, and with it the condition that it was a disruption. Else the cause is what the gang
  was known to wait for (``known``), or the rank that they or the coordinator name, if they name one within seconds.
- The first rule that matches the cause says what follows. Where that concerns a member or a job, each of the other
  failures is judged in the same decision (``repair``), and one that concerns the gang goes first.
"""

from collections.abc import Iterator, Mapping
from itertools import chain

from msgspec.structs import replace

from muster.state.facts.context import Context, Fail, ReadFirst, Repair, Restart, Wait
from muster.state.facts.failure_cause import cause_of, gone_cause
from muster.state.facts.matching_rule import first_rule
from muster.state.facts.sentences import sentence
from muster.state.policies.failures import culprit, known, recurrence
from muster.state.policies.failures.cost import budget, disruptions, ignored
from muster.state.policies.failures.repair import Repairs, job_index
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Cause, JobRestarts, restarts_of
from muster.state.vocabulary.rules import FailureAction, FailureRule


def judge(context: Context) -> Restart | Repair | Fail | ReadFirst | Wait | None:
    """Restart, repair or fail because of the first failing member, if one failed."""
    cause = first_cause(context)
    if cause is None:
        return ignored.judge(context)
    if unsure(context, cause):
        return ReadFirst()
    until = culprit.awaited_until(context, cause)
    return spend(context, cause) if until is None else Wait(until)


def unsure(context: Context, cause: Cause) -> bool:
    """The failure would be charged, and the pods have not been read past the cache since it was first seen.

    What was known may be refuted by what a late cache hides: so it is read, too, where the platform is charged.
    """
    if cause.disruption and not cause.evidence:
        return False
    failed, read = context.tally.failed, context.view.engine.live_read
    if context.plan.piecewise and cause.uid in failed:  # another member may have failed, and been read, long before
        return read is None or read.version < failed[cause.uid].resource_version
    return read is None or read.version < min(pod.resource_version for pod in failed.values())


def first_cause(context: Context) -> Cause | None:
    """The failure or disruption that this epoch has suffered first."""
    tally = context.tally
    if not (tally.disrupted or tally.failed or tally.leaving):  # so it is in most decisions
        return _gone(context)

    def order(pod: Pod) -> tuple[bool, float, int]:
        at = pod.exit.finished_at if pod.exit and pod.exit.finished_at else float("inf")  # 0: the kubelet did not say
        return culprit.is_survivor(context.plan, pod), at, pod.rank

    disrupted = [pod for pod in tally.disrupted.values() if pod.terminating or pod.failed]
    if pod := min(disrupted, key=order, default=None):
        return cause_of(context, pod)
    failed = [pod for pod in tally.failed.values() if not pod.terminating]
    if (pod := min(failed, key=order, default=None)) and not culprit.is_survivor(context.plan, pod):
        return (known.gave_up(context.plan, pod) and known.cause(context)) or cause_of(context, pod)
    candidates = (*tally.leaving.values(), *tally.failed.values())
    if pod := min(candidates, key=lambda pod: (not pod.terminating, order(pod)), default=None):  # deleted pods first
        if not pod.terminating and _incomplete(context):
            return _gone(context)
        return (not pod.terminating and _of_survivors(context)) or cause_of(context, pod)
    return _gone(context)


def _of_survivors(context: Context) -> Cause | None:
    """What the members that gave up waited for, or whom they name. Known ranks go before a name, and it before none."""
    waited_for = known.cause(context)
    if waited_for is not None and waited_for.rank >= 0:
        return waited_for
    return culprit.cause(context) or waited_for


def _incomplete(context: Context) -> bool:
    """A pod of a gang whose members all run together is missing, and nothing brings it back in this epoch."""
    return not context.plan.piecewise and context.launched and context.tally.pods < context.plan.together


def _gone(context: Context) -> Cause | None:
    """A member's pod that is gone, once the live API has confirmed it (see ``ConfirmLoss``)."""
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
    """Of a gang whose members run again one by one: each member whose pod is gone for sure."""
    tally, record = context.tally, context.record
    for epoch, rank, attempt in sorted(context.view.engine.lost_attempts):
        member = context.plan.member(rank)
        if epoch != record.epoch or member is None or attempt != tally.attempts.get(rank, 0):
            continue
        if rank not in tally.members and rank not in tally.collected:
            yield gone_cause(context, rank, member.group)


def _others(context: Context, first: Cause) -> Iterator[Cause]:
    """Every other failure of the epoch that may be charged now."""
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


def spend(context: Context, cause: Cause, *, of_job: bool = False) -> Restart | Repair | Fail:
    """What the plan's rules say of that cause. A counted restart needs one unit of the budget.

    A gang restart that is not counted needs the row of disruptions to be shorter than the plan allows.
    """
    repairs = Repairs(context)
    ends: list[tuple[FailureRule, Cause]] = []
    for each in chain((cause,), _others(context, cause)):
        if each.rank in repairs:
            continue
        rule = rule_for(context, each, repairs.jobs, of_job=of_job and each is cause)
        if rule.action.partial and each.rank >= 0:
            if refused := repairs.add(rule, each):
                return refused
        elif context.plan.failures.by_rule:
            ends.append((rule, each))
        else:
            return _end_epoch(context, rule, each)
    if ends:
        place = context.plan.failures.place
        return _end_epoch(context, *min(ends, key=lambda end: (place(end[0]), end[1].at)))
    record = repairs.record(cause)
    if record is None:
        return _end_epoch(context, rule_for(context, cause, restarts_of(context.record.job_restarts)), cause)
    return Repair(record)


def rule_for(context: Context, cause: Cause, jobs: Mapping[int, JobRestarts], *, of_job: bool = False) -> FailureRule:
    """Return the rule for that failure, with the last words of the member where nothing else says why it failed."""
    message = cause.message or _last_words(context, cause)
    failures = _failures(context, cause, jobs)
    return first_rule(context.plan, replace(cause, message=message), failures, of_job=of_job)


def _last_words(context: Context, cause: Cause) -> str:
    """The end of the failed member's log, where nothing in it says why it failed."""
    pod = context.tally.failed.get(cause.uid)
    return pod.exit.message if pod is not None and pod.exit is not None else ""


def mends(context: Context, group: Group) -> bool:
    """Whether a member of that group whose pod is lost concerns only itself or its job."""
    lost = gone_cause(context, group.first_rank, group.name)
    return rule_for(context, lost, restarts_of(context.record.job_restarts)).action.partial


def _failures(context: Context, cause: Cause, jobs: Mapping[int, JobRestarts]) -> int:
    job = job_index(context, cause.rank)
    held = jobs.get(job) if job is not None else None
    return held.failures if held else 0


def _end_epoch(context: Context, rule: FailureRule, cause: Cause) -> Restart | Fail:
    """A restart of the gang, if it is allowed, else the end of the experiment."""
    plan, record = context.plan, context.record
    if refused := budget.refused(plan, record, rule, cause):
        return refused
    if rule.action is FailureAction.FAIL_EXPERIMENT:
        which = f"failure rule {rule.name}" if rule.name else "a failure rule"
        return Fail("FailureRule", f"{sentence(cause)}; {which} ends the experiment", cause)
    if again := recurrence.ends(context, cause):
        return again
    name = budget.limited(plan, rule)
    if not rule.counted:
        if disruptions.exhausted(plan, record):
            limit = plan.restarts.max_disruptions
            reached = f"limit of disruptions in a row reached ({limit} of {limit})"
            return Fail("MaxDisruptionsExceeded", f"{sentence(cause)}; {reached}", cause)
        return Restart(cause, counted=False, rule=name)
    return budget.spent(plan, record, cause) or Restart(cause, counted=True, rule=name)
