"""What a batch/v1 Job would say of the pods of one job: which pods it replaces, and when and why it has failed.

Only jobs with something to say are looked at: those with a failed or lost pod, with indexes that are given up, with
containers that were restarted in place, or with a deadline. The order of the reasons is the Job controller's
(kubernetes: pkg/controller/job/job_controller.go): pod failure policy, back-off limit, deadline, failed indexes. Its
messages are kept word for word, because rules of JobSets match them.

A job has failed as soon as that is certain. The Job controller says so only when the last of its pods has ended.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec.structs import replace

from muster.state.facts import gates, jobs_succeeded
from muster.state.facts.context import Context
from muster.state.facts.failure_cause import cause_of, gone_cause
from muster.state.vocabulary.group import Group, JobRules, PodAction, PodRule
from muster.state.vocabulary.job_changes import NO_RESTARTS, ranks_of, restarts_of
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Cause

BACKOFF_LIMIT = "BackoffLimitExceeded", "Job has reached the specified backoff limit"
DEADLINE = "DeadlineExceeded", "Job was active longer than specified deadline"
MAX_FAILED = "MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes"
FAILED_INDEXES = "FailedIndexes", "Job has failed indexes"
POD_FAILURE_POLICY = "PodFailurePolicy"


@dataclass(frozen=True, slots=True)
class End:
    """A member whose pod has failed, or is gone; ``cause`` is of the pod and not of its job."""

    rank: int
    cause: Cause
    pod: Pod | None


@dataclass(slots=True)
class JobView:
    """One job in which something has happened."""

    group: Group
    rules: JobRules
    index: int
    ends: list[End] = field(default_factory=list)
    restarted: int = 0
    """Restarts in place of containers whose pod has not ended."""
    given_up: int = 0
    first_given_up: int | None = None
    """The rank of the first of them."""

    @property
    def number(self) -> int:
        """Its index among the jobs of all groups."""
        return self.group.first_job + self.index

    @property
    def first_rank(self) -> int:
        """The rank of its first member."""
        return self.group.first_rank + self.index * self.group.completions


@dataclass(frozen=True, slots=True)
class Findings:
    """What the jobs of this epoch have come to."""

    failed: tuple[Cause, ...] = ()
    """Of each failed job why, as the condition Failed of a Job says it, with the first pod that failed."""
    again: tuple[int, ...] = ()
    """Ranks whose pods are replaced."""
    given_up: tuple[int, ...] = ()
    """Ranks that are not run again."""
    counted: tuple[tuple[int, int], ...] = ()
    first: Cause | None = None
    """The first of the failed pods that are replaced or given up."""
    """Job, and how many more failed pods of it are counted."""


def findings(context: Context) -> Findings:
    """Look at every job that has something to say."""
    failed: list[Cause] = []
    again: list[int] = []
    given_up: list[int] = []
    counted: list[tuple[int, int]] = []
    first: Cause | None = None
    for job in jobs_of(context):
        if jobs_succeeded.succeeded(context, job.group, job.index):
            continue
        verdicts = [(end, _verdict(job.rules, end, context.plan.namespace)) for end in job.ends]
        more = sum(action is not PodAction.IGNORE for _, (action, _) in verdicts)
        if end := _failure(context, job, verdicts, more):
            failed.append(end)
            continue
        over = jobs_succeeded.winding_up(context, job.group, job.index)
        for each, (action, _) in verdicts:
            spent = job.rules.per_index is not None and context.record.attempt_of(each.rank) >= job.rules.per_index
            gone = action is PodAction.FAIL_INDEX or (spent and action is not PodAction.IGNORE) or over
            (given_up if gone else again).append(each.rank)
            first = each.cause if first is None or each.cause.at < first.at else first
        if more:
            counted.append((job.number, more))
    return Findings(tuple(failed), tuple(sorted(again)), tuple(sorted(given_up)), tuple(counted), first)


def jobs_of(context: Context) -> Iterator[JobView]:
    """The jobs with something to say."""
    seen: dict[int, JobView] = {}
    for end in _ends(context):
        if job := _at(context, seen, end.rank):
            job.ends.append(end)
    for pod in context.tally.restarted.values():
        if (job := _at(context, seen, pod.rank)) and job.rules.in_place:
            job.restarted += pod.restarts
    for rank in sorted(ranks_of(context.record.ignored)):
        if job := _at(context, seen, rank):
            job.given_up += 1
            job.first_given_up = rank if job.first_given_up is None else job.first_given_up
    for group in context.plan.groups:
        if group.job is not None and group.job.deadline is not None:
            for index in range(group.replicas):
                _at(context, seen, group.first_rank + index * group.completions)
    yield from (seen[number] for number in sorted(seen))


def backoff(rules: JobRules, failures: int) -> float:
    """Seconds before a failed pod is replaced; ``failures`` of the job were counted before it."""
    return min(rules.longest_backoff, rules.backoff * 2.0 ** min(failures, 32))


def deadline_of(context: Context, group: Group, index: int) -> float | None:
    """When the job has taken too long; None while it does not run, or has no deadline."""
    if group.job is None or group.job.deadline is None:
        return None
    row = restarts_of(context.record.job_restarts).get(group.first_job + index, NO_RESTARTS)
    since = row.started_at if row.started_at is not None or group.gates else context.record.epoch_at
    return None if since is None else since + group.job.deadline


def begun(context: Context) -> Iterator[int]:
    """The jobs with a deadline whose gates have opened, and whose start the record does not hold."""
    for group in context.plan.groups:
        if group.job is None or group.job.deadline is None or not group.gates or not group.replicas:
            continue
        jobs = range(group.first_job, group.first_job + group.replicas)
        rows = restarts_of(context.record.job_restarts)
        waiting = [job for job in jobs if rows.get(job, NO_RESTARTS).started_at is None]
        if waiting and not gates.closed(context, group):
            yield from waiting


def _at(context: Context, seen: dict[int, JobView], rank: int) -> JobView | None:
    group = context.plan.group_of(rank)
    if group is None or group.job is None:
        return None
    index = (rank - group.first_rank) // group.completions
    return seen.setdefault(group.first_job + index, JobView(group, group.job, index))


def _ends(context: Context) -> Iterator[End]:
    """Members that have ended without success, the first one first."""
    tally, epoch = context.tally, context.record.epoch
    found = [End(pod.rank, cause_of(context, pod), pod) for pod in tally.failed.values()]
    for lost, rank, attempt in context.view.engine.lost_attempts:
        if lost != epoch or attempt != tally.attempts.get(rank, 0):
            continue
        if rank in tally.members or rank in tally.collected:
            continue
        member = context.plan.member(rank)
        group = member.group if member else ""
        found.append(End(rank, gone_cause(context, rank, group), None))
    yield from sorted(found, key=lambda end: (end.cause.at, end.rank))


def _verdict(rules: JobRules, end: End, namespace: str) -> tuple[PodAction, str]:
    """What the first matching rule says of a failed pod, and of FailJob the Job's message."""
    for number, rule in enumerate(rules.pods):
        if not _matches(rule, end):
            continue
        if rule.action is not PodAction.FAIL_JOB:
            return rule.action, ""
        pod, cause = f"{namespace}/{end.cause.pod}", end.cause
        if rule.disruption:
            what = f"Pod {pod} has condition DisruptionTarget"
        else:
            what = f"Container {cause.container} for pod {pod} failed with exit code {cause.exit_code}"
        return rule.action, f"{what} matching FailJob rule at index {number}"
    return PodAction.COUNT, ""


