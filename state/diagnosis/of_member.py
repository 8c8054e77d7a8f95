"""The cause of one member, from its pod, the coordinator's answer and what the API server said."""

import re
from typing import NamedTuple

from muster.state.context import Context
from muster.state.coordinator import Coordinator, ProbeKind
from muster.state.diagnosis.cause import MissingCause
from muster.state.policies import barrier, gates, hang
from muster.state.policies.queueing import queue
from muster.state.record import ConditionType, Phase
from muster.state.summary.hurt import HUNG
from muster.state.summary.messages import of_lingering, sentence, why_idle
from muster.state.view.pod import Pod
from muster.state.view.probe_result import ProbeResult
from muster.state.view.roll import CoordinatorState, RankState
from muster.state.view.stage import Stage, stage_of

HEARTBEAT = 14
"""The gRPC code (UNAVAILABLE) with which a JAX coordinator gives a member up whose heartbeats stopped."""
_NODE_LOST = frozenset(("NodeLost", "DeletionByTaintManager", "DeletionByPodGC", "ContainerStatusUnknown"))
"""Disruptions after which nothing more is heard of the node (kubernetes: core/v1 PodReason…)."""
_BEHIND = re.compile(r"rank ([0-9]{1,9}) is behind")
_NAMED_IMAGE = re.compile(r'image "([^"\s]{1,200})"')
_FROZEN = re.compile("GCS does not answer")
"""What the prober of Ray says of a GCS whose dashboard lives."""

REFUSED_BY = {
    "QuotaExceeded": MissingCause.QUOTA_EXCEEDED,
    "WebhookDenied": MissingCause.ADMISSION_DENIED,
    "WebhookFailed": MissingCause.ADMISSION_DENIED,
    "PolicyDenied": MissingCause.ADMISSION_DENIED,
    "PodSecurityViolated": MissingCause.ADMISSION_DENIED,
    "LimitRangeViolated": MissingCause.ADMISSION_DENIED,
    "RightsMissing": MissingCause.RIGHTS_MISSING,
    "CredentialsRejected": MissingCause.RIGHTS_MISSING,
    "NameTaken": MissingCause.NAME_TAKEN,
}
"""Reasons of refusals (``reconcilers.native.refusals``) that are a cause of their own."""

_BY_PORT = {
    CoordinatorState.REFUSED: MissingCause.COORDINATOR_NOT_SERVING,
    CoordinatorState.TIMEOUT: MissingCause.COORDINATOR_UNREACHABLE,
    CoordinatorState.SILENT: MissingCause.COORDINATOR_FROZEN,
    CoordinatorState.TLS: MissingCause.WRONG_PROTOCOL,
    CoordinatorState.OTHER_PROTOCOL: MissingCause.WRONG_PROTOCOL,
}


class Diagnosis(NamedTuple):
    """Why one member is missing. Members with equal ``cause``, ``what`` and ``node`` are one finding."""

    cause: MissingCause
    what: str
    evidence: str
    node: str = ""


def refusal_cause(reason: str) -> MissingCause:
    """The cause that a refusal with that reason is."""
    return REFUSED_BY.get(reason, MissingCause.REFUSED)


def without_pod(context: Context, rank: int) -> Diagnosis:
    """Why a member has no pod."""
    view, record = context.view, context.record
    if rank in context.tally.done:
        return Diagnosis(
            MissingCause.ENDED, "ended with exit code 0", "its pod is gone, and the record says it is done"
        )
    if (refusal := view.engine.refusal) is not None:
        cause = refusal_cause(refusal.reason)
        return Diagnosis(cause, f"its pod is refused: {refusal.reason}", refusal.message)
    if record.phase is Phase.QUEUED:
        said = queue.waiting(context).message
        return Diagnosis(MissingCause.QUEUED, "waits for the admission of a queue", said)
    if record.phase is Phase.RESTARTING or not barrier.clear(context):
        return _held_back(context)
    if rank in context.tally.gone or (context.launched and not context.plan.sequential):
        return Diagnosis(
            MissingCause.LOST, "its pod is gone", "it had a pod in this epoch, which is not there any more"
        )
    group = context.plan.group_of(rank)
    if group is not None and group.gates and gates.closed(context, group):
        waiting = gates.awaited(context) or f"group {group.name} waits for the coordinator to serve"
        return Diagnosis(MissingCause.HELD_BACK, "waits for a gate of its group", waiting)
    if context.plan.sequential and context.tally.working >= context.plan.together:
        return Diagnosis(MissingCause.HELD_BACK, "waits for its turn", f"{context.plan.together} run at a time")
    return Diagnosis(MissingCause.NOT_CREATED, "has no pod yet", "nothing is known that keeps Muster from creating it")


