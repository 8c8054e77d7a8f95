"""The sentences of ends that failures bring about, by their reason (``policies.restart``)."""

from dataclasses import replace

from muster.api.restart_counts import MAX_PLACES, SameFailure
from muster.api.values.humanize import age
from muster.api.values.rank_ranges import to_ranges
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
        parts = "every member has ended", _given_up(restart.given_up(context))
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


def _given_up(ranks: list[int]) -> str:
    who, failed = ("rank", "was") if len(ranks) == 1 else ("ranks", "were")
    return f"{who} {to_ranges(ranks, NAMED_RANGES)} failed and {failed} not run again"


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
