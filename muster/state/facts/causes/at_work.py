"""Causes of members whose programs run, or have run to their end."""

from muster.state.facts.causes.cannot_start import holder_fails, is_kept
from muster.state.facts.causes.cause import (
    MissingCause,
    by_platform,
    by_user,
    is_coordinator,
    is_stale,
    passive,
    serves,
    uncalled,
)
from muster.state.facts.context import Context
from muster.state.facts.sentences import with_message
from muster.state.view.roll import CoordinatorState
from muster.state.view.stage import RUNS, Stage
from muster.state.vocabulary.group import ProbeKind
from muster.state.vocabulary.pod import Pod


class OfCoordinator:
    """Causes read from a coordinator's port or answer (``diagnosis.classifier``), while its program runs."""

    PROCESS_COUNT = MissingCause(
        "ProcessCount",
        "The coordinator waits for another number of processes than the gang has.",
        "start the program with the number of members of the gang, or change the count of the experiment",
        in_roll=True,
        stuck_as="ProcessCountMismatch",
        runbook="MusterRankMissing",
        charge=by_user("ProcessCountMismatch"),
    )
    WRONG_PROTOCOL = MissingCause(
        "WrongProtocol",
        "Something else than a coordinator that can be asked answers at the coordinator's port.",
        "check that the coordinator listens at the port of the experiment, and nothing else does; turn its TLS off",
        "check that the coordinator listens at this port, and nothing else does; turn its TLS off",
        ports=(CoordinatorState.TLS, CoordinatorState.OTHER_PROTOCOL),
        what="something else than a coordinator answers at its port",
        counted_as="NotArrived",
        runbook="MusterCoordinatorNotServing",
        charge=by_user("CoordinatorNotServing"),
    )
    COORDINATOR_FROZEN = MissingCause(
        "CoordinatorFrozen",
        "The coordinator's port accepts connections, and nothing answers: its process is stopped, or hangs.",
        "see what its process does: muster stacks NAME -n NAMESPACE; it is stopped, swapping, or in a long pause; "
        "then restart the gang (muster restart NAME -n NAMESPACE)",
        "see what its process does: muster stacks NAME -n NAMESPACE; it is stopped, swapping, or in a long pause",
        ports=(CoordinatorState.SILENT,),
        what="the coordinator's process is frozen",
        looks_well=True,
        counted_as="NotArrived",
        runbook="MusterCoordinatorStuck",
        charge=by_platform("CoordinatorLost"),
    )
    DASHBOARD_NOT_SERVING = MissingCause(
        "DashboardNotServing",
        "The GCS of a Ray head serves, and its dashboard does not: jobs cannot be submitted, nor members counted.",
        "read why: kubectl exec -n NAMESPACE POD -- cat /tmp/ray/session_latest/logs/dashboard.log; a part of it did "
        "not start in time on a busy node (delete the pod), it is off (include-dashboard), or the image lacks "
        "ray[default]",
        what="the GCS serves, but its dashboard does not",
        counted_as="NotArrived",
        stuck_as="DashboardNotServing",
        runbook="MusterCoordinatorNotServing",
        charge=by_user("CoordinatorNotServing"),
    )
    COORDINATOR_UNREACHABLE = MissingCause(
        "CoordinatorUnreachable",
        "No connection to the coordinator within the deadline: the network, or its node.",
        "check the NetworkPolicies (kubectl get networkpolicy -n NAMESPACE): musterd must reach the port; "
        "then the node of POD",
        ports=(CoordinatorState.TIMEOUT,),
        what="the coordinator cannot be reached",
        looks_well=True,
        counted_as="NotArrived",
        stuck_as="CoordinatorUnreachable",
        runbook="MusterCoordinatorStuck",
        charge=by_platform("CoordinatorLost"),
    )
    COORDINATOR_NOT_SERVING = MissingCause(
        "CoordinatorNotServing",
        "The coordinator's program runs, and its port is closed.",
        "read its log: muster logs NAME -n NAMESPACE --rank RANK; "
        "it is still importing, waits for data, or listens at another port than the experiment's",
        "read its log: muster logs NAME -n NAMESPACE --rank RANK; "
        "it is still importing, waits for data, or listens at another port than it is asked at",
        ports=(CoordinatorState.REFUSED, CoordinatorState.UNHEALTHY),
        what="the coordinator runs, but its port is closed",
        counted_as="NotArrived",
        stuck_as="CoordinatorNotServing",
        runbook="MusterCoordinatorNotServing",
        charge=by_user("CoordinatorNotServing"),
    )
    HEARTBEAT_LOST = MissingCause(
        "HeartbeatLost",
        "The coordinator has stopped hearing from it, though its pod runs.",
        "see what its process does: muster stacks NAME -n NAMESPACE; "
        "it is stopped, starved of CPU, or cut off from the coordinator",
        what="no heartbeats of it reach the coordinator",
        looks_well=True,
        in_roll=True,
        runbook="MusterRankMissing",
    )
    GIVEN_UP = MissingCause(
        "GivenUp",
        "The coordinator has given it up for another reason.",
        "read its log: muster logs NAME -n NAMESPACE --rank RANK",
        what="given up by the coordinator",
        looks_well=True,
        in_roll=True,
        runbook="MusterRankMissing",
    )


def _is_ghost(context: Context, pod: Pod) -> bool:
    awaits = not serves(context) and not is_coordinator(context, pod)
    return not awaits and not passive(context) and (is_stale(context, pod) or _is_unknown_to_ray(context, pod))


def _is_unknown_to_ray(context: Context, pod: Pod) -> bool:
    coordinator, probe = context.plan.coordinator, context.probe
    of_ray = coordinator is not None and coordinator.probe is ProbeKind.RAY
    return of_ray and pod.ready and probe is not None and probe.serving


