"""What each cause means, and what a person does next: the text of ``docs/diagnosis.md`` and of every finding."""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from muster.state.facts.context import Context
from muster.state.facts.diagnosis.cause import MissingCause
from muster.state.facts.diagnosis.queue_steps import step_of
from muster.state.facts.sentences import expected_name
from muster.state.vocabulary.plan import Engine
from muster.state.vocabulary.record import ConditionType


class Advice(NamedTuple):
    """One row of the table of causes."""

    shown_by: str
    """Where the evidence comes from."""
    next_step: str
    observed: str = ""
    """The next step in a run that another controller carries out, where it is another one."""


NEXT: Final[Mapping[MissingCause, Advice]] = {
    MissingCause.REFUSED: Advice(
        "the API server's answer to the request", "correct what the answer names; Muster tries again by itself"
    ),
    MissingCause.QUOTA_EXCEEDED: Advice(
        "the API server's answer to the create", "free or raise the ResourceQuota that the answer names"
    ),
    MissingCause.ADMISSION_DENIED: Advice(
        "the API server's answer to the create",
        "change the experiment so that the webhook or policy admits it, or restore or change the webhook or policy",
    ),
    MissingCause.RIGHTS_MISSING: Advice(
        "the API server's answer: 401, or 403 that names the right",
        "give musterd's service account the right that the answer names; the chart's ClusterRole has all of them",
    ),
    MissingCause.NAME_TAKEN: Advice(
        "the object of that name, and its controller", "delete that object, or give the experiment another name"
    ),
    MissingCause.NODE_NOT_READY: Advice(
        "the pod: Ready is false while its containers are ready, as the node lifecycle controller marks it",
        "look at the node: kubectl describe node NODE; it comes back, or its pods are evicted after 5 minutes",
    ),
    MissingCause.IMAGE_PULL: Advice(
        "the waiting reason and message of the container",
        "check the name and tag of the image, the registry, and spec.template.spec.imagePullSecrets",
        "check the name and tag of the image, the registry, and the imagePullSecrets of POD",
    ),
    MissingCause.CONTAINER_CANNOT_START: Advice(
        "the waiting reason and message of the container",
        "create the Secret, ConfigMap or key that the message names, or correct the command or the pod template; "
        "what the program printed: kubectl logs -n NAMESPACE POD --previous",
    ),
    MissingCause.INIT_CONTAINER_FAILS: Advice(
        "the state of the init container or sidecar in the pod's status",
        "read the container's log: kubectl logs -n NAMESPACE POD -c CONTAINER --previous",
    ),
    MissingCause.UNSCHEDULABLE: Advice(
        "the pod's condition PodScheduled, in the scheduler's words",
        "free or add nodes with what the scheduler misses, or ask for less: kubectl describe pod -n NAMESPACE POD",
    ),
    MissingCause.OOM_KILLED: Advice(
        "the container's end: reason OOMKilled",
        "give the group more memory, or let the program use less: its limit is in the pod's resources",
    ),
    MissingCause.CRASHED: Advice(
        "the container's exit code and its last words",
        "read the last lines of its log: muster logs NAME -n NAMESPACE --rank RANK",
    ),
    MissingCause.NODE_LOST: Advice(
        "the pod's condition DisruptionTarget of the node's controller, or of the pod garbage collector",
        "nothing for the gang: it starts again elsewhere and is not charged; the node: kubectl describe node NODE",
        "its own controller decides whether it starts elsewhere; the node: kubectl describe node NODE",
    ),
    MissingCause.EVICTED: Advice(
        "the pod's condition DisruptionTarget, or the reason of its failure",
        "nothing, if it was meant to be so: it is a disruption and is not charged; else look at the node or the queue",
        "its own controller decides whether it starts again; kubectl get events -n NAMESPACE shows why it was evicted",
    ),
    MissingCause.LOST: Advice(
        "the watch and a live list: the pod was there in this epoch and is not any more",
        "nothing: the gang starts again; kubectl get events -n NAMESPACE shows what deleted the pod",
        "its own controller makes it again, or never does; kubectl get events -n NAMESPACE shows what deleted the pod",
    ),
    MissingCause.RESTARTED_IN_PLACE: Advice(
        "the restart count of its containers",
        "read the log of its previous container: kubectl logs -n NAMESPACE POD --previous; "
        "set restartPolicy to Never for a gang",
    ),
    MissingCause.PROCESS_COUNT: Advice(
        "the coordinator's own list of processes",
        "start the program with the number of members of the gang, or change the count of the experiment",
    ),
    MissingCause.WRONG_PROTOCOL: Advice(
        "what the port answered",
        "check that the coordinator listens at the port of the experiment, and nothing else does; turn its TLS off",
        "check that the coordinator listens at this port, and nothing else does; turn its TLS off",
    ),
    MissingCause.COORDINATOR_FROZEN: Advice(
        "the port accepts a connection, and no answer follows",
        "see what its process does: muster stacks NAME -n NAMESPACE; it is stopped, swapping, or in a long pause; "
        "then restart the gang (muster restart NAME -n NAMESPACE)",
        "see what its process does: muster stacks NAME -n NAMESPACE; it is stopped, swapping, or in a long pause",
    ),
    MissingCause.DASHBOARD_NOT_SERVING: Advice(
        "the agent of the head, or the port of its GCS, answers, and the dashboard's port refuses connections",
        "read why: kubectl exec -n NAMESPACE POD -- cat /tmp/ray/session_latest/logs/dashboard.log; a part of it did "
        "not start in time on a busy node (delete the pod), it is off (include-dashboard), or the image lacks "
        "ray[default]",
    ),
    MissingCause.COORDINATOR_UNREACHABLE: Advice(
        "no connection, or no answer, within the deadline",
        "check the NetworkPolicies (kubectl get networkpolicy -n NAMESPACE): musterd must reach the port; "
        "then the node of POD",
    ),
    MissingCause.COORDINATOR_NOT_SERVING: Advice(
        "connections to the coordinator's port are refused, though its pod runs",
        "read its log: muster logs NAME -n NAMESPACE --rank RANK; "
        "it is still importing, waits for data, or listens at another port than the experiment's",
        "read its log: muster logs NAME -n NAMESPACE --rank RANK; "
        "it is still importing, waits for data, or listens at another port than it is asked at",
    ),
    MissingCause.HEARTBEAT_LOST: Advice(
        "the coordinator's error for that member",
        "see what its process does: muster stacks NAME -n NAMESPACE; "
        "it is stopped, starved of CPU, or cut off from the coordinator",
    ),
    MissingCause.GIVEN_UP: Advice(
        "the coordinator's error for that member", "read its log: muster logs NAME -n NAMESPACE --rank RANK"
    ),
    MissingCause.HUNG: Advice(
        "the steps that the program reports",
        "look at all stacks: muster stacks NAME -n NAMESPACE; "
        "then restart the gang (muster restart NAME -n NAMESPACE) or cancel it",
        "look at all stacks: muster stacks NAME -n NAMESPACE; then restart or end it by its own controller",
    ),
    MissingCause.SIDECAR_FAILS: Advice(
        "the waiting reason of that container",
        "read the container's log: kubectl logs -n NAMESPACE POD -c CONTAINER --previous",
    ),
    MissingCause.GHOST: Advice(
        "the pod is ready, and is not in the list of the coordinator that serves now",
        "delete the pod (kubectl delete pod -n NAMESPACE POD), or restart the gang: it joined an earlier coordinator",
    ),
    MissingCause.LEFT: Advice(
        "the coordinator's own list: it has left in good order",
        "read its log: muster logs NAME -n NAMESPACE --rank RANK; it has ended its work before the others",
    ),
    MissingCause.ENDED: Advice(
        "the container's end: exit code 0",
        "read its log: muster logs NAME -n NAMESPACE --rank RANK; "
        "it never called the coordinator, or ended before the others",
    ),
    MissingCause.UNKNOWN: Advice("the pod's phase is Unknown", "look at its node: kubectl describe node NODE"),
    MissingCause.NOT_ARRIVED: Advice(
        "the pod runs, and the coordinator's list does not have it; without a coordinator: the pod is not ready",
        "read its log: muster logs NAME -n NAMESPACE --rank RANK; "
        "imports may take minutes; else it calls another address than the coordinator's, cannot resolve it, "
        "or fails its readiness probe",
    ),
    MissingCause.TERMINATING: Advice(
        "the pod has a deletionTimestamp",
        "nothing: it ends within its grace period; if it does not, look at its node: kubectl describe node NODE",
    ),
    MissingCause.QUEUED: Advice(
        "the Workload of the queue, or the scheduling gates of the pod",
        "nothing, if the queue is full: it is admitted in its turn; if the queue has had room since Kueue last wrote, "
        "see whether Kueue's controller runs",
    ),
    MissingCause.HELD_BACK: Advice(
        "the gates of its group, the back-off, or the pods of older epochs", "nothing: it starts when that is over"
    ),
    MissingCause.INIT_CONTAINER: Advice(
        "the state of the init container in the pod's status",
        "if it takes long, read the log: kubectl logs -n NAMESPACE POD -c CONTAINER; it may wait for what never comes",
    ),
    MissingCause.SANDBOX: Advice(
        "the pod's condition PodReadyToStartContainers is false",
        "nothing for a minute; then kubectl describe pod -n NAMESPACE POD: "
        "a volume cannot be mounted, or the network is down",
    ),
    MissingCause.STARTING: Advice(
        "the pod has a node, and its containers are being made",
        "nothing for some minutes; then kubectl describe pod -n NAMESPACE POD",
    ),
    MissingCause.SCHEDULING: Advice(
        "the pod has no node and no condition", "nothing for a moment; then look whether the scheduler runs"
    ),
    MissingCause.NOT_CREATED: Advice(
        "no pod of that rank exists",
        "nothing: Muster creates it",
        "look why its own controller does not create it: kubectl get events -n NAMESPACE; "
        "of labelled pods, create it, or correct the annotation muster.dev/size",
    ),
    MissingCause.AWAITS_COORDINATOR: Advice(
        "its pod runs; the coordinator's does not, or does not serve", "nothing here: mend what keeps the coordinator"
    ),
}

