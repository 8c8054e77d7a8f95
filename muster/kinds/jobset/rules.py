"""Rules for the failure of a pod of a JobSet: those of its Job, and then those of the JobSet.

A Job replaces a failed pod up to ``backoffLimit`` times, each time after twice as long (kubernetes:
pkg/controller/job). Here that is a rule about a member with a limit for each job. Beyond it the failure counts as the
Job's, with the reason and the message that the Job controller gives it, because rules of JobSets match these.

A pod whose policy is OnFailure has a container that the kubelet starts again, and each restart counts: a limit of N is
N runs. Here the pod is replaced instead, so its first N - 1 failures are.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from muster.kinds.job.spec import JobSpec, PodFailureRule
from muster.kinds.jobset.spec import JobSet, ReplicatedJob
from muster.state.vocabulary.rules import Backoff, ClockAction, ClockName, ClockRule, Escalation, Moment
from muster.state.vocabulary.rules import FailureAction as Action
from muster.state.vocabulary.rules import FailureRule as Rule

MEMBER_BACKOFF: Final = Backoff(10.0, 600.0, 2.0)
"""Seconds before a Job replaces a failed pod (kubernetes: pkg/controller/job/backoff_utils.go)."""
BACKOFF_LIMIT: Final = Escalation("BackoffLimitExceeded", "Job has reached the specified backoff limit")
DEADLINE: Final = "DeadlineExceeded"
_FAIL_JOB: Final = "matching FailJob rule at index"
_ACTIONS: Final = {
    "FailJobSet": Rule(Action.FAIL_EXPERIMENT),
    "RestartJobSet": Rule(Action.RESTART_GANG),
    "RestartJobSetAndIgnoreMaxRestarts": Rule(Action.RESTART_GANG, counted=False),
    "RestartJob": Rule(Action.RESTART_JOB),
    "RestartJobAndIgnoreMaxRestarts": Rule(Action.RESTART_JOB, counted=False),
}
"""Rule for each action of JobSet, and whether it is counted against ``maxRestarts``."""


def rules_of(jobset: JobSet) -> Iterator[Rule]:
    """Yield the rules in order. Last: the action if none matches, the end without a policy and a restart with one."""
    for replicated in jobset.spec.replicated_jobs:
        yield from _of_job(replicated)
    policy = jobset.spec.failure_policy
    for number, rule in enumerate(policy.rules if policy else ()):
        yield replace(
            _ACTIONS[rule.action],
            name=policy.name_of(number) if policy else "",
            groups=rule.target_replicated_jobs,
            reasons=rule.on_job_failure_reasons,
            messages=rule.on_job_failure_message_patterns,
        )
    yield Rule(Action.RESTART_GANG if policy else Action.FAIL_EXPERIMENT)


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


def _of_job(replicated: ReplicatedJob) -> Iterator[Rule]:
    spec = replicated.template.spec
    replaced = Rule(
        Action.RESTART_MEMBER,
        groups=(replicated.name,),
        counted=False,
        per_job=_replaced(spec),
        becomes=BACKOFF_LIMIT,
        backoff=MEMBER_BACKOFF,
    )
    for number, rule in enumerate(spec.pod_failure_policy.rules if spec.pod_failure_policy else ()):
        yield _of_policy(rule, number, replaced)
    yield replaced


def _replaced(spec: JobSpec) -> int:
    """Return the number of failed pods of a Job that are replaced."""
    return spec.limit if spec.template.restart_policy == "Never" else max(0, spec.limit - 1)


def _of_policy(rule: PodFailureRule, number: int, replaced: Rule) -> Rule:
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