def _ghost(context: Context, pod: Pod) -> str:
    return (
        "known only to the coordinator that ran before this one"
        if is_stale(context, pod)
        else "ready, but not registered with Ray"
    )


def _seen_as_ghost(context: Context, pod: Pod) -> str:
    detail = context.probe.answer.detail if context.probe is not None else ""
    if not is_stale(context, pod):
        return f"; {detail}"
    return f" was not started again since; {detail or 'the coordinator does not know it'}"


def _unregistered(context: Context, _: Pod) -> str:
    return "running, but not ready" if passive(context) else "running, but not registered with the coordinator"


def _unheard(context: Context, _: Pod) -> str:
    if passive(context):
        return " runs, and its Ready is false"
    address = context.plan.coordinator_address(context.record.epoch)
    return f" runs; the coordinator at {address} has not heard of it"


class AtWork:
    """Causes of members that hang, or have not arrived where the others are."""

    COLLECTIVE_BEHIND = MissingCause(
        "CollectiveBehind",
        "Others wait in a collective that it has not entered.",
        "look where it is: muster stacks NAME -n NAMESPACE; if ranks call different ones, correct the program; "
        "else restart the gang (muster restart NAME -n NAMESPACE)",
        "look where it is: muster stacks NAME -n NAMESPACE; if ranks call different ones, correct the program; "
        "else restart or end it by its own controller",
        looks_well=True,
        in_roll=True,
        stuck_as="CollectiveStuck",
        runbook="MusterHung",
        charge=by_user("CollectiveStuck"),
    )
    HUNG = MissingCause(
        "Hung",
        "It is connected and makes no progress.",
        "look at all stacks: muster stacks NAME -n NAMESPACE; "
        "then restart the gang (muster restart NAME -n NAMESPACE) or cancel it",
        "look at all stacks: muster stacks NAME -n NAMESPACE; then restart or end it by its own controller",
        looks_well=True,
        in_roll=True,
        stuck_as="Hung",
        runbook="MusterHung",
        charge=by_user("Hung"),
    )
    SIDECAR_FAILS = MissingCause(
        "SidecarFails",
        "Its program runs beside a container of its pod that fails or cannot start, so the pod is not ready.",
        "read the container's log: kubectl logs -n NAMESPACE POD -c CONTAINER --previous; if it never ran, create "
        "what the message names",
        stages=RUNS,
        when=is_kept,
        what=holder_fails,
        evidence=lambda _, pod: with_message("", pod.waiting_message),
        words=uncalled,
        runbook="MusterExperimentStuck",
        charge=by_user("RanksMissing"),
    )
    CONTAINER_RUNS_ON = MissingCause(
        "ContainerRunsOn",
        "Its program has ended with exit code 0, and another container of its pod runs on, so the pod does not end.",
        "make that container an init container with restartPolicy Always, which ends with the program",
        stages=RUNS,
        when=lambda _, pod: bool(pod.outlived_by),
        what=lambda _, pod: f"ended with exit code 0, but container {pod.outlived_by} runs on",
        evidence=lambda _, pod: f" runs, because its container {pod.outlived_by} does",
        stuck_as="ContainerRunsOn",
        runbook="MusterExperimentStuck",
        charge=by_user("RanksEnded"),
    )
    GHOST = MissingCause(
        "Ghost",
        "Its pod is ready, and the coordinator that serves now does not know it.",
        "delete the pod (kubectl delete pod -n NAMESPACE POD), or restart the gang: it joined an earlier coordinator",
        stages=RUNS,
        when=_is_ghost,
        what=_ghost,
        evidence=_seen_as_ghost,
        words=uncalled,
        runbook="MusterRankMissing",
        charge=by_user("RanksMissing"),
    )
    LEFT = MissingCause(
        "Left",
        "It has left the coordinator in good order, and others have not.",
        "read its log: muster logs NAME -n NAMESPACE --rank RANK; it has ended its work before the others",
        what="left the coordinator before the others",
        in_roll=True,
        runbook="MusterRankMissing",
        charge=by_user("RanksEnded"),
    )
    ENDED = MissingCause(
        "Ended",
        "Its program has ended with exit code 0, without having registered or while others wait for it.",
        "read its log: muster logs NAME -n NAMESPACE --rank RANK; "
        "it never called the coordinator, or ended before the others",
        stages=(Stage.ENDED,),
        what="ended with exit code 0",
        words="ended without calling the coordinator",
        without_pod="it has succeeded, and its pod is gone",
        runbook="MusterExperimentStuck",
        charge=by_user("RanksEnded"),
    )
    UNKNOWN = MissingCause(
        "Unknown",
        "The kubelet has lost sight of its pod.",
        "look at its node: kubectl describe node NODE",
        stages=(Stage.UNKNOWN,),
        what=lambda _, pod: f"the kubelet of node {pod.node} does not report",
        names_node=True,
        runbook="MusterRankMissing",
        charge=by_platform("NodeNotReady"),
    )
    NOT_ARRIVED = MissingCause(
        "NotArrived",
        "Its program runs, and has not registered with the coordinator; where none can be asked, its pod is not ready.",
        "read its log: muster logs NAME -n NAMESPACE --rank RANK; "
        "imports may take minutes; else it calls another address than the coordinator's, cannot resolve it, "
        "or fails its readiness probe",
        stages=RUNS,
        what=_unregistered,
        evidence=_unheard,
        words=uncalled,
        stuck_as="RanksMissing",
        runbook="MusterRankMissing",
        charge=by_user("RanksMissing"),
    )
