"""Causes of members that have ended, or were started again."""

from typing import Final

from muster.api.values.durations import count_of, often
from muster.state.facts.causes.cause import MissingCause, by_user, uncalled
from muster.state.facts.context import Context
from muster.state.facts.failure_cause import OUT_OF_MEMORY, ended_by_kubelet, last_words
from muster.state.facts.sentences import how_ended, of_exit, with_message
from muster.state.view.stage import RUNS, Stage
from muster.state.vocabulary.node_faults import DRIVER_FAILED, pressure
from muster.state.vocabulary.pod import Pod

RESTART_PATIENCE: Final = 120.0
"""Seconds: a kubelet waits 10 to 40 s before the next start, and probes have their own delays."""


def _end(context: Context, pod: Pod) -> str:
    """Return the known facts of the end, then the program's last printed line, which explains it less often."""
    if pod.exit is None or ended_by_kubelet(pod):
        return with_message("", pod.waiting_message)
    message, last_line = last_words(context, pod, pod.exit)
    printed = f'last line "{last_line}"' if last_line else ""
    return with_message("", "; ".join(filter(None, (message, printed))))


def _exited(_: Context, pod: Pod) -> str:
    if pod.exit is None or ended_by_kubelet(pod):
        return with_message("the pod failed", pod.waiting_reason)
    return f"ended with {of_exit(pod.exit.code, pod.exit.signal)}"


def _ended(_: Context, pod: Pod) -> str:
    """Return ``failed, Error 1``."""
    if not pod.failed:
        return "being deleted"
    return f"failed, {ended_by_kubelet(pod) or pod.exit.reason or 'exit'} {pod.exit.code}" if pod.exit else "failed"


def _disruption(_: Context, pod: Pod) -> str:
    return with_message(f": {pod.disruption}", pod.waiting_message)


def _again(_: Context, pod: Pod) -> str:
    if pod.waiting_reason:
        return f"a container restarts again and again: {pod.waiting_reason}"
    return f"{'a container was' if pod.restarts == 1 else 'its containers were'} restarted {often(pod.restarts)}"


def _restarts(_: Context, pod: Pod) -> str:
    restarts = f": {count_of(pod.restarts, 'restart')}"
    ended = f"; before the last one, {how_ended(pod.last_exit)}" if pod.last_exit else ""
    return with_message(f"{restarts}{ended}", pod.waiting_message)


class HasEnded:
    """Causes that come after those that keep a member from starting."""

    OOM_KILLED = MissingCause(
        "OOMKilled",
        "Its program was killed because it used more memory than it may.",
        "give the group more memory, or let the program use less: its limit is in the pod's resources",
        stages=(Stage.CRASHED,),
        reasons=(OUT_OF_MEMORY,),
        what="killed: out of memory",
        words=_ended,
        counted_as="Crashed",
        runbook="MusterRankMissing",
    )
    CRASHED = MissingCause(
        "Crashed",
        "Its program, or its pod, has failed.",
        "read the last lines of its log: muster logs NAME -n NAMESPACE --rank RANK",
        stages=(Stage.CRASHED,),
        what=_exited,
        evidence=_end,
        words=_ended,
        runbook="MusterRankMissing",
    )
    NODE_LOST = MissingCause(
        "NodeLost",
        "Its node was lost, and its pod with it.",
        "nothing for the gang, where its restart policy allows a disruption; the node: kubectl describe node NODE",
        "its own controller decides whether it starts elsewhere; the node: kubectl describe node NODE",
        stages=(Stage.TERMINATING,),
        reasons=(  # nothing more is heard of the node (kubernetes: core/v1 PodReason…)
            "NodeLost",
            "DeletionByTaintManager",
            "DeletionByPodGC",
            "ContainerStatusUnknown",
        ),
        what=lambda _, pod: f"node {pod.node} was lost",
        evidence=_disruption,
        words=_ended,
        names_node=True,
        counted_as="Terminating",
    )
    DRIVER_FAILED = MissingCause(
        "DriverFailed",
        "Its program never began, because the driver of its node's accelerators does not work.",
        "nothing for the gang, where its restart policy allows a disruption; drain the node and restart it, or roll "
        "its driver back: kubectl drain NODE --ignore-daemonsets",
        "its own controller decides whether it starts again; drain the node and restart it, or roll its driver back: "
        "kubectl drain NODE --ignore-daemonsets",
        stages=(Stage.TERMINATING,),
        reasons=(DRIVER_FAILED,),
        what=lambda _, pod: f"the driver of node {pod.node} fails: {pod.waiting_message}",
        evidence=_disruption,
        words=_ended,
        names_node=True,
        counted_as="Terminating",
        runbook="MusterExperimentStuck",
    )
    NODE_PRESSURE = MissingCause(
        "NodePressure",
        "The kubelet evicts its pod because the node runs out of disk or of processes.",
        "nothing for the gang, where its restart policy allows a disruption; the node: kubectl describe node NODE",
        "its own controller decides whether it starts again; the node: kubectl describe node NODE",
        stages=(Stage.TERMINATING,),
        when=lambda _, pod: bool(pressure(pod.waiting_message)),
        what=lambda _, pod: f"node {pod.node} was low on {pressure(pod.waiting_message)}",
        evidence=_disruption,
        words=_ended,
        names_node=True,
    )
    EVICTED = MissingCause(
        "Evicted",
        "The platform takes its pod away: preemption, eviction, a node that shuts down.",
        "nothing, if this was intended and its restart policy allows it; else look at the node or the queue",
        "its own controller decides whether it starts again; kubectl get events -n NAMESPACE shows why it was evicted",
        stages=(Stage.TERMINATING,),
        when=lambda _, pod: bool(pod.disruption),
        what=lambda _, pod: f"evicted ({pod.disruption})",
        evidence=_disruption,
        words=_ended,
    )
    LOST = MissingCause(
        "Lost",
        "It had a pod in this epoch, and the pod is gone.",
        "nothing: the gang starts again; kubectl get events -n NAMESPACE shows what deleted the pod",
        "its own controller makes it again, or never does; kubectl get events -n NAMESPACE shows what deleted the pod",
        without_pod="its pod is gone",
    )
    RESTARTED_IN_PLACE = MissingCause(
        "RestartedInPlace",
        "A container of its pod was started again; a program's earlier registration is void.",
        "read its previous log: kubectl logs -n NAMESPACE POD -c CONTAINER --previous; "
        "a gang's program needs restartPolicy Never",
        stages=RUNS,
        when=lambda _, pod: bool(pod.restarts) and not pod.ready and not pod.holder,
        what=_again,
        evidence=_restarts,
        words=uncalled,
        stuck_as="RestartedInPlace",
        patience=RESTART_PATIENCE,
        runbook="MusterRankMissing",
        charge=by_user("RanksMissing"),
    )
