"""Causes of a coordinator that cannot be asked, and causes that a coordinator reports of members."""

from muster.state.facts.causes.cause import MissingCause, by_platform, by_user
from muster.state.facts.causes.heard import uncalled
from muster.state.view.roll import CoordinatorState


class OfCoordinator:
    """Causes read from a coordinator's port or answer (``diagnosis.coordinator``), while its program runs."""

    PROCESS_COUNT = MissingCause(
        "ProcessCount",
        "The coordinator waits for another number of processes than the gang has.",
        "the coordinator's own list of processes",
        "start the program with the number of members of the gang, or change the count of the experiment",
        words=uncalled,
        in_roll=True,
        stuck_as="ProcessCountMismatch",
        runbook="MusterRankMissing",
        charge=by_user("ProcessCountMismatch"),
    )
    WRONG_PROTOCOL = MissingCause(
        "WrongProtocol",
        "Something else than a coordinator that can be asked answers at the coordinator's port.",
        "what the port answered",
        "check that the coordinator listens at the port of the experiment, and nothing else does; turn its TLS off",
        "check that the coordinator listens at this port, and nothing else does; turn its TLS off",
        ports=(CoordinatorState.TLS, CoordinatorState.OTHER_PROTOCOL),
        what="something else than a coordinator answers at its port",
        words=uncalled,
        counted_as="NotArrived",
        runbook="MusterCoordinatorNotServing",
        charge=by_user("CoordinatorNotServing"),
    )
    COORDINATOR_FROZEN = MissingCause(
        "CoordinatorFrozen",
        "The coordinator's port accepts connections, and nothing answers: its process is stopped, or hangs.",
        "the port accepts a connection, and no answer follows",
        "see what its process does: muster stacks NAME -n NAMESPACE; it is stopped, swapping, or in a long pause; "
        "then restart the gang (muster restart NAME -n NAMESPACE)",
        "see what its process does: muster stacks NAME -n NAMESPACE; it is stopped, swapping, or in a long pause",
        ports=(CoordinatorState.SILENT,),
        what="the coordinator's process is frozen",
        words=uncalled,
        looks_well=True,
        counted_as="NotArrived",
        runbook="MusterCoordinatorStuck",
        charge=by_platform("CoordinatorLost"),
    )
    DASHBOARD_NOT_SERVING = MissingCause(
        "DashboardNotServing",
        "The GCS of a Ray head serves, and its dashboard does not: jobs cannot be submitted, nor members counted.",
        "the agent of the head, or the port of its GCS, answers, and the dashboard's port refuses connections",
        "read why: kubectl exec -n NAMESPACE POD -- cat /tmp/ray/session_latest/logs/dashboard.log; a part of it did "
        "not start in time on a busy node (delete the pod), it is off (include-dashboard), or the image lacks "
        "ray[default]",
        what="the GCS serves, but its dashboard does not",
        words=uncalled,
        counted_as="NotArrived",
        stuck_as="DashboardNotServing",
        runbook="MusterCoordinatorNotServing",
        charge=by_user("CoordinatorNotServing"),
    )
    COORDINATOR_UNREACHABLE = MissingCause(
        "CoordinatorUnreachable",
        "No connection to the coordinator within the deadline: the network, or its node.",
        "no connection, or no answer, within the deadline",
        "check the NetworkPolicies (kubectl get networkpolicy -n NAMESPACE): musterd must reach the port; "
        "then the node of POD",
        ports=(CoordinatorState.TIMEOUT,),
        what="the coordinator cannot be reached",
        words=uncalled,
        looks_well=True,
        counted_as="NotArrived",
        stuck_as="CoordinatorUnreachable",
        runbook="MusterCoordinatorStuck",
        charge=by_platform("CoordinatorLost"),
    )
    COORDINATOR_NOT_SERVING = MissingCause(
        "CoordinatorNotServing",
        "The coordinator's program runs, and its port is closed.",
        "connections to the coordinator's port are refused, though its pod runs",
        "read its log: muster logs NAME -n NAMESPACE --rank RANK; "
        "it is still importing, waits for data, or listens at another port than the experiment's",
        "read its log: muster logs NAME -n NAMESPACE --rank RANK; "
        "it is still importing, waits for data, or listens at another port than it is asked at",
        ports=(CoordinatorState.REFUSED, CoordinatorState.UNHEALTHY),
        what="the coordinator runs, but its port is closed",
        words=uncalled,
        counted_as="NotArrived",
        stuck_as="CoordinatorNotServing",
        runbook="MusterCoordinatorNotServing",
        charge=by_user("CoordinatorNotServing"),
    )
    HEARTBEAT_LOST = MissingCause(
        "HeartbeatLost",
        "The coordinator has stopped hearing from it, though its pod runs.",
        "the coordinator's error for that member",
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
        "the coordinator's error for that member",
        "read its log: muster logs NAME -n NAMESPACE --rank RANK",
        what="given up by the coordinator",
        looks_well=True,
        in_roll=True,
        runbook="MusterRankMissing",
    )
