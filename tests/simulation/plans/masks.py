"""What faults may rightly change: where a plan may end otherwise than its clean run, and why."""

from muster.kube.paths import experiment
from muster.state.status_summary import PICTURE_GROWTH
from tests.simulation.oracles.invariants import OVER
from tests.simulation.plans.plan import CRASHES, Plan
from tests.simulation.scenarios.catalogue import scenarios
from tests.simulation.scenarios.scenario import NodeLost, Preempted
from tests.simulation.world.user_actions import NAMESPACE, SUBMITTED
from tests.simulation.world.world import World

PROMPT = 1.0
"""Seconds within which a clock that has run out is acted upon, and an event is known."""
TOGETHER = 10.0
"""Seconds for which a gang is together before something befalls a member."""
CONVERGE = 60.0
"""Seconds within which everything is well again once faults have stopped."""
MOST_EPOCHS = 100
"""More than any plan has."""


def averted(world: World, name: str) -> bool:
    """A stranger ended the epoch in which something was to befall a member, before it did."""
    deleted = any(kind == "deletion" and called == name for _, kind, called, _, _ in world.facts)
    befallen = any(kind != "deletion" and called == name for _, kind, called, _, _ in world.facts)
    return deleted and not befallen and any(len(event.epochs) == 1 for event in world.scenario.befalls)


def misled(plan: Plan) -> bool:
    """What came first, and its reason, may be gone by the time a daemon looks that was away; so may be a pod that was
    taken from the gang, where that is told late or not at all. And kubelets that differ in speed report a survivor's
    end before that of the member it survived."""
    late = any(fault.kind in ("hold", "drop") and fault.seconds > PROMPT for fault in plan.faults)
    taken = any(isinstance(event, Preempted | NodeLost) for event in scenarios()[plan.scenario].befalls)
    return plan.shuffle or plan.has(*CRASHES) or (late and taken)


def aged(world: World) -> float:
    """Seconds by which the last picture of what is never finished may be later: its pauses grow with its age, and a
    fault that holds news back makes it older."""
    if world.scenario.end.phase in OVER:
        return 0.0
    return PICTURE_GROWTH * sum(fault.seconds for fault in world.plan.faults if fault.kind == "hold")


def unmet(world: World, name: str) -> bool:
    """People had acted on the experiment before the daemon was told that there is one."""
    acts = [step.second for step in world.scenario.people if step.experiment == name]
    if not acts:
        return False
    came = next(each.version for each in world.api.history.changes if each.path == experiment(NAMESPACE, name))
    held = [fault.seconds for fault in world.plan.faults if fault.kind == "hold" and fault.at == came]
    return any(SUBMITTED + seconds > min(acts) for seconds in held)


def unwitnessed(world: World, name: str) -> set[int]:
    """Epochs of which a pod was taken away, in a plan that kills the daemon, before a status told that all were there.

    Once such a pod is gone nobody can say whether it ever was. So it may be made again in the same epoch, and what its
    end did to the others may be taken for a failure of theirs.
    """
    if _stalled(world):
        return set(range(MOST_EPOCHS))
    return {epoch for called, epoch in world.unwitnessed if called == name} if world.plan.has(*CRASHES) else set()


def _stalled(world: World) -> bool:
    """The daemon waited for its own writes to come back for longer than a clock lasts: clocks count that time, too."""
    own = [fault for fault in world.plan.faults if world.held.get(fault) == "experiments"]
    return "clocks" in world.scenario.spec and any(fault.seconds > CONVERGE for fault in own)


def blind(plan: Plan) -> bool:
    """The daemon is not told what happens until all of it has happened."""
    return plan.has("stale") or sum(fault.seconds for fault in plan.faults if fault.kind in ("hold", "drop")) > TOGETHER
