"""Rules for a failure in a JobSet, and its status, as by JobSet's controller (jobset: pkg/controllers)."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import inf
from typing import Any, Final

from muster.api.values.timestamps import whole_time
from muster.kinds import declaration
from muster.kinds.job.spec import JobSpec, PodFailureRule
from muster.kinds.jobset.spec import JobSet, ReplicatedJob
from muster.state.facts.context import Context
from muster.state.facts.failure_cause import first_rule
from muster.state.view.view import View
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Cause, Phase, Record, restarts_of
from muster.state.vocabulary.rules import (
    Backoff,
    ClockAction,
    ClockName,
    ClockRule,
    Escalation,
    FailureAction,
    FailureRule,
    Moment,
)

MEMBER_BACKOFF: Final = Backoff(10.0, 600.0, 2.0)
"""Seconds before a Job replaces a failed pod (kubernetes: pkg/controller/job/backoff_utils.go)."""
DEADLINE: Final = "DeadlineExceeded"
_FAIL_JOB: Final = "matching FailJob rule at index"
ACTIONS: Final = {
    "FailJobSet": FailureRule(FailureAction.FAIL_EXPERIMENT),
    "RestartJobSet": FailureRule(FailureAction.RESTART_GANG),
    "RestartJobSetAndIgnoreMaxRestarts": FailureRule(FailureAction.RESTART_GANG, counted=False),
    "RestartJob": FailureRule(FailureAction.RESTART_JOB),
    "RestartJobAndIgnoreMaxRestarts": FailureRule(FailureAction.RESTART_JOB, counted=False),
}
"""FailureRule for each action of JobSet, and whether it is counted against ``maxRestarts``."""


def rules_of(jobset: JobSet) -> Iterator[FailureRule]:
    """Yield the rules for the failure of a pod: those of its Job, then those of the JobSet.

    The last one applies if no other matches: the end without a policy, a restart with one.
    """
    for replicated in jobset.spec.replicated_jobs:
        yield from _of_job(replicated)
    policy = jobset.spec.failure_policy
    for number, rule in enumerate(policy.rules if policy else ()):
        yield replace(
            ACTIONS[rule.action],
            name=policy.name_of(number) if policy else "",
            groups=rule.target_replicated_jobs,
            reasons=rule.on_job_failure_reasons,
            messages=rule.on_job_failure_message_patterns,
        )
    yield FailureRule(FailureAction.RESTART_GANG if policy else FailureAction.FAIL_EXPERIMENT)


def clocks_of(jobset: JobSet) -> Iterator[ClockRule]:
    """Yield the clock over the replicated jobs that state ``activeDeadlineSeconds``, which all state the same."""
    late = [job for job in jobset.spec.replicated_jobs if job.template.spec.active_deadline_seconds is not None]
    if late:
        yield ClockRule(
            ClockName.RUN,
            Moment.EPOCH_STARTED,
            Moment.FINISHED,
            DEADLINE,
            "Job was active longer than specified deadline: it did not succeed {within}",
            after=float(late[0].template.spec.active_deadline_seconds or 0),
            action=ClockAction.RESTART,
            groups=frozenset(job.name for job in late),
        )


def _of_job(replicated: ReplicatedJob) -> Iterator[FailureRule]:
    """Yield the rules of a Job, which replaces a failed pod up to ``backoffLimit`` times.

    Each replacement waits twice as long as the one before (kubernetes: pkg/controller/job). Here that is a rule about a
    member with a limit for each job. Beyond it the failure counts as the Job's, with the reason and the message that
    the Job controller gives it, because rules of JobSets match these.
    """
    spec = replicated.template.spec
    replaced = FailureRule(
        FailureAction.RESTART_MEMBER,
        groups=(replicated.name,),
        counted=False,
        per_job=_replaced(spec),
        becomes=Escalation("BackoffLimitExceeded", "Job has reached the specified backoff limit"),
        backoff=MEMBER_BACKOFF,
    )
    for number, rule in enumerate(spec.pod_failure_policy.rules if spec.pod_failure_policy else ()):
        yield _of_policy(rule, number, replaced)
    yield replaced


def _replaced(spec: JobSpec) -> int:
    """Return the number of failed pods of a Job that are replaced.

    A pod whose policy is OnFailure has a container that the kubelet starts again, and each restart counts: a limit of N
    is N runs. Here the pod is replaced instead, so its first N - 1 failures are.
    """
    return spec.limit if spec.template.restart_policy == "Never" else max(0, spec.limit - 1)


def _of_policy(rule: PodFailureRule, number: int, replaced: FailureRule) -> FailureRule:
    codes = rule.on_exit_codes
    message = f"Pod {{namespace}}/{{pod}} has condition DisruptionTarget {_FAIL_JOB} {number}"
    match = replace(replaced, disruption=True)
    if codes is not None:
        what = "Container {container} for pod {namespace}/{pod} failed with exit code {exit_code}"
        message = f"{what} {_FAIL_JOB} {number}"
        among, beside = (codes.values, ()) if codes.operator == "In" else ((), codes.values)
        match = replace(replaced, exit_codes=among, except_codes=beside, container=codes.container_name or "")
    if rule.action == "Ignore":
        return replace(match, per_job=None)
    if rule.action == "Count":
        return match
    return replace(match, per_job=0, becomes=Escalation("PodFailurePolicy", message))


COMPLETED: Final = "AllJobsCompleted", "jobset completed successfully"
SUSPENDED: Final = "SuspendedJobs", "jobset is suspended"
RESUMED: Final = "ResumeJobs", "jobset is resumed"
READY: Final = "JobsReady", "all jobs are ready"
IN_PROGRESS: Final = "InOrderStartupPolicyInProgress", "in order startup policy is in progress"
STARTED: Final = "InOrderStartupPolicyCompleted", "in order startup policy has completed"
RESTARTING: Final = "RestartingJobSet"
ENDED: Final = frozenset({"Completed", "Failed"})
_OF_RULES: Final = frozenset({"FailureRule", "BackoffLimitExceeded"})
"""Reasons with which the rules of a plan end it: by an action, or because no restart is left."""
_FAILED_JOBS: Final = "FailedJobs", "jobset failed due to one or more job failures"
_NO_RESTART_LEFT: Final = "ReachedMaxRestarts", "jobset failed due to reaching max number of restarts"
_BY_ACTION: Final = "FailJobSetFailurePolicyAction", "applying FailJobSet failure policy action"
"""Reason and message of the condition Failed; the name of the first failed job follows."""
_OPPOSITE: Final = {
    "StartupPolicyInProgress": "StartupPolicyCompleted",
    "StartupPolicyCompleted": "StartupPolicyInProgress",
}


def status_of(plan: Plan, record: Record, view: View, before: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JobSet's own status. What its controller leaves out while it is empty is left out.

    Conditions, reasons, messages and counters are JobSet's, and so are their rules. They are computed from the record,
    the view and the status before, and nothing else.
    """
    context = Context.at(plan, record, view, record.updated_at)
    counts = {group.name: _counts(context, group) for group in plan.groups}
    if before.get("terminalState") and record.finished:
        return _at_rest(before, counts)
    conditions = _Conditions(before, whole_time(record.updated_at))
    _judge(context, counts, conditions, before)
    status: dict[str, Any] = {"conditions": conditions.rows} if conditions.rows else {}
    status["replicatedJobsStatus"] = [
        {"name": group.name, **counts[group.name], **_own_restarts(record, group)} for group in plan.groups
    ]
    status["restarts"] = record.gang_restarts
    if charged := record.restarts - sum(row.counted for row in restarts_of(record.job_restarts).values()):
        status["restartsCountTowardsMax"] = charged
    if record.finished:
        status["terminalState"] = "Completed" if record.phase is Phase.SUCCEEDED else "Failed"
    return status


