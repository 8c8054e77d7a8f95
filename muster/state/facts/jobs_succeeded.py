"""Which jobs have succeeded, where a job may succeed without every member: success rules and work queues."""

from muster.state.facts.context import Context
from muster.state.vocabulary.group import Group, JobRules, JobSuccess
from muster.state.vocabulary.job_changes import ranks_of


def succeeded(context: Context, group: Group, index: int) -> bool:
    """The job has succeeded: all of its members have, or enough of them and the others are given up."""
    done = context.tally.of_job(group.name, index).succeeded
    if done >= group.completions:
        return True
    rules = group.job
    if not done or rules is None or not rules.early:
        return False
    if rules.success:
        return holds(context, group, index, rules)
    ignored = ranks_of(context.record.ignored)
    return done + sum(rank in ignored for rank in _ranks(group, index)) >= group.completions


def jobs_succeeded(context: Context, group: Group) -> int:
    """How many jobs of the group have succeeded. Reads one count per job."""
    if not context.tally.of_group(group.name).succeeded:
        return 0
    return sum(succeeded(context, group, index) for index in range(group.replicas))


def holds(context: Context, group: Group, index: int, rules: JobRules) -> bool:
    """One of the job's success rules holds."""
    done = {place for place, rank in enumerate(_ranks(group, index)) if rank in context.tally.done}
    return any(_holds(rule, done, group.completions) for rule in rules.success)


def winding_up(context: Context, group: Group, index: int) -> bool:
    """A worker of the queue has succeeded: the queue is empty, and no pod is started or replaced any more."""
    queue = group.job is not None and group.job.queue
    return queue and context.tally.of_job(group.name, index).succeeded > 0


def not_needed(context: Context) -> tuple[int, ...]:
    """Ranks that need not run any more, because their job has succeeded or its queue is empty."""
    found: list[int] = []
    for group in context.plan.groups:
        rules = group.job
        if rules is None or not rules.early or not context.tally.of_group(group.name).succeeded:
            continue
        for index in range(group.replicas):
            if not context.tally.of_job(group.name, index).succeeded:
                continue
            ranks = _ranks(group, index)
            if rules.success and holds(context, group, index, rules):
                found += [rank for rank in ranks if rank not in context.tally.done]
            elif rules.queue:  # those that run work on, and end by themselves
                tally = context.tally
                found += [rank for rank in ranks if rank not in tally.done and rank not in tally.members]
    given_up = ranks_of(context.record.ignored)
    return tuple(rank for rank in found if rank not in given_up)


def _ranks(group: Group, index: int) -> range:
    first = group.first_rank + index * group.completions
    return range(first, first + group.completions)


def _holds(rule: JobSuccess, done: set[int], completions: int) -> bool:
    wanted = set(rule.indexes or range(completions))
    return len(done & wanted) >= (len(wanted) if rule.count is None else rule.count)