STACKS: Final = "muster stacks NAME -n NAMESPACE"
WITHOUT_HELP: Final = (
    " (without py-spy in the image or spec.assist it says whether the process is stopped or waits for a disk)"
)
"""What follows the command where nothing that Muster knows of answers for the stacks of a process."""
RESTART: Final = " (muster restart NAME -n NAMESPACE)"
"""Left out of kinds that the command does not restart."""
_WORDS = re.compile(r"\b(NAME|NAMESPACE|POD|CONTAINER|RANK|NODE)\b")


def next_step(context: Context, cause: MissingCause, rank: int, node: str) -> str:
    """What to do next about that member, with the names of its objects: a command can be copied as it stands."""
    plan, pod = context.plan, context.tally.members.get(rank)
    names = {
        "NAME": plan.title,
        "NAMESPACE": plan.namespace,
        "POD": pod.name if pod else expected_name(context, plan.member(rank)),
        "CONTAINER": pod.holder.rpartition(" ")[2] if pod else "",
        "RANK": str(rank),
        "NODE": node or (pod.node if pod else ""),
    }
    advice = NEXT[cause]
    text = advice.observed if advice.observed and plan.engine is Engine.OBSERVE else advice.next_step
    if cause is MissingCause.QUEUED and (stuck := context.record.condition(ConditionType.STUCK)) and stuck.status:
        text = step_of(stuck.reason) or text
    if not _answers_for_stacks(context):
        text = text.replace(STACKS, STACKS + WITHOUT_HELP)
    if "/" in plan.title:
        text = text.replace(RESTART, "")
    return _WORDS.sub(lambda word: names[word[0]] or word[0], text)


def _answers_for_stacks(context: Context) -> bool:
    """The members have ``spec.assist``, or have reported steps: then ``muster.jax`` is in them, which answers, too."""
    record = context.record
    reports = context.view.progress_of(record.epoch) is not None or record.steps is not None
    return reports or any(group.pod.assist for group in context.plan.groups)