def refused(record: Record, before: Mapping[str, Any]) -> dict[str, Any]:
    """Return the status of a JobSet whose spec cannot be planned: failed, and its last state for ``kubectl get``."""
    return {**declaration.refused(record, before), "restarts": record.gang_restarts, "terminalState": "Failed"}


class _Conditions:
    """The list of conditions, changed as JobSet's controller changes it: each keeps its place in the list."""

    def __init__(self, before: Mapping[str, Any], now: str) -> None:
        self.rows = [dict(each) for each in before.get("conditions") or ()]
        self.now = now

    def holds(self, kind: str) -> bool:
        """Return True if that condition exists and is True."""
        return any(each["type"] == kind and each["status"] == "True" for each in self.rows)

    def turn(self, kind: str, on: bool, reason: str, message: str) -> None:
        """Set a condition. A new one is added only as True."""
        status = "True" if on else "False"
        row = next((each for each in self.rows if each["type"] == kind), None)
        if row is None and not on:
            return
        if row is None:
            row = {"type": kind}
            self.rows.append(row)
        if row.get("status") != status:
            row["lastTransitionTime"] = self.now
        row |= {"status": status, "reason": reason, "message": message}
        if on and (opposite := _OPPOSITE.get(kind)):
            for each in self.rows:
                if each["type"] == opposite:
                    each["status"] = "False"


