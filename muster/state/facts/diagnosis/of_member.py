"""The cause of one member, from its pod, the coordinator's answer and what the API server said."""

import re

from muster.state.facts import admission, gates, older_pods
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.cause import MissingCause
from muster.state.facts.diagnosis.finding import Diagnosis, with_message
from muster.state.facts.diagnosis.of_coordinator import of_coordinator, serves
from muster.state.facts.failure_cause import OUT_OF_MEMORY, last_words
from muster.state.facts.sentences import of_lingering, of_signal, sentence, why_idle
from muster.state.facts.words import WORDS
from muster.state.view.probe_result import ProbeResult
from muster.state.view.roll import RankState
from muster.state.view.stage import Stage, stage_of
from muster.state.vocabulary.coordinator import ProbeKind
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import ConditionType, Phase

_NODE_LOST = frozenset(("NodeLost", "DeletionByTaintManager", "DeletionByPodGC", "ContainerStatusUnknown"))
"""Disruptions after which nothing more is heard of the node (kubernetes: core/v1 PodReason…)."""
_NAMED_IMAGE = re.compile(r'image "([^"\s]{1,200})"')
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
        return Diagnosis(cause, f"the API server refuses the pod: {refusal.reason}", refusal.message)
    if record.phase is Phase.QUEUED:
        stuck = record.condition(ConditionType.STUCK)
        why = f": {stuck.reason}" if stuck is not None and stuck.status else ""
        said = record.message or admission.waiting(context).message  # readers of the status see no Workload
        return Diagnosis(MissingCause.QUEUED, f"waiting in a queue{why}", said)
    if record.phase is Phase.RESTARTING or not older_pods.clear(context):
        return _held_back(context)
    if rank in context.tally.gone or (context.launched and not context.plan.sequential):
        return Diagnosis(
            MissingCause.LOST, "the pod is gone", "it had a pod in this epoch, which is not there any more"
        )
    group = context.plan.group_of(rank)
    if group is not None and group.gates and gates.closed(context, group):
        waiting = gates.awaited(context) or f"group {group.name} waits for the coordinator to serve"
        return Diagnosis(MissingCause.HELD_BACK, "waiting for another group, or the coordinator", waiting)
    if context.plan.sequential and context.tally.working >= context.plan.together:
        return Diagnosis(MissingCause.HELD_BACK, "waiting for a turn", f"{context.plan.together} run at a time")
    return Diagnosis(MissingCause.NOT_CREATED, "no pod yet", WORDS[context.plan.engine].not_created)


def of_pod(context: Context, pod: Pod) -> Diagnosis:
    """Why a member with a pod has not arrived."""
    done = pod.rank in context.tally.done
    stage = stage_of(pod, done)
    said = f"pod {pod.name}" + (f" on node {pod.node}" if pod.node else "")
    if stage in (Stage.RUNNING, Stage.READY):
        return _running(context, pod, stage, said)
    if stage is Stage.CRASHED:
        return _failed(context, pod, said)
    if stage is Stage.TERMINATING:
        if pod.disruption:
            return _disrupted(pod, said)
        return Diagnosis(MissingCause.TERMINATING, "the pod is being deleted", said)
    if stage is Stage.ENDED:
        return Diagnosis(MissingCause.ENDED, "ended with exit code 0", said)
    if stage is Stage.NODE_NOT_READY:
        what = f"node {pod.node} is not ready"
        return Diagnosis(
            MissingCause.NODE_NOT_READY, what, f"{said} was marked not ready by its node's controller", pod.node
        )
    if stage is Stage.UNKNOWN:
        return Diagnosis(MissingCause.UNKNOWN, f"the kubelet of node {pod.node} does not report", said, pod.node)
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
            what = f"the container cannot start: {pod.waiting_reason}"
            return Diagnosis(MissingCause.CONTAINER_CANNOT_START, what, evidence)
        case Stage.UNSCHEDULABLE:
            return Diagnosis(MissingCause.UNSCHEDULABLE, "no node fits", evidence)
        case Stage.SCHEDULING:
            return Diagnosis(MissingCause.SCHEDULING, "no node yet", evidence)
        case Stage.QUEUED:
            return Diagnosis(MissingCause.QUEUED, "held by scheduling gates of the pod", evidence)
    if pod.holder:
        return Diagnosis(MissingCause.INIT_CONTAINER, f"{pod.holder} has not ended", evidence)
    if not pod.sandboxed:
        return Diagnosis(MissingCause.SANDBOX, "no volumes or no network yet", evidence)
    return Diagnosis(MissingCause.STARTING, "the container is being created", evidence)


