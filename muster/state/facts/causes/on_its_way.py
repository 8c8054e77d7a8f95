"""Causes that are a step of a start or of an end, or follow from another one: they come last in a sentence."""

import re
from collections.abc import Mapping
from math import inf
from typing import Final

from muster.state.facts import admission
from muster.state.facts.causes.cannot_start import is_kept
from muster.state.facts.causes.cause import (
    MissingCause,
    by_platform,
    by_user,
    is_coordinator,
    passive,
    serves,
    uncalled,
)
from muster.state.facts.context import Context
from muster.state.facts.sentences import quoted, why_idle
from muster.state.view.own import Remark
from muster.state.view.stage import RUNS, Stage
from muster.state.vocabulary.pod import Pod

SANDBOX_PATIENCE = 60.0
"""Seconds after ``gathering.obstacles`` has first counted it as an obstacle."""

_RESTORE: Final = "correct the queue label, or create the LocalQueue or the ClusterQueue that the message names"

STEPS: Final[Mapping[str, str]] = {
    "ExceedsMaxQuota": "ask for less, or raise the quota of the ClusterQueue",
    "Misconfigured": _RESTORE,
    "Inadmissible": _RESTORE,
    admission.DEACTIVATED: "set spec.active of its Workload to true: kubectl get workloads -n NAMESPACE",
    admission.SILENT: "see whether Kueue's controller runs, and read its log",
    admission.UNAVAILABLE: "add what the message names: Kueue, the flag --kueue of musterd, or a right",
}
"""The step of a person for a queue that never admits by itself, by the reason of Stuck.

A reason that ends in its cause (DeactivatedDueTo…) has the step of its beginning."""


def step_of(reason: str) -> str:
    """Return the next step; empty if Kueue continues by itself."""
    return STEPS.get(reason.partition("DueTo")[0], "")


def _of_queue(context: Context) -> str:
    """Return the next step about the queue of an experiment that is stuck in it; empty for any other."""
    return step_of(context.record.stuck_reason)


def _awaits(context: Context, pod: Pod) -> bool:
    return not passive(context) and not is_coordinator(context, pod) and not serves(context)


def _awaited(context: Context, _: Pod) -> str:
    rank = context.plan.coordinator.rank if context.plan.coordinator is not None else 0
    return f" runs; the coordinator, rank {rank}, does not serve"


_NETWORK: Final = "FailedCreatePodSandBox"
_VOLUME: Final = frozenset({"FailedMount", "FailedAttachVolume", "FailedMapVolume"})
"""Reasons of Events (kubernetes: pkg/kubelet/events)."""
_OWNERS: Final = re.compile(
    r"(?:secret|configmap) \"[^\"]{1,253}\" not found|references non-existent (?:secret|config) key"
    r"|hostPath type check failed"
)
"""Messages about objects, and paths of the node, that the owner of the pod names and that do not exist."""


def _event(context: Context, pod: Pod) -> Remark | None:
    """Return the kubelet's Event about why that pod has no volumes or no network, if it was read."""
    found = context.view.remark
    return found if found is not None and found.about == f"Pod {pod.name}" and not pod.sandboxed else None


def _no_network(context: Context, pod: Pod) -> bool:
    found = _event(context, pod)
    return found is not None and found.reason == _NETWORK


def _no_volume(context: Context, pod: Pod) -> bool:
    found = _event(context, pod)
    return found is not None and found.reason in _VOLUME and not _OWNERS.search(found.message)


def _as_quoted(context: Context, pod: Pod) -> str:
    found = _event(context, pod)
    return f": {why_idle(pod)}" + (f"; {quoted(found, context.now)}" if found is not None else "")