def of_pod(context: Context, pod: Pod) -> Diagnosis:
    """Why a member with a pod has not arrived."""
    done = pod.rank in context.tally.done
    stage = stage_of(pod, done)
    said = f"pod {pod.name}" + (f" on node {pod.node}" if pod.node else "")
    if stage in (Stage.RUNNING, Stage.READY):
        return _running(context, pod, stage, said)
    if stage is Stage.CRASHED:
        return _failed(pod, said)
    if stage is Stage.TERMINATING:
        if pod.disruption:
            return _disrupted(pod, said)
        return Diagnosis(MissingCause.TERMINATING, "its pod is being deleted", said)
    if stage is Stage.ENDED:
        return Diagnosis(MissingCause.ENDED, "ended with exit code 0", said)
    if stage is Stage.NODE_NOT_READY:
        what = f"node {pod.node} is not ready"
        return Diagnosis(
            MissingCause.NODE_NOT_READY, what, f"{said} was marked not ready by its node's controller", pod.node
        )
    if stage is Stage.UNKNOWN:
        return Diagnosis(MissingCause.UNKNOWN, f"node {pod.node} has lost sight of it", said, pod.node)
    return _idle(context, pod, stage, said)


def _idle(context: Context, pod: Pod, stage: Stage, said: str) -> Diagnosis:
    """The program has not started."""
    evidence = f"{said}: {why_idle(pod)}"
    match stage:
        case Stage.IMAGE_PULL:
            return Diagnosis(MissingCause.IMAGE_PULL, f"{_image(context, pod)} cannot be pulled", evidence)
        case Stage.CONTAINER_CANNOT_START if pod.holder:
            what = f"{pod.holder} cannot start: {pod.waiting_reason}"
            return Diagnosis(MissingCause.INIT_CONTAINER_FAILS, what, evidence)
        case Stage.CONTAINER_CANNOT_START:
            what = f"its container cannot start: {pod.waiting_reason}"
            return Diagnosis(MissingCause.CONTAINER_CANNOT_START, what, evidence)
        case Stage.UNSCHEDULABLE:
            return Diagnosis(MissingCause.UNSCHEDULABLE, "no node fits", evidence)
        case Stage.SCHEDULING:
            return Diagnosis(MissingCause.SCHEDULING, "has no node yet", evidence)
        case Stage.QUEUED:
            return Diagnosis(MissingCause.QUEUED, "scheduling gates are on its pod", evidence)
    if pod.holder:
        return Diagnosis(MissingCause.INIT_CONTAINER, f"{pod.holder} has not ended", evidence)
    if not pod.sandboxed:
        return Diagnosis(MissingCause.SANDBOX, "has no volumes or no network yet", evidence)
    return Diagnosis(MissingCause.STARTING, "its container is being made", evidence)


def _image(context: Context, pod: Pod) -> str:
    """The image that the kubelet names; kubelets alternate between messages that do and that do not."""
    if found := _NAMED_IMAGE.search(pod.waiting_message):
        return f"the image {found[1]}"
    group = context.plan.group_of(pod.rank)
    return f"the image {group.pod.image}" if group and group.pod.image and not pod.holder else "its image"


def _disrupted(pod: Pod, said: str) -> Diagnosis:
    evidence = _with(f"{said}: {pod.disruption}", pod.waiting_message)
    if pod.disruption in _NODE_LOST:
        return Diagnosis(MissingCause.NODE_LOST, f"node {pod.node} was lost", evidence, pod.node)
    return Diagnosis(MissingCause.EVICTED, f"was taken away: {pod.disruption}", evidence)


def _failed(pod: Pod, said: str) -> Diagnosis:
    if pod.exit is None:
        return Diagnosis(
            MissingCause.CRASHED, f"its pod failed: {pod.waiting_reason}", _with(said, pod.waiting_message)
        )
    if pod.exit.reason == "OOMKilled":
        return Diagnosis(MissingCause.OOM_KILLED, "was killed for its use of memory", _with(said, pod.exit.message))
    return Diagnosis(MissingCause.CRASHED, f"exited with {pod.exit.code}", _with(said, pod.exit.message))