def _judge(
    context: Context, counts: Mapping[str, Mapping[str, int]], conditions: _Conditions, before: Mapping[str, Any]
) -> None:
    plan, record = context.plan, context.record
    started = [_started(group, counts[group.name]) for group in plan.groups]
    if record.cause and record.gang_restarts > int(before.get("restarts") or 0):
        conditions.turn(RESTARTING, True, *_restart(plan, record.cause))
    if record.phase is Phase.SUSPENDED:
        conditions.turn("Suspended", True, *SUSPENDED)
        conditions.turn(RESTARTING, False, "JobSetSuspended", SUSPENDED[1])
        return
    if record.gathering and _all_ready(plan, counts):
        conditions.turn(RESTARTING, False, *READY)
    if plan.in_order and record.phase is not Phase.FAILED:
        if all(started):
            conditions.turn("StartupPolicyCompleted", True, *STARTED)
        elif not record.finished:
            conditions.turn("StartupPolicyInProgress", True, *IN_PROGRESS)
    if conditions.holds("Suspended") and (not plan.in_order or all(started) or record.finished):
        conditions.turn("Suspended", False, *RESUMED)
    if record.phase is Phase.SUCCEEDED:
        conditions.turn("Completed", True, *COMPLETED)
        conditions.turn(RESTARTING, False, "JobSetCompleted", COMPLETED[1])
    elif record.phase is Phase.FAILED:
        if record.reason in _OF_RULES and conditions.holds("StartupPolicyCompleted"):
            # Its pods are not ready before it has failed.
            conditions.turn("StartupPolicyInProgress", True, *IN_PROGRESS)
        conditions.turn("Failed", True, *_failure(plan, record))
        conditions.turn(RESTARTING, False, "JobSetFailed", "jobset failed")


def _counts(context: Context, group: Group) -> dict[str, int]:
    """Return the number of jobs of the group in each state, from one count per job.

    JobSet's controller counts Jobs as the Job controller reports them, up to three seconds after the pods. Here a job
    is ready, succeeded or failed when its pods are. So the conditions of InOrder do not flap between the last pod's end
    and that of its Job.
    """
    found = dict.fromkeys(("active", "failed", "ready", "succeeded", "suspended"), 0)
    record, tally = context.record, context.tally
    failed = _failed_jobs(context, group) if record.phase is Phase.FAILED else frozenset()
    for index in range(group.replicas):
        count = tally.of_job(group.name, index)
        if index in failed:
            found["failed"] += 1
        elif count.succeeded >= group.completions:
            found["succeeded"] += 1
        else:
            at_a_time = min(group.parallelism or group.completions, group.completions)
            found["ready"] += count.ready + count.succeeded >= at_a_time
            found["active"] += count.working > 0
            # Suspended, it has the Jobs that wait for an order, and not those that wait for others (dependsOn).
            found["suspended"] += record.phase is Phase.SUSPENDED and (context.plan.in_order or not group.gates)
    return found


