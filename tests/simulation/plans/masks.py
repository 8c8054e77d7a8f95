"""Where the end of a plan may differ from that of its clean run, and why."""

import json

from muster.state.policies.failures.culprit import WAIT
from tests.scenarios.catalogue import scenarios
from tests.scenarios.incidents import NodeBoots, NodeLost, Preempted
from tests.scenarios.operators import OPERATORS
from tests.scenarios.scenario import path_of
from tests.simulation.plans.plan import CRASHES, SILENCE, Fault, Plan
from tests.simulation.world.user_actions import SUBMITTED
from tests.simulation.world.world import World

PROMPT = 1.0
"""Seconds within which an expired clock is acted upon, and an event is known."""
TOGETHER = 10.0
"""Seconds from an assembled gang to an incident."""
CONVERGE = 60.0
"""Seconds within which the desired state is reached once faults have stopped."""
MOST_EPOCHS = 100
"""More epochs than any plan has."""


def incident_averted(world: World, name: str) -> bool:
    """A deleted pod ended the epoch in which an incident was to happen, before it happened.

    Where a rule gives members up, a deleted one is given up as a failed one is: the end is the same.
    """
    if any(rule["action"] == "Ignore" for rule in world.scenario.spec.get("failurePolicy", {}).get("rules", ())):
        return False
    deleted = any(kind == "deletion" and experiment == name for _, kind, experiment, _, _ in world.incident_log)
    happened = any(kind != "deletion" and experiment == name for _, kind, experiment, _, _ in world.incident_log)
    return deleted and not happened and any(len(event.epochs) == 1 for event in world.scenario.incidents)


def cause_may_differ(plan: Plan) -> bool:
    """The first failure and its reason can be unknown to a daemon that was not running, and so can a pod that was taken
    away, if its event came late or not at all. And kubelets that differ in speed can report the end of a survivor
    before that of the member whose failure ended it. Where survivors are not known by their exit code, one of them may
    be taken for the cause whenever its end is seen together with that of the member it ended for."""
    late = any(fault.kind in ("hold", "drop", "slow-answer") and fault.seconds > PROMPT for fault in plan.faults)
    taken = any(isinstance(event, Preempted | NodeLost | NodeBoots) for event in scenarios()[plan.scenario].incidents)
    alike = bool(plan.faults) and not OPERATORS[plan.operator].survivors_known
    return plan.shuffle or plan.has(*CRASHES) or (late and taken) or alike


def acted_on_before_seen(world: World, name: str) -> bool:
    """Users acted on the experiment before the daemon received it for the first time."""
    acts = [step.second for step in world.scenario.user_actions if step.experiment == name]
    if not acts:
        return False
    came = next(each.version for each in world.changes if each.path == path_of(name))
    held = [fault.seconds for fault in world.plan.faults if fault.kind == "hold" and fault.at == came]
    return any(SUBMITTED + seconds > min(acts) for seconds in held)


def culprit_not_awaited(world: World, name: str) -> bool:
    """A survivor's end was judged by a leader whose wall clock is off by more than it waits for the culprit's own end.

    The wait is on the clock of the survivor's node. A rule that asks for the exit code then finds the survivor's.
    """
    if "ExitCode" not in json.dumps(world.scenario.spec) or ahead(world.plan) <= WAIT:
        return False
    statuses = (change.after.get("status") or {} for change in world.changes if change.path == path_of(name))
    return any((status.get("cause") or {}).get("exitCode") == world.operator.survivor_exit for status in statuses)


def ended_unwatched(world: World) -> bool:
    """A member's program ended while no daemon ran: those that are left were never seen to be there together."""
    ends = [each.ended_at for each in world.kubelet.processes.values() if each.ended_at]
    away = [
        (killed, killed + fault.seconds + PROMPT) for fault, killed in world.injected.items() if fault.kind in CRASHES
    ]
    return any(killed <= at <= back for at in ends for killed, back in away)


def ended_altered(world: World, name: str) -> set[int]:
    """Epochs of pods that ended, or were taken away, while they had not the marks of a member or a moment before: no
    watch showed how. A live read says only that they ended, and that is no failure of the program."""
    found = set[int]()
    for uid, (since, until) in world.users.altered.items():
        process = world.kubelet.processes[uid]
        struck = [at for at, _, *place in world.incident_log if place == [name, process.epoch, process.rank]]
        ended = [process.ended_at] * (process.ended_at > 0.0)
        if process.experiment_name == name and any(since - PROMPT <= at <= until for at in (*struck, *ended)):
            found.add(process.epoch)
    return found


def unrecorded_epochs(world: World, name: str) -> set[int]:
    """Epochs that lost a pod before a status said that all members had a node, in a plan that kills the daemon.

    Once such a pod is gone, nothing shows that it ever existed. So it may be created again in the same epoch, and the
    abort of its peers may be charged as a failure.
    """
    if stalled(world):
        return set(range(MOST_EPOCHS))
    charged = _charged_as_failures(world, name) | world.ends_unseen(name)
    # (Nor where a new list takes the place of events: the watch has expired, or was silent while a cluster began.)
    silent = world.operator.cluster and any(f.kind == "hold" and f.seconds > SILENCE for f in world.plan.faults)
    listed = silent or world.plan.has("expire")
    if not world.plan.has(*CRASHES) and not listed:
        return charged
    return charged | {epoch for experiment, epoch in world.unrecorded if experiment == name}


def _charged_as_failures(world: World, name: str) -> set[int]:
    """Epochs that ended by a disruption which the daemon saw late, together with the ends of its survivors, where these
    are not known by their exit code."""
    late = any(fault.seconds > PROMPT for fault in world.plan.faults)
    if world.operator.survivors_known or not late:
        return set()
    return {epoch for _, kind, experiment, epoch, _ in world.incident_log if experiment == name and kind != "failure"}


def stalled(world: World) -> bool:
    """The daemon waited for its own writes to come back for longer than a clock lasts, or a leader's clock is ahead of
    the last one's by more than that; clocks count that time. Pods are own writes, too: where a create of a wave is
    refused, the others are awaited before it is sent again."""
    subject = world.operator.subject.plural
    awaited = (subject, "pods") if world.plan.has("refuse") else (subject,)
    own = [fault for fault in world.plan.faults if world.held_resource.get(fault) in awaited]
    longest = max(ahead(world.plan), *(fault.seconds for fault in own), 0.0)
    return "clocks" in world.scenario.spec and longest > CONVERGE


def events_come_too_late(plan: Plan) -> bool:
    """Events reach the daemon after everything has happened."""
    return plan.has("stale") or sum(fault.seconds for fault in plan.faults if fault.kind in ("hold", "drop")) > TOGETHER


def queue_unseen(world: World) -> bool:
    """The queue, or a user, stopped the gang for a minute while the daemon's watch was silent for longer.

    The daemon hears of it when it is over, or when all programs have ended well: then it rightly changes nothing.
    """
    return bool(world.scenario.quota) and events_come_too_late(world.plan)


def ahead(plan: Plan, fault: Fault | None = None) -> float:
    """Seconds by which a leader's wall clock may be ahead of the last one's: what waits for a persisted time comes that
    much earlier. A step within the life of one daemon is measured and changes nothing; but one that is followed by a
    crash leaves times behind that the next daemon's clock, which was not set, does not explain. All faults together, or
    one of them."""
    kinds = ("skew", "step-clock", "failover") if plan.has(*CRASHES) else ()
    faults = plan.faults if fault is None else (fault,)
    return sum(abs(float(each.how or 0.0)) for each in faults if each.kind in kinds)
