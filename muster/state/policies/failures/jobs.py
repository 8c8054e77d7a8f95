"""Jobs: of groups that stand for batch/v1 Jobs, a failed pod goes through the rules of its job first.

A job replaces failed pods until it has failed itself (``state.facts.virtual_jobs``). Failed jobs then go through the
rules of the plan as JobSet applies its failure policy (jobset: pkg/controllers/failure_policy.go): rule by rule, each
over all jobs that have failed, and of several the one that failed first. The last rule matches everything.

The reasons with which the experiment ends are JobSet's.
"""

from msgspec.structs import replace

from muster.state.facts import jobs_succeeded
from muster.state.facts.context import Context, Fail, ReadFirst, Repair, Restart
from muster.state.facts.sentences import sentence
from muster.state.facts.virtual_jobs import Findings, backoff, begun, deadline_of, findings
from muster.state.vocabulary.actions import DeletePods
from muster.state.vocabulary.job_changes import (
    NO_RESTARTS,
    count_failures,
    count_restart,
    fits,
    give_up,
    restarts_of,
    run_again,
    start_jobs,
    without_past,
)
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Cause, Record
from muster.state.vocabulary.rules import FailureAction, FailureRule

FAILED_JOBS = "FailedJobs"
REACHED_MAX_RESTARTS = "ReachedMaxRestarts"
FULL = "StatusFull"
FAIL_JOBSET = "FailJobSetFailurePolicyAction"


def judge(context: Context) -> Restart | Repair | Fail | ReadFirst | None:
    """What follows from the jobs of this epoch."""
    if idle := jobs_succeeded.not_needed(context):
        return _held(context, give_up(context.record, idle), None)
    found = findings(context)
    if found == Findings():
        return None
    if (found.failed or found.counted) and _unsure(context):
        return ReadFirst()
    if not found.failed:
        return _held(context, _repaired(context, found), found.first)
    rule, cause = chosen(context.plan, found.failed)
    return _apply(context, rule, cause)


def chosen(plan: Plan, failed: tuple[Cause, ...]) -> tuple[FailureRule, Cause]:
    """The first rule that matches some failed job, and of these jobs the one that failed first."""
    for rule in plan.failures.rules:
        matching = [cause for cause in failed if _matches(rule, cause)]
        if matching:
            return rule, min(matching, key=lambda cause: cause.at)
    return FailureRule(FailureAction.RESTART_GANG), min(failed, key=lambda cause: cause.at)


def started(context: Context) -> Record:
    """The record with the start of jobs that have a deadline and waited for others."""
    jobs = tuple(begun(context))
    return start_jobs(context.record, jobs, context.now) if jobs else context.record


def wake_at(context: Context) -> float | None:
    """The next deadline of a job."""
    if not context.plan.of_jobs:
        return None
    times = (
        deadline_of(context, group, index)
        for group in context.plan.groups
        if group.job is not None and group.job.deadline is not None
        for index in range(group.replicas)
    )
    return min((at for at in times if at is not None and at > context.now), default=None)


def surplus(context: Context) -> tuple[DeletePods, ...]:
    """Delete pods that still run though their job has succeeded, or their rank is given up."""
    if not (context.plan.of_jobs and context.tally.ignored):
        return ()
    alive = (pod for pod in context.tally.alive.values() if pod.rank in context.tally.ignored)
    asked = tuple(pod for pod in alive if not pod.terminating and not context.view.engine.delete_accepted(pod, None))
    return (DeletePods(asked, None, "their job has succeeded without them"),) if asked else ()


def _matches(rule: FailureRule, cause: Cause) -> bool:
    return rule.matches(
        disruption=False, group=cause.group, exit_code=cause.exit_code, reason=cause.reason, message=cause.message
    )


def _apply(context: Context, rule: FailureRule, cause: Cause) -> Restart | Repair | Fail:
    record = context.record
    if rule.action is FailureAction.FAIL_EXPERIMENT:
        return Fail(FAIL_JOBSET if rule.name else FAILED_JOBS, sentence(cause), cause)
    if rule.counted and record.restarts >= context.plan.restarts.limit:
        return Fail(REACHED_MAX_RESTARTS, sentence(cause), cause)
    if rule.action is FailureAction.RESTART_GANG:
        return Restart(cause, rule.counted)
    group = context.plan.group_of(cause.rank)
    if group is None:
        return Restart(cause, rule.counted)
    index = (cause.rank - group.first_rank) // group.completions
    first = group.first_rank + index * group.completions
    again = run_again(record, range(first, first + group.completions), None)
    charged = count_restart(again, group.first_job + index, context.now, counted=rule.counted)
    return _held(context, replace(charged, cause=cause), cause)


def _held(context: Context, record: Record, cause: Cause | None) -> Repair | Restart:
    """The repair, or a restart of the gang where the status has no room for it."""
    record = without_past(record, context.now)
    if fits(record):
        return Repair(record)
    why = Cause(context.record.epoch, FULL, "more pods run again than the status can hold", context.now)
    return Restart(cause or why, counted=False)


def _repaired(context: Context, found: Findings) -> Record:
    """The record with the next attempts of the failed members, each after the back-off of its job."""
    plan, counts = context.plan, restarts_of(context.record.job_restarts)
    record = give_up(count_failures(context.record, dict(found.counted)), found.given_up) if found else context.record
    waits: dict[float, list[int]] = {}
    for rank in found.again:
        group = plan.group_of(rank)
        if group is not None and group.job is not None:
            job = group.first_job + (rank - group.first_rank) // group.completions
            at = context.now + backoff(group.job, counts.get(job, NO_RESTARTS).failures)
            waits.setdefault(at, []).append(rank)
    record = replace(record, cause=found.first or record.cause)
    for at, ranks in waits.items():
        record = run_again(record, ranks, at)
    return record


def _unsure(context: Context) -> bool:
    """A pod failed, and the pods have not been read past the cache since: what is seen may not be the first cause."""
    failed = [pod.resource_version for pod in context.tally.failed.values() if not pod.disruption]
    read = context.view.engine.live_read
    return bool(failed) and (read is None or read.version < min(failed))