def _running(context: Context, pod: Pod, stage: Stage, said: str) -> Diagnosis:
    """The program runs, or is started again."""
    coordinator = context.plan.coordinator
    if pod.holder:
        what = f"{pod.holder} cannot start: {pod.waiting_reason}"
        return Diagnosis(MissingCause.SIDECAR_FAILS, what, _with(said, pod.waiting_message))
    if pod.restarts and not pod.ready:
        return _restarted(pod, said)
    if coordinator is None or coordinator.probe.passive:
        return Diagnosis(MissingCause.NOT_ARRIVED, "runs, and is not ready", f"{said} runs, and its Ready is false")
    if pod.rank == coordinator.rank and (found := of_coordinator(context, coordinator)) is not None:
        return found
    probe = context.probe
    if pod.rank != coordinator.rank and not serves(context):
        which = f"the coordinator, rank {coordinator.rank}, does not serve"
        return Diagnosis(MissingCause.AWAITS_COORDINATOR, "waits for the coordinator", f"{said} runs; {which}")
    if pod.rank < len(context.tally.roll) and context.tally.roll[pod.rank] is RankState.STALE:
        what = "belongs to a life of the coordinator that is over"
        return Diagnosis(MissingCause.GHOST, what, f"{said} was not started again since; {of_probe(probe)}")
    if coordinator.probe is ProbeKind.RAY and stage is Stage.READY and probe is not None and probe.serving:
        return Diagnosis(MissingCause.GHOST, "is ready, and Ray does not know it", f"{said}; {probe.answer.detail}")
    address = context.plan.coordinator_address(context.record.epoch)
    evidence = f"{said} runs; the coordinator at {address} has not heard of it"
    return Diagnosis(MissingCause.NOT_ARRIVED, "runs, and has not called the coordinator", evidence)


def of_probe(probe: ProbeResult | None) -> str:
    """What the coordinator says of itself."""
    return probe.answer.detail if probe is not None and probe.answer.detail else "the coordinator does not know it"


def _restarted(pod: Pod, said: str) -> Diagnosis:
    times = "once" if pod.restarts == 1 else f"{pod.restarts} times"
    why = f": {pod.waiting_reason}" if pod.waiting_reason else ""
    what = f"its container is started again and again{why}" if why else f"its container was started again {times}"
    evidence = _with(f"{said}: {pod.restarts} restarts", pod.waiting_message)
    return Diagnosis(MissingCause.RESTARTED_IN_PLACE, what, evidence)


def serves(context: Context) -> bool:
    """The coordinator has served in this epoch, as far as is known."""
    record = context.record
    if context.probe is not None and context.probe.served:
        return True
    return record.assembled_at is not None or (record.roll is not None and record.roll.arrived > 0)


def of_coordinator(context: Context, coordinator: Coordinator) -> Diagnosis | None:
    """What is wrong with a coordinator whose program runs; None if nothing is."""
    probe, pod = context.probe, context.tally.members.get(coordinator.rank)
    if pod is None or not pod.live or not pod.started or pod.terminating or pod.cut_off:
        return None
    address = context.plan.coordinator_address(context.record.epoch)
    if probe is None:
        if serves(context) or _stuck_reason(context) in _OF_RECORD:
            return _as_recorded(context)
        what = "its program runs, and its port has not answered yet"
        return Diagnosis(
            MissingCause.COORDINATOR_NOT_SERVING, what, f"pod {pod.name} runs; nothing serves at {address}"
        )
    answer, size = probe.answer, context.plan.size
    if probe.serving:
        if answer.expected is None or answer.expected == size:
            return None
        what = f"the coordinator waits for {answer.expected} processes, the gang has {size}"
        return Diagnosis(MissingCause.PROCESS_COUNT, what, f"pod {pod.name} at {address} lists {answer.expected}")
    if _ending(probe, coordinator) or probe.present(context.now):
        return None
    cause = MissingCause.COORDINATOR_FROZEN if _FROZEN.search(answer.detail) else _BY_PORT[answer.coordinator]
    before = "; it served before in this epoch" if probe.served else ""
    evidence = _with(f"pod {pod.name} runs, port at {address}: {answer.coordinator}{before}", answer.detail)
    return Diagnosis(cause, _SAID[cause], evidence)


