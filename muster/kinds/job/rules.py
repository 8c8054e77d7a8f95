"""From a batch/v1 JobSpec to the rules of its jobs."""

from muster.api.values.rank_ranges import from_ranges
from muster.kinds.job.pod_failure_policy import PodFailureRule
from muster.kinds.job.spec import JobSpec
from muster.state.vocabulary.group import JobRules, JobSuccess, PodAction, PodRule


def job_rules(spec: JobSpec) -> JobRules:
    """The rules of the jobs of that spec."""
    return JobRules(
        backoff_limit=spec.limit,
        per_index=spec.backoff_limit_per_index,
        max_failed=spec.max_failed_indexes,
        pods=tuple(map(_pod_rule, spec.pod_failure_policy.rules)) if spec.pod_failure_policy else (),
        success=tuple(
            JobSuccess(
                tuple(from_ranges(rule.succeeded_indexes, spec.pods)) if rule.succeeded_indexes else (),
                rule.succeeded_count,
            )
            for rule in (spec.success_policy.rules if spec.success_policy else ())
        ),
        deadline=None if spec.active_deadline_seconds is None else float(spec.active_deadline_seconds),
        in_place=spec.template.restart_policy == "OnFailure",
        queue=spec.work_queue and not spec.indexed,
        indexed=spec.indexed,
    )


def _pod_rule(rule: PodFailureRule) -> PodRule:
    codes = rule.on_exit_codes
    if codes is None:
        return PodRule(PodAction(rule.action), disruption=True)
    return PodRule(
        PodAction(rule.action),
        container=codes.container_name or "",
        exit_codes=codes.values,
        excluded=codes.operator == "NotIn",
    )