def _failed_jobs(context: Context, group: Group) -> frozenset[int]:
    """Return the jobs of the group for which the JobSet has failed."""
    cause = context.record.cause
    if cause is None or cause.group != group.name or cause.rank < 0:
        return frozenset()
    return frozenset({group.member(cause.rank - group.first_rank).job})


def _at_rest(before: Mapping[str, Any], counts: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    """Return the status after the end: what has ended stays, though its pods may go, and what still ran stops."""
    rows = [dict(row) for row in before.get("replicatedJobsStatus") or ()]
    for row in rows:
        now = counts.get(str(row.get("name")), {})
        row |= {name: min(row.get(name, 0), now.get(name, 0)) for name in ("active", "ready")}
    return {**before, "replicatedJobsStatus": rows}


def _started(group: Group, counts: Mapping[str, int]) -> bool:
    return counts["ready"] + counts["succeeded"] + counts["failed"] == group.replicas


def _all_ready(plan: Plan, counts: Mapping[str, Mapping[str, int]]) -> bool:
    here = sum(each["ready"] + each["succeeded"] for each in counts.values())
    return here == sum(group.replicas for group in plan.groups)


def _own_restarts(record: Record, group: Group) -> dict[str, list[int]]:
    """Return the number of restarts of each job of the group alone, if one was restarted."""
    jobs = range(group.first_job, group.first_job + group.replicas)
    rows = restarts_of(record.job_restarts)
    own = [rows[job].restarts if job in rows else 0 for job in jobs]
    if not any(own):
        return {}
    charged = [rows[job].counted if job in rows else 0 for job in jobs]
    found = {"jobRestarts": own}
    return found | {"jobRestartsCountTowardsMax": charged} if any(charged) else found


def _job(plan: Plan, cause: Cause) -> str:
    """Return the name of the job that failed."""
    group = plan.group_of(cause.rank) if cause.rank >= 0 else None
    if group is None:
        return cause.group
    return plan.job_name(group.name, group.member(cause.rank - group.first_rank).job)


def _restart(plan: Plan, cause: Cause) -> tuple[str, str]:
    """Return reason and message of a restart: the rule that matches the failure is the one that was applied."""
    rule = _applied(plan, cause)
    action = "RestartJobSet" if rule.counted else "RestartJobSetAndIgnoreMaxRestarts"
    reason = f"FailurePolicy_{rule.name}" if rule.name else "DefaultFailurePolicy"
    return reason, f"applying {action} failure policy action (first failed job: {_job(plan, cause)})"


def _applied(plan: Plan, cause: Cause) -> FailureRule:
    """Return the rule that applied to a failure to which no rule about its member applied."""
    return first_rule(plan, cause, inf, of_job=not cause.pod and cause.reason == DEADLINE)


def _failure(plan: Plan, record: Record) -> tuple[str, str]:
    """Return reason and message of the condition Failed."""
    if record.reason not in _OF_RULES or record.cause is None:
        return record.reason, record.message or record.reason
    rule = _applied(plan, record.cause)
    reason, message = _NO_RESTART_LEFT
    if rule.action is FailureAction.FAIL_EXPERIMENT:
        reason, message = _BY_ACTION if rule.name else _FAILED_JOBS
    return reason, f"{message} (first failed job: {_job(plan, record.cause)})"
