"""The failure rule for a failure: the first that matches it.

A rule that is used up for the members of a job is skipped. If it has a new reason for the failure (``becomes``), the
failure is one of the job, and rules about a member are skipped. The record keeps the member's own failure.
"""

from msgspec.structs import replace

from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Cause
from muster.state.vocabulary.rules import Escalation, FailureAction, FailureRule


def first_rule(plan: Plan, cause: Cause, failures: float, *, of_job: bool = False) -> FailureRule:
    """Return the first matching rule; without one, a counted restart of the gang.

    ``failures`` of the job were counted before; infinity: every rule with such a limit is used up. ``of_job``: it is
    the failure of a job and of no member.
    """
    failure = cause
    for rule in plan.failures.of_group(cause.group):
        if (of_job and rule.action.of_member) or not rule.matches(failure):
            continue
        if rule.per_job is None or failures < rule.per_job:
            return rule
        if rule.becomes is not None:
            of_job = True
            failure = replace(cause, reason=rule.becomes.reason, message=_message(plan, rule.becomes, cause))
    return FailureRule(FailureAction.RESTART_GANG)


def _message(plan: Plan, becomes: Escalation, cause: Cause) -> str:
    """Return the message of the failure as it counts for the rules after one that is used up."""
    names = {"namespace": plan.namespace, "pod": cause.pod, "container": cause.container}
    names |= {"exit_code": str(cause.exit_code), "message": cause.message or cause.last_line}
    message = becomes.message
    for name, value in names.items():
        message = message.replace(f"{{{name}}}", value)
    return message
