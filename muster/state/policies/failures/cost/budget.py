"""Budget: how often the experiment may be restarted, and how often a failure rule with a limit may apply.

A counted restart, of the gang or of a job or member, uses one unit of ``restartPolicy.backoffLimit``. With
``renewOnProgress`` only the restarts since the gang made progress count (``recurrence``). A rule with a ``limit``
applies so many times in the life of the experiment, whatever the budget has left; then the failure ends the experiment,
and the message names the rule.
"""

from msgspec.structs import replace

from muster.state.facts.context import Fail
from muster.state.facts.sentences import sentence
from muster.state.vocabulary.plan import MAX_EPOCH, Plan
from muster.state.vocabulary.record import Cause, Record, RuleUse
from muster.state.vocabulary.rules import FailureRule

LIMIT_REASON = "FailureRuleLimitExceeded"


def refused(plan: Plan, record: Record, rule: FailureRule, cause: Cause) -> Fail | None:
    """Why the rule may not apply once more, if it may not."""
    name = limited(plan, rule)
    if rule.limit is not None and uses(record, name) >= rule.limit:
        return Fail(LIMIT_REASON, f"{sentence(cause)}; limit of failure rule {name} reached ({rule.limit})", cause)
    return None


def spent(plan: Plan, record: Record, cause: Cause) -> Fail | None:
    """The end of the experiment where no counted restart is left."""
    if used(record) < plan.restarts.limit:
        return None
    return Fail("BackoffLimitExceeded", f"{sentence(cause)}; {_used(plan)}", cause)


def used(record: Record) -> int:
    """The counted restarts that count now."""
    return record.restarts - record.renewed


def share(plan: Plan, record: Record) -> str:
    """``4 of 6``, ``1 of 3 since its last progress``: the counted restarts that count now, of those allowed."""
    limit = f" of {plan.restarts.limit}" if plan.restarts.limit < MAX_EPOCH else ""
    return f"{used(record)}{limit}{_span(plan)}"


def charged(record: Record, *, counted: bool, rule: str) -> Record:
    """The record after one more restart. ``rule`` names the failure rule, if that has a limit."""
    if rule:
        rest = tuple(each for each in record.rule_uses if each.name != rule)
        record = replace(record, rule_uses=(*rest, RuleUse(rule, uses(record, rule) + 1)))
    return replace(record, restarts=record.restarts + 1) if counted else record


def limited(plan: Plan, rule: FailureRule) -> str:
    """The name under which the uses of a rule with a limit are counted; empty for one without."""
    if rule.limit is None:
        return ""
    return rule.name or f"{plan.failures.rules.index(rule) + 1}"


def uses(record: Record, name: str) -> int:
    """How often the rule of that name was applied."""
    return next((each.used for each in record.rule_uses if each.name == name), 0)


def _used(plan: Plan) -> str:
    limit = plan.restarts.limit
    if not limit:
        return "not restarted (restart limit 0)"
    return f"restart limit reached ({limit} of {limit}{_span(plan)})"


def _span(plan: Plan) -> str:
    return " since its last progress" if plan.restarts.renews else ""