def _image(context: Context, pod: Pod) -> str:
    """The image that the kubelet names; kubelets alternate between messages that do and that do not."""
    if found := _NAMED_IMAGE.search(pod.waiting_message):
        return f"the image {found[1]}"
    group = context.plan.group_of(pod.rank)
    return f"the image {group.pod.image}" if group and group.pod.image and not pod.holder else "its image"


def _disrupted(pod: Pod, said: str) -> Diagnosis:
    evidence = with_message(f"{said}: {pod.disruption}", pod.waiting_message)
    if pod.disruption in _NODE_LOST:
        return Diagnosis(MissingCause.NODE_LOST, f"node {pod.node} was lost", evidence, pod.node)
    return Diagnosis(MissingCause.EVICTED, f"evicted: {pod.disruption}", evidence)


def _failed(context: Context, pod: Pod, said: str) -> Diagnosis:
    """What is known of the end goes first: what a program printed last says little of how it was killed."""
    if pod.exit is None:
        return Diagnosis(
            MissingCause.CRASHED, f"the pod failed: {pod.waiting_reason}", with_message(said, pod.waiting_message)
        )
    message, last_line = last_words(context, pod, pod.exit)
    by_signal = of_signal(pod.exit.signal, pod.exit.code)
    killed = f"exited {pod.exit.code} ({by_signal})" if by_signal else ""
    printed = f"its last line: {last_line}" if last_line else ""
    evidence = with_message(said, "; ".join(filter(None, (killed, message, printed))))
    if pod.exit.reason == OUT_OF_MEMORY:
        return Diagnosis(MissingCause.OOM_KILLED, "killed: out of memory", evidence)
    return Diagnosis(MissingCause.CRASHED, f"exited with {pod.exit.code}", evidence)


def _running(context: Context, pod: Pod, stage: Stage, said: str) -> Diagnosis:
    """The program runs, or is started again."""
    coordinator = context.plan.coordinator
    if pod.holder:
        what = f"{pod.holder} cannot start: {pod.waiting_reason}"
        return Diagnosis(MissingCause.SIDECAR_FAILS, what, with_message(said, pod.waiting_message))
    if pod.restarts and not pod.ready:
        return _restarted(pod, said)
    if coordinator is None or coordinator.probe.passive:
        return Diagnosis(MissingCause.NOT_ARRIVED, "running, but not ready", f"{said} runs, and its Ready is false")
    if pod.rank == coordinator.rank and (found := of_coordinator(context, coordinator)) is not None:
        return found
    probe = context.probe
    if pod.rank != coordinator.rank and not serves(context):
        which = f"the coordinator, rank {coordinator.rank}, does not serve"
        return Diagnosis(MissingCause.AWAITS_COORDINATOR, "waiting for the coordinator", f"{said} runs; {which}")
    if pod.rank < len(context.tally.roll) and context.tally.roll[pod.rank] is RankState.STALE:
        what = "known only to the coordinator that ran before this one"
        return Diagnosis(MissingCause.GHOST, what, f"{said} was not started again since; {of_probe(probe)}")
    if coordinator.probe is ProbeKind.RAY and stage is Stage.READY and probe is not None and probe.serving:
        return Diagnosis(MissingCause.GHOST, "ready, but not known to Ray", f"{said}; {probe.answer.detail}")
    address = context.plan.coordinator_address(context.record.epoch)
    evidence = f"{said} runs; the coordinator at {address} has not heard of it"
    return Diagnosis(MissingCause.NOT_ARRIVED, "running, but not registered with the coordinator", evidence)


def of_probe(probe: ProbeResult | None) -> str:
    """What the coordinator says of itself."""
    return probe.answer.detail if probe is not None and probe.answer.detail else "the coordinator does not know it"


def _restarted(pod: Pod, said: str) -> Diagnosis:
    times = "once" if pod.restarts == 1 else f"{pod.restarts} times"
    why = f": {pod.waiting_reason}" if pod.waiting_reason else ""
    what = f"the container restarts again and again{why}" if why else f"the container was restarted {times}"
    evidence = with_message(f"{said}: {pod.restarts} restarts", pod.waiting_message)
    return Diagnosis(MissingCause.RESTARTED_IN_PLACE, what, evidence)


def _held_back(context: Context) -> Diagnosis:
    cause = context.record.cause
    because = f"; {sentence(cause)}" if cause else ""
    if not older_pods.clear(context):
        what = "waiting for pods of an older epoch to end"
        return Diagnosis(MissingCause.HELD_BACK, what, f"{of_lingering(context)}{because}")
    return Diagnosis(MissingCause.HELD_BACK, "waiting for the back-off", f"epoch {context.record.epoch}{because}")
