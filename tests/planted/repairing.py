"""Bugs in members that run again within their epoch, in limits of rules, and in nodes to avoid."""

import re
from typing import Any

from muster.reconcilers.native import confirm
from muster.state.facts.context import Context
from muster.state.policies import restart
from muster.state.policies.failures import recurrence, repair, restart_reasons
from muster.state.policies.failures.repair import Repairs
from tests.planted.bug import Hunt, Swaps, bug, instead_of, swap


@bug(Hunt("clean", "preempted-member-runs-again", operator="jobset", most=20), shown_by="which may still run")
def successor_beside_its_predecessor() -> Swaps:
    """The next pod of a rank is created while the older one ends, and the live API is asked for other epochs only."""
    return [
        swap(repair, "held_back", lambda case: frozenset[int]()),
        swap(confirm, "_precedes", lambda pod, epoch, again: pod.epoch != epoch),
    ]


@bug(Hunt("clean", "member-runs-again", operator="jobset", most=20), shown_by="before its back-off is over")
@instead_of(repair, "held_back")
def member_without_a_wait(_: Any, case: Context) -> frozenset[int]:
    """A member runs again at once, whatever its back-off."""
    return frozenset(pod.rank for pod in case.tally.older.values() if pod.live)


@bug(
    Hunt("clean", "member-gives-up", operator="jobset", most=20),
    Hunt("crash", "member-gives-up", operator="jobset", most=20),
)
def budget_of_gangs_only() -> Swaps:
    """Members run again as often as they fail: the budget is asked for restarts of the gang only."""
    return [swap(restart, "exhausted", lambda plan, record, cause: None)]


@bug(Hunt("clean", "rule-gives-up", operator="jobset", most=20))
def rule_limit_ignored() -> Swaps:
    """The limit of a failure rule is not looked at."""
    return [swap(restart, "used_up", lambda plan, record, rule, cause: None)]


@bug(Hunt("clean", "job-runs-again", operator="jobset", most=20))
@instead_of(Repairs, "_begin_again")
def only_the_failed_member_of_a_job(begin: Any, self: Repairs, ranks: Any, cause: Any) -> None:
    """RestartJob runs the failed member again, and leaves the others of its job at work."""
    begin(self, (cause.rank,), cause)


@bug(Hunt("clean", "node-avoided"), Hunt("crash", "node-avoided", most=10), shown_by="to be avoided")
def bad_node_taken_again() -> Swaps:
    """Nodes that the gang failed on are named and not left out."""
    return [swap(restart_reasons, "avoided", lambda record: ())]


@bug(Hunt("clean", "jitter"), shown_by="before its back-off")
def jitter_takes_all_of_the_wait() -> Swaps:
    """With jitter a restart waits for nothing."""
    return [swap(repair, "_shortened", lambda plan, seconds, epoch, attempt: 0.0 if plan.restarts.jitter else seconds)]


@bug(Hunt("clean", "failures-differ"), shown_by="are called the same")
def each_failure_is_the_same() -> Swaps:
    """Failures are known by their exit code alone."""
    mark = recurrence._Mark("1", "ended with exit code 1")
    return [swap(recurrence, "_mark", lambda context, cause: mark)]


@bug(Hunt("clean", "same-failure-later"), shown_by="are called the same")
def steps_are_no_advance() -> Swaps:
    """A gang that comes further each time is taken for one that does not."""
    return [
        swap(recurrence, "_came_further", lambda context, cause, work: False),
        swap(recurrence, "track", lambda context: context.record),
        swap(recurrence, "_tracked", lambda context, until: context.record),
    ]


@bug(Hunt("clean", "same-failure"), shown_by="are called the same")
def numbers_make_another_failure() -> Swaps:
    """The numbers in a message are part of what a failure is known by."""
    return [swap(recurrence, "_VALUES", re.compile("(?!)"))]