def _matches(rule: PodRule, end: End) -> bool:
    if rule.disruption:
        return end.pod is None or bool(end.pod.disruption)
    code = end.cause.exit_code
    if not code or (rule.container and rule.container != end.cause.container):
        return False
    return (code in rule.exit_codes) is not rule.excluded


def _failure(
    context: Context, job: JobView, verdicts: list[tuple[End, tuple[PodAction, str]]], more: int
) -> Cause | None:
    """Why the job has failed, None if it has not."""
    rules, completions = job.rules, job.group.completions
    for end, (action, message) in verdicts:
        if action is PodAction.FAIL_JOB:
            return _cause(context, job, POD_FAILURE_POLICY, message, end)
    count = restarts_of(context.record.job_restarts).get(job.number, NO_RESTARTS).failures + more
    counted = next((end for end, (action, _) in verdicts if action is not PodAction.IGNORE), None)
    if more and count > rules.backoff_limit:
        return _cause(context, job, *BACKOFF_LIMIT, counted)
    if job.restarted and (job.restarted >= rules.backoff_limit if rules.backoff_limit else True):
        return _cause(context, job, *BACKOFF_LIMIT, counted)
    due = deadline_of(context, job.group, job.index)
    if due is not None and context.now >= due:
        return _cause(context, job, *DEADLINE, None)
    if rules.per_index is None:
        return None
    lost = job.given_up + sum(
        action is PodAction.FAIL_INDEX
        or (action is PodAction.COUNT and context.record.attempt_of(end.rank) >= rules.per_index)
        for end, (action, _) in verdicts
    )
    if lost and rules.max_failed is not None and lost > rules.max_failed:
        return _cause(context, job, *MAX_FAILED, counted)
    if lost and context.tally.of_job(job.group.name, job.index).succeeded + lost >= completions:
        return _cause(context, job, *FAILED_INDEXES, counted)
    return None


def _cause(context: Context, job: JobView, reason: str, message: str, end: End | None) -> Cause:
    """The failure of a job, with the pod that led to it where there is one."""
    name = context.plan.job_name(job.group.name, job.index)
    if end is not None:
        return replace(end.cause, reason=reason, message=message, job=name, pod_reason=end.cause.reason)
    rank = job.first_rank if job.first_given_up is None else job.first_given_up
    return Cause(context.record.epoch, reason, message, context.now, group=job.group.name, rank=rank, job=name)
