"""The cause of a coordinator that cannot be asked, and reports of a coordinator, or of the record, about members."""

from muster.state.facts.causes.cause import MissingCause
from muster.state.facts.causes.heard import needs_no_port, serves
from muster.state.facts.causes.table import BY_NAME, BY_PORT, Causes
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.finding import Diagnosis
from muster.state.facts.sentences import with_message
from muster.state.view.probe_result import ProbeResult
from muster.state.view.roll import RankState
from muster.state.vocabulary.coordinator import Coordinator

HEARTBEAT = 14
"""The gRPC code (UNAVAILABLE) with which a JAX coordinator gives a member up whose heartbeats stopped."""
_OF_RECORD = {
    cause.stuck_as: cause
    for cause in (Causes.COORDINATOR_UNREACHABLE, Causes.COORDINATOR_NOT_SERVING, Causes.PROCESS_COUNT)
}
"""Reasons of Stuck that are about the coordinator's port (``policies.rendezvous``)."""
_OF_PORT = frozenset(BY_PORT.values())


def of_coordinator(context: Context, coordinator: Coordinator) -> Diagnosis | None:
    """Return the fault of a coordinator whose program runs; None if it has none."""
    probe, pod = context.probe, context.tally.members.get(coordinator.rank)
    if pod is None or not pod.live or not pod.started or pod.terminating or pod.cut_off:
        return None
    address = context.plan.coordinator_address(context.record.epoch)
    if probe is None:
        if serves(context) or context.record.stuck_reason in _OF_RECORD:
            return _as_recorded(context)
        what = "the coordinator runs, but its port has not answered yet"
        return Diagnosis(Causes.COORDINATOR_NOT_SERVING, what, f"pod {pod.name} runs; nothing serves at {address}")
    answer, size = probe.answer, context.plan.expected
    if probe.serving:
        if answer.lacks:
            return _said(Causes.DASHBOARD_NOT_SERVING, f"pod {pod.name} runs; {answer.lacks}")
        if answer.expected is None or answer.expected == size:
            return None
        what = f"the coordinator waits for {answer.expected} processes, the gang has {size}"
        return Diagnosis(Causes.PROCESS_COUNT, what, f"pod {pod.name} at {address} lists {answer.expected} processes")
    if needs_no_port(coordinator, probe) or probe.present(context.now):
        return None
    cause = BY_PORT[answer.coordinator]
    before = "; it served before in this epoch" if probe.last_served_at else ""
    evidence = with_message(f"pod {pod.name} runs; probe of {address}: {answer.coordinator}{before}", answer.detail)
    return _said(cause, evidence)


def _as_recorded(context: Context) -> Diagnosis | None:
    """Return the record's cause for a reader that has not asked the coordinator: a new daemon, or a client."""
    stuck = context.record.called_stuck
    if stuck is None or (cause := _OF_RECORD.get(stuck.reason)) is None:
        return None
    if cause is Causes.PROCESS_COUNT:
        return Diagnosis(cause, stuck.message, stuck.message)
    known = BY_NAME.get(context.record.known.cause) if context.record.known is not None else None
    return _said(known if known in _OF_PORT else cause, stuck.message)


def _said(cause: MissingCause, evidence: str) -> Diagnosis:
    """Return the diagnosis of that cause in the words of its row."""
    return Diagnosis(cause, str(cause.what), evidence)


def given_up(context: Context, probe: ProbeResult) -> dict[int, Diagnosis]:
    """Return the members that the coordinator gave up, or that have left it while others have not."""
    found: dict[int, Diagnosis] = {}
    members = context.tally.members
    for error in probe.answer.errors:
        pod = members.get(error.rank)
        if pod is None or not pod.live or pod.terminating or pod.cut_off or pod.failed:
            continue  # the state of its pod explains more
        said = f"pod {pod.name} runs; the coordinator reports: {error.text}"
        if error.code == HEARTBEAT or probe.answer.protocol == "ray":
            found[error.rank] = _said(Causes.HEARTBEAT_LOST, said)
        else:
            found[error.rank] = _said(Causes.GIVEN_UP, said)
    if probe.leaving and RankState.CONNECTED in probe.answer.states:
        for rank in probe.answer.left:
            said = f"pod {members[rank].name}" if rank in members else "its pod is gone"
            found[rank] = _said(Causes.LEFT, said)
    return found
