"""Success: the jobs that the plan's success rule names have ended with exit code 0.

A member that succeeds early is done in its epoch, whatever becomes of its pod (``state.policies.completion``). If
another one fails, the whole gang runs again, because a collective program's result belongs to all of its ranks. A gang
without members has nothing left to do.
"""

from muster.state.facts.context import Context
from muster.state.policies.verdicts import Succeed
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.rules import Quantifier

BY_POLICY = "SuccessPolicyMet"
"""Reason of a success that did not need every member; the rest is stopped."""


def judge(context: Context) -> Succeed | None:
    """Succeed once the success rule holds in this epoch."""
    plan, rule = context.plan, context.plan.success
    targets, size = plan.groups, plan.size
    if rule.groups:
        targets = tuple(group for group in targets if group.name in rule.groups)
        size = sum(group.size for group in targets)
    if rule.quantifier is Quantifier.ANY and size:
        done = next((name for group in targets if (name := _completed_job(context, group))), None)
        return Succeed(f"job {done} succeeded", BY_POLICY) if done else None
    if size and not context.tally.succeeded:
        return None
    if sum(context.tally.of_group(group.name).succeeded for group in targets) < size:
        return None
    if not size:
        return Succeed("no members were asked for")
    which = f" of {', '.join(group.name for group in targets)}" if rule.groups else ""
    message = f"all {size} members{which} succeeded" if size > 1 else f"the member{which} succeeded"
    return Succeed(message, BY_POLICY) if rule.groups else Succeed(message)


def _completed_job(context: Context, group: Group) -> str | None:
    """Return the first job of the group whose members have all succeeded.

    It reads one count per job, only for ``Any`` and only if enough members for a job have succeeded.
    """
    if context.tally.of_group(group.name).succeeded < group.completions:
        return None
    counts = (context.tally.of_job(group.name, job).succeeded for job in range(group.replicas))
    done = (job for job, succeeded in enumerate(counts) if succeeded >= group.completions)
    return next((f"{group.name}-{job}" for job in done), None)