def _stuck_reason(context: Context) -> str:
    stuck = context.record.condition(ConditionType.STUCK)
    return stuck.reason if stuck is not None and stuck.status else ""


def _as_recorded(context: Context) -> Diagnosis | None:
    """What the record says of the coordinator, for a reader that has not asked it: a new daemon, or a client."""
    stuck = context.record.condition(ConditionType.STUCK)
    cause = _OF_RECORD.get(_stuck_reason(context))
    if stuck is None or cause is None:
        return None
    if cause is MissingCause.PROCESS_COUNT:
        return Diagnosis(cause, stuck.message, stuck.message)
    state = next((each for each in CoordinatorState if _SAID_OF_PORT.format(each) in stuck.message), None)
    if state is not None and state is not CoordinatorState.SERVING:
        cause = MissingCause.COORDINATOR_FROZEN if _FROZEN.search(stuck.message) else _BY_PORT[state]
    return Diagnosis(cause, _SAID[cause], stuck.message)


_OF_RECORD = {
    "CoordinatorUnreachable": MissingCause.COORDINATOR_UNREACHABLE,
    "CoordinatorNotServing": MissingCause.COORDINATOR_NOT_SERVING,
    "ProcessCountMismatch": MissingCause.PROCESS_COUNT,
}
"""Reasons of Stuck that are about the coordinator's port (``policies.rendezvous``)."""
_SAID_OF_PORT = "any more: {}"

_SAID = {
    MissingCause.COORDINATOR_NOT_SERVING: "the coordinator's program runs, and its port is closed",
    MissingCause.COORDINATOR_UNREACHABLE: "the coordinator cannot be reached",
    MissingCause.COORDINATOR_FROZEN: "the coordinator's process is frozen",
    MissingCause.WRONG_PROTOCOL: "what answers at the coordinator's port is no coordinator",
}


def _ending(probe: ProbeResult, coordinator: Coordinator) -> bool:
    """A closed port is no alarm: the run ends, or the rendezvous needs it no more."""
    return probe.leaving or (coordinator.may_close and probe.passed and probe.answer.coordinator.refused)


def given_up(context: Context, probe: ProbeResult) -> dict[int, Diagnosis]:
    """The members that the coordinator gave up, or that have left it while others have not."""
    found: dict[int, Diagnosis] = {}
    members = context.tally.members
    for error in probe.answer.errors:
        pod = members.get(error.rank)
        if pod is None or not pod.live or pod.terminating or pod.cut_off or pod.failed:
            continue  # what became of its pod says more
        said = f"pod {pod.name} runs; the coordinator says: {error.text}"
        if error.code == HEARTBEAT or probe.answer.protocol == "ray":
            found[error.rank] = Diagnosis(MissingCause.HEARTBEAT_LOST, "the coordinator has lost it", said)
        else:
            found[error.rank] = Diagnosis(MissingCause.GIVEN_UP, "the coordinator has given it up", said)
    if probe.leaving and RankState.CONNECTED in probe.answer.states:
        for rank in probe.answer.left:
            said = f"pod {members[rank].name}" if rank in members else "its pod is gone"
            found[rank] = Diagnosis(MissingCause.LEFT, "has left, and others have not", said)
    return found


def hung_rank(context: Context) -> tuple[int, Diagnosis] | None:
    """The rank that is behind in a gang that hangs, else the first; also as the record says it."""
    progress, stuck = hang.hung(context), context.record.condition(ConditionType.STUCK)
    if progress is not None:
        said = hang.sentence(progress)
    elif stuck is not None and _stuck_reason(context) == HUNG and hang.unseen(context):
        said = stuck.message
    else:
        return None
    behind = _BEHIND.search(said)
    rank = int(behind[1]) if behind else context.plan.leader
    return rank, Diagnosis(
        MissingCause.HUNG, "is behind in a gang that reports no step" if behind else "no rank reports a step", said
    )


def _held_back(context: Context) -> Diagnosis:
    cause = context.record.cause
    because = f"; {sentence(cause)}" if cause else ""
    if not barrier.clear(context):
        what = "waits for pods of an older epoch to end"
        return Diagnosis(MissingCause.HELD_BACK, what, f"{of_lingering(context)}{because}")
    return Diagnosis(MissingCause.HELD_BACK, "waits for the back-off", f"epoch {context.record.epoch}{because}")


def _with(said: str, message: str) -> str:
    return f"{said}: {message}" if message else said