class OnItsWay:
    """Causes with which nothing is wrong for a while."""

    TERMINATING = MissingCause(
        "Terminating",
        "Its pod is being deleted.",
        "nothing: it ends within its grace period; if it does not, look at its node: kubectl describe node NODE",
        stages=(Stage.TERMINATING,),
        what="the pod is being deleted",
        words="being deleted",
    )
    QUEUED = MissingCause(
        "Queued",
        "A queue has not admitted the experiment, or a scheduling gate is on its pod.",
        "nothing, if the queue is full: it is admitted in its turn; if the queue has had room since Kueue last wrote, "
        "see whether Kueue's controller runs",
        step=_of_queue,
        stages=(Stage.QUEUED,),
        what="held by scheduling gates of the pod",
        stuck_as="Queued",
        patience=inf,
        charge=by_platform("Queued"),
    )
    HELD_BACK = MissingCause(
        "HeldBack",
        "Its pod waits for a gate of its group, for its turn, for a back-off, or for pods of an older epoch to end.",
        "wait: it starts by itself",
    )
    INIT_CONTAINER = MissingCause(
        "InitContainer",
        "An init container of its pod runs, and the program starts when that has ended.",
        "if it takes long, read the log: kubectl logs -n NAMESPACE POD -c CONTAINER; it may wait forever",
        stages=(Stage.STARTING,),
        when=is_kept,
        what=lambda _, pod: f"{pod.holder} has not ended",
        stuck_as="InitContainerRuns",
        patience=inf,
        charge=by_user("RanksMissing"),
    )
    NETWORK_FAILS = MissingCause(
        "NetworkFails",
        "Its pod is on a node, and gets no sandbox there: most often the network plugin fails.",
        "see whether the network plugin of node NODE runs: kubectl get pods -n kube-system -o wide; "
        "the message: kubectl describe pod -n NAMESPACE POD",
        stages=(Stage.STARTING,),
        when=_no_network,
        what=lambda _, pod: f"node {pod.node} gives it no network",
        evidence=_as_quoted,
        runbook="MusterExperimentStuck",
        charge=by_platform("NetworkFails"),
    )
    VOLUME_FAILS = MissingCause(
        "VolumeFails",
        "Its pod is on a node, and a volume of it cannot be attached or mounted there.",
        "see whether the CSI driver and its storage work: kubectl get csidrivers; kubectl get volumeattachments; "
        "the message: kubectl describe pod -n NAMESPACE POD",
        stages=(Stage.STARTING,),
        when=_no_volume,
        what=lambda _, pod: f"a volume cannot be mounted on node {pod.node}",
        evidence=_as_quoted,
        runbook="MusterExperimentStuck",
        charge=by_platform("VolumeFails"),
    )
    SANDBOX = MissingCause(
        "Sandbox",
        "Its pod is on a node, and has no volumes or no network yet.",
        "wait a minute; then kubectl describe pod -n NAMESPACE POD: its Events name the Secret, ConfigMap or "
        "volume that cannot be mounted, or the network plugin that fails",
        stages=(Stage.STARTING,),
        when=lambda _, pod: not pod.sandboxed,
        what="no volumes or no network yet",
        evidence=_as_quoted,
        stuck_as="SandboxNotReady",
        patience=SANDBOX_PATIENCE,
        runbook="MusterExperimentStuck",
        charge=by_platform("RanksNotStarted"),
    )
    STARTING = MissingCause(
        "Starting",
        "Its pod is on a node; the program does not run yet.",
        "wait some minutes; then kubectl describe pod -n NAMESPACE POD",
        stages=(Stage.STARTING,),
        what="the container is being created",
        charge=by_platform("RanksNotStarted"),
    )
    SCHEDULING = MissingCause(
        "Scheduling",
        "Its pod has no node yet, and the scheduler has reported nothing.",
        "wait a moment; then check that the scheduler runs",
        stages=(Stage.SCHEDULING,),
        what="no node yet",
        charge=by_platform("RanksNotStarted"),
    )
    NOT_CREATED = MissingCause(
        "NotCreated",
        "It has no pod yet, and nothing known prevents its creation.",
        "wait: Muster creates it",
        "look why its own controller does not create it: kubectl get events -n NAMESPACE; "
        "if the pods are found by a label, create it, or correct the annotation muster.dev/size",
        charge=by_platform("RanksNotStarted"),
    )
    AWAITS_COORDINATOR = MissingCause(
        "AwaitsCoordinator",
        "Its program runs and waits for a coordinator that does not serve.",
        "fix the coordinator first: its own finding has the cause",
        stages=RUNS,
        when=_awaits,
        what="waiting for the coordinator",
        evidence=_awaited,
        words=uncalled,
    )
