"""A coordinator's report about a member, as far as the member's cause depends on it."""

from muster.state.facts.context import Context
from muster.state.view.probe_result import ProbeResult
from muster.state.view.roll import RankState
from muster.state.vocabulary.coordinator import Coordinator
from muster.state.vocabulary.pod import Pod


def passive(context: Context) -> bool:
    """Return True if the run has no coordinator that can be asked."""
    return context.plan.asked is None


def is_coordinator(context: Context, pod: Pod) -> bool:
    """Return True if the pod is that of the coordinator."""
    coordinator = context.plan.coordinator
    return coordinator is not None and coordinator.rank == pod.rank


def serves(context: Context) -> bool:
    """Return True if the coordinator has served in this epoch, as far as is known."""
    record = context.record
    if context.probe is not None and context.probe.served:
        return True
    return record.assembled_at is not None or (record.roll is not None and record.roll.arrived > 0)


def needs_no_port(coordinator: Coordinator, probe: ProbeResult) -> bool:
    """Return True if a closed port is no alarm: the run ends, or the rendezvous no longer needs the port."""
    return probe.leaving or (coordinator.may_close and probe.passed and probe.answer.coordinator.refused)


def is_stale(context: Context, pod: Pod) -> bool:
    """Return True if only the coordinator that ran before this one knows the member."""
    roll = context.tally.roll
    return pod.rank < len(roll) and roll[pod.rank] is RankState.STALE


def uncalled(context: Context, pod: Pod) -> str:
    """Return the words about a member whose program runs and has not registered."""
    if is_stale(context, pod):
        return "running, but it belongs to the life of the coordinator before this one"
    return "running, but not ready" if passive(context) else "running, but it has not called the coordinator"
