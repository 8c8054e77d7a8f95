"""Ignored: members that have failed and are not run again in this epoch (action Ignore of a failure rule).

Such a member counts as ended, and never as succeeded. The others go on. With the success rule All, the experiment can
no longer succeed where the member's group is a target; with Any, it can while another job may still succeed. It fails
when every member of the target groups has ended, so that nothing of their work is lost before.
"""

from muster.api.values.rank_ranges import to_ranges
from muster.state.facts.context import Context, Fail
from muster.state.facts.sentences import NAMED_RANGES

REASON = "IgnoredMembersFailed"


def judge(context: Context) -> Fail | None:
    """Fail where every target has ended and the success rule, which is asked first, does not hold."""
    plan, tally = context.plan, context.tally
    if not tally.ignored or not context.settled:
        return None
    targets = [group for group in plan.groups if not plan.success.groups or group.name in plan.success.groups]
    given_up = sorted(rank for rank in tally.ignored if plan.group_of(rank) in targets)
    ended = len(given_up) + sum(tally.of_group(group.name).succeeded for group in targets)
    if not given_up or ended < sum(group.size for group in targets):
        return None
    ranks, failed = ("rank", "was") if len(given_up) == 1 else ("ranks", "were")
    named = f"{ranks} {to_ranges(given_up, NAMED_RANGES)} failed and {failed} not run again"
    cause = context.record.cause
    return Fail(REASON, f"every member has ended; {named}", cause)
