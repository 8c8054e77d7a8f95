"""Gates: conditions that a group awaits before its pods are created.

A group is created when every gate of it is open. A gate names another group, and how far its pods must have come, or
the coordinator. The coordinator's own pod never waits for a gate on the coordinator.
"""

from collections.abc import Iterator

from muster.state.facts.context import Context
from muster.state.facts.sentences import share
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.rules import Gate, GateCondition


def gate_open(context: Context, gate: Gate) -> bool:
    """Return True if the awaited pods have come as far as the gate asks."""
    if gate.condition is GateCondition.SERVING:
        return context.probe is not None and context.probe.last_served_at > 0
    if gate.condition is GateCondition.ARRIVED:
        waiting = sum(group.size for group in context.plan.groups if gate in group.gates)
        probe = context.probe
        return probe is not None and not probe.answer.lacks and probe.arrived >= context.plan.expected - waiting
    if gate.group:
        reached, size = _progress(context, gate)
        return reached >= size
    return _coordinator_at(context, gate.condition)


def closed(context: Context, group: Group) -> tuple[Gate, ...]:
    """Return the gates of the group that are not open."""
    return tuple(gate for gate in group.gates if not gate_open(context, gate))


def awaited(context: Context) -> str:
    """Name the gate of the first group that waits for another group; empty if none does.

    ``group eval waits until train is complete (3/4 are)``. Waiting for the coordinator has sentences of its own.
    """
    for group in context.plan.groups:
        if not group.gates or context.tally.of_group(group.name).pods >= group.size:
            continue
        for gate in closed(context, group):
            if gate.group:
                reached, size = _progress(context, gate)
                much = share(reached, size)
                return f"group {group.name} waits until {gate.group} is {gate.condition.lower()} ({much} are)"
    return ""


def prepared(context: Context) -> list[range]:
    """Return the ranks of each complete group for whose end others wait before they begin: it has ended in time."""
    groups, of_group = context.plan.groups, context.tally.of_group
    awaited = {gate.group for group in groups for gate in group.gates if gate.condition is GateCondition.COMPLETE}
    done = (each for each in groups if each.name in awaited and of_group(each.name).succeeded >= each.size)
    return [range(each.first_rank, each.first_rank + each.size) for each in done]


def ended_early(context: Context) -> Iterator[int]:
    """Yield the ranks that have ended with 0 although others may need them."""
    submitter, in_time = context.plan.submitter, prepared(context)
    return (rank for rank in context.tally.done if rank != submitter and not any(rank in each for each in in_time))


def _progress(context: Context, gate: Gate) -> tuple[int, int]:
    """Return how many members, or jobs, of the awaited group have come so far, and how many it has."""
    group, counts = context.plan.group(gate.group), context.tally.of_group(gate.group)
    if group is not None and gate.condition is GateCondition.READY and group.at_a_time < group.size:
        return _ready_jobs(context, group), group.replicas
    reached = {
        GateCondition.CREATED: counts.pods,
        GateCondition.READY: counts.ready + counts.succeeded,
        GateCondition.COMPLETE: counts.succeeded,
    }
    return reached[gate.condition], group.size if group else 0


def _ready_jobs(context: Context, group: Group) -> int:
    """Return how many jobs of a group that runs its members in turn have as many ready as may run."""
    at_a_time = group.at_a_time // group.replicas
    counts = (context.tally.of_job(group.name, job) for job in range(group.replicas))
    return sum(each.ready + each.succeeded >= at_a_time for each in counts)


def awaits_leader(context: Context, rank: int) -> bool:
    """Return True if the member has no pod because the first of its job is not ready."""
    group = context.plan.group_of(rank)
    if group is None or not group.leader_first:
        return False
    leader = group.ranks_of(group.member(rank - group.first_rank).job)[0]
    return rank != leader and not _leads(context, leader)


def _leads(context: Context, leader: int) -> bool:
    pod = context.tally.members.get(leader)
    return pod is not None and pod.ready


def _behind_leaders(context: Context, group: Group) -> int:
    """Return how many members have no pod because the first of their job is not ready."""
    found = 0
    for job in range(group.replicas if context.tally.of_group(group.name).pods < group.size else 0):
        leader = group.ranks_of(job)[0]
        if not _leads(context, leader):
            others = context.tally.of_job(group.name, job).pods - (leader in context.tally.members)
            found += group.completions - 1 - others
    return found


def _coordinator_at(context: Context, condition: GateCondition) -> bool:
    coordinator = context.plan.coordinator
    if coordinator is None or coordinator.rank in context.tally.done:
        return True
    pod = context.tally.members.get(coordinator.rank)
    if pod is None:
        return False
    return condition is GateCondition.CREATED or (condition is GateCondition.READY and pod.ready)


def held_back(context: Context) -> int:
    """Return how many members wait for a gate of their group or for the end of others, by counts alone."""
    plan, tally = context.plan, context.tally
    gated = sum(
        max(0, group.size - tally.of_group(group.name).pods)
        for group in plan.groups
        if group.gates and closed(context, group)
    )
    gated += sum(_behind_leaders(context, group) for group in plan.groups if group.leader_first)
    if not plan.sequential:
        return gated
    places = max(0, plan.together - tally.working)
    return max(gated, plan.size - tally.pods - places)
