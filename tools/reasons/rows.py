"""Every reason that a status, a condition or a cause can have, except those of the table of causes.

Times are those of the policies; ``tests/failures.md`` names the test of each.
"""

from typing import Final, NamedTuple

from muster.state.facts.causes.on_its_way import STEPS
from muster.state.facts.causes.table import Causes


class Row(NamedTuple):
    """Reasons with one meaning and one remedy."""

    reasons: tuple[str, ...]
    meaning: str
    remedy: str


def row(reasons: str, meaning: str, remedy: str) -> Row:
    """Return a row of reasons that are separated by spaces."""
    return Row(tuple(reasons.split()), meaning, remedy)


QUEUE: Final = {
    "ExceedsMaxQuota": "The request is more than the queue can ever give.",
    "Misconfigured": "The LocalQueue or its ClusterQueue does not exist.",
    "Inadmissible": "The queue does not exist, or does not admit from this namespace.",
    "Deactivated": "`spec.active` of the Workload is false: by a person, or after too many requeues.",
    "QueueSilent": "Kueue has written nothing on the Workload for 60 s.",
    "QueueUnavailable": "The API server has no Workloads, or musterd may not use them.",
}
"""Meaning of each reason for which a queue never admits by itself; its step is in ``STEPS``."""

WAITING: Final = (
    row("CreatingPods", "Muster creates pods.", "wait"),
    row("Pending", "Pods wait for a node or for their container.", "read the message; `kubectl describe pod`"),
    row(
        "Queued",
        "In the phase `Queued` Kueue has not admitted the experiment. In another phase scheduling gates hold pods, and "
        "no clock runs.",
        "see the [queue](queues.md), or the controller whose gate the message names",
    ),
    row(
        "InitContainerRuns",
        "An init container has run for a minute since all members had a node. It never becomes `Stuck`.",
        "if it takes too long: `kubectl logs POD -c CONTAINER`",
    ),
    row("AwaitingGroup", "A type waits for another one (`dependsOn`).", "wait; the message names it"),
    row("AwaitingRanks", "Programs run, and not all ranks have called the coordinator.", "wait; see the missing ranks"),
    row(
        "StaleMembers",
        "Members belong to a former life of the coordinator, such as a Ray head that was replaced.",
        "wait a minute for them to join again; else delete their pods",
    ),
    row("RollComplete", "All ranks have arrived.", "nothing"),
    row("AwaitingOldPods", "Pods of the last epoch have not ended.", "if it lasts, look at the node that it names"),
    row("BackingOff", "The gang waits before a restart.", "wait; `muster explain` has the cause"),
    row("Suspended", "`spec.suspend` is true.", "set it to false"),
    row("Deleting", "A finalizer holds a deleted object. Its pods end at once.", "ask the owner of the finalizer"),
    row("EditRefused EditPending", "An edit cannot be followed, or not yet.", "correct the field that the Event names"),
)
"""Reasons of the status while nothing is wrong yet."""

STUCK: Final = (
    row(
        "RanksMissing",
        "A rank is late: its program has run for twice as long as the coordinator's took to open its port, and no rank "
        "arrived for 6 s, nor for one and a half times the longest pause between two arrivals.",
        "`muster logs NAME --rank N`: does it call `initialize`, with `JAXOPERATOR_PROCESS_ID` as its process id?",
    ),
    row(
        "RankFailed",
        "The coordinator gave up a rank, mostly for lost heartbeats, and no container failed.",
        "look at the log and the node of that rank",
    ),
    row(
        "ProcessCountMismatch",
        "The program gave the coordinator another number of processes than the gang has.",
        "take the number from `JAXOPERATOR_NUM_PROCESSES`",
    ),
    row(
        "CoordinatorNotServing",
        "The program of rank 0 has run for 4 minutes, and its port has not answered.",
        "read the log of rank 0: imports and data before `initialize`; let musterd reach pod IPs",
    ),
    row(
        "DashboardNotServing",
        "The GCS of a Ray head serves, and its dashboard has not for 60 s. No job can be submitted.",
        "read `dashboard.log` of the head: a busy node, `include-dashboard`, an image without `ray[default]`",
    ),
    row(
        "CoordinatorUnreachable",
        "The coordinator answered before and has not for 6 s, or it comes and goes.",
        "look at the log and the node of rank 0, and at the network",
    ),
    row(
        "Hung",
        "No rank reported a step for 60 s (45 s where one rank is a step behind), or for five times the longest pause. "
        "With `spec.assist`: all ranks wait, and not all at one place.",
        "`muster stacks NAME`; [announce](guide.md#steps-and-hangs) a pause that is meant",
    ),
    row(
        "CollectiveStuck",
        "Ranks wait in a collective that others have not entered, and nothing moved for 45 s or for five times the "
        "longest pause.",
        "`muster explain NAME` has the ranks that are not in it; then `muster stacks NAME`",
    ),
    Row(
        Causes.IMAGE_PULL.reasons,
        "The image of a container has not been pulled for 15 s. The reason is the kubelet's.",
        "correct the image, give the pull secret, or repair the registry",
    ),
    row(
        "CreateContainerConfigError CreateContainerError RunContainerError CrashLoopBackOff",
        "A container has not been made for 15 s. The reason is the kubelet's.",
        "create the ConfigMap, Secret or key that the message names, or correct the command",
    ),
    row("SchedulerError", "The scheduler failed on a pod.", "read the log of the scheduler"),
    row(
        "Unschedulable",
        "No node has fitted a member for 60 s. The message quotes the scheduler.",
        "free or add nodes, or ask for less: capacity, selectors, tolerations, a missing claim",
    ),
    row(
        "SandboxNotReady",
        "Members have had a node for two minutes, and no volumes or no network. Only Events have the cause.",
        "`kubectl describe pod`: a Secret, ConfigMap or volume, or the network plugin",
    ),
    row(
        "NodeNotReady",
        "The node of a member has been NotReady for 15 s. Its pods are evicted after 5 minutes by default.",
        "`kubectl describe node`; repair it, or cordon it and delete the pod",
    ),
    row(
        "RequestUnmet",
        "Tasks or actors of a Ray job have asked for a minute for what no Ray node has.",
        "ask for less in the program, or give a type what the message names",
    ),
    row(
        "ContainerRunsOn",
        "All programs ended with 0 30 s ago, and another container keeps some of the pods.",
        "make it an init container with `restartPolicy: Always` (Istio: native sidecars)",
    ),
    row(
        "RanksEnded",
        "Some ranks, or the coordinator, ended with 0 five minutes ago, and others run on.",
        "`muster explain NAME`: do those that run on wait for the ended ones?",
    ),
    row(
        "DisruptionLoop",
        "The platform ended three epochs in a row before the gang had worked for 5 minutes.",
        "find what deletes or evicts the pods: priority, an overcommitted node, another controller",
    ),
    row(
        "SameFailureAgain",
        "The gang failed twice in a row in the same way [without an advance](policies.md#the-same-failure-again). It "
        "is restarted all the same.",
        "the message has the exception and its line; where it points to a node, look at the node",
    ),
    row(
        "PendingDeadlineExceeded",
        "The clock `pending` ran out: not every member got a node.",
        "see `Unschedulable`",
    ),
    row(
        "StartingDeadlineExceeded AssemblyDeadlineExceeded",
        "A clock ran out: no program started, or the roll is not complete.",
        "the message has the missing ranks; `kubectl describe pod` for volume, image, container",
    ),
    row(
        "RunDeadlineExceeded ProgressDeadlineExceeded DeadlineExceeded",
        "A clock ran out: the epoch, or its progress, took too long.",
        "`muster explain NAME`: the rank that fell silent first; or raise the clock",
    ),
    row(
        "TerminatingDeadlineExceeded",
        "Pods of the last epoch have not ended for two minutes and block the next one.",
        "look at their node and finalizers; delete by force only when the node is dead",
    ),
    row(
        "QuotaExceeded LimitRangeViolated PodSecurityViolated",
        "ResourceQuota, LimitRange or Pod Security level refuses the pods.",
        "change the limit that the message names, or the resources and template",
    ),
    row(
        "PolicyDenied WebhookDenied",
        "An admission policy or webhook refuses the pods. The message quotes it.",
        "change the experiment or the rule",
    ),
    row("WebhookFailed", "An admission webhook is down or does not answer.", "restore its Service, or remove it"),
    row(
        "PriorityClassMissing ServiceAccountMissing RuntimeClassMissing",
        "The template names an object that does not exist.",
        "create it, or name another one",
    ),
    row(
        "RightsMissing CredentialsRejected",
        "musterd may not do what the message names, or its token is refused.",
        "apply the roles of `deploy/`; renew the token",
    ),
    row(
        "PodAltered ServiceAltered PersistentVolumeClaimAltered",
        "A label under `muster.dev/` or the ownerReference was changed on an object of Muster.",
        "put it back, or delete the pod; no other pod of the rank runs beside it",
    ),
    row(
        "PodsForbidden ServicesForbidden PersistentVolumeClaimsForbidden PodsRefused ServicesRefused "
        "PersistentVolumeClaimsRefused",
        "A refusal that Muster does not know.",
        "the message quotes the API server",
    ),
    row(
        "ApiServerErrors ApiServerBusy ApiServerSilent",
        "The API server answers 5xx or 429, or not in time.",
        "read its log; a webhook that hangs is the usual cause of silence",
    ),
    row("NameTaken", "An object of that name has another owner, or is still terminating.", "wait, or remove it"),
    row(
        "OtherController",
        "Another controller makes pods for the same object.",
        "let one of them run it (`--run-kinds`)",
    ),
    row(
        "PartlyQueued",
        "Some members have run for 60 s while scheduling gates hold others.",
        "list `Experiment.v1alpha1.muster.dev` in Kueue's `integrations.externalFrameworks`, and name a queue",
    ),
    row(
        "QueuedTwice",
        "Kueue's pod integration holds pods of an admitted experiment.",
        "as `PartlyQueued`; see [queues](queues.md)",
    ),
    row("FlavorMissing", "A ResourceFlavor that Kueue assigned does not exist.", "create it"),
    *(row(reason, QUEUE[reason], step) for reason, step in STEPS.items()),
    row(
        "CoordinatorGone",
        "Watched runs: the pod of the coordinator has been gone or not running for 60 s.",
        "see whether its controller runs; delete the run and submit it again",
    ),
    row(
        "MemberFailed RestartedInPlace",
        "Watched runs: a failed member was not replaced for 60 s, or a restarted container is not ready for 120 s.",
        "read its log; its own controller decides",
    ),
    row(
        "PodsMissing",
        "Watched runs: the controller has not made a pod for 60 s. The message quotes its last Event.",
        "quota, LimitRange, Pod Security, a webhook, or a controller that is down",
    ),
    row(
        "StatusIsFalse",
        "Watched runs: the program, or every member, ended 30 s ago, and the status does not show it.",
        "repair the controller; take the result from the message",
    ),
    row(
        "FailureReported",
        "Watched runs: the controller reported a failure 60 s ago, and the run is not ended.",
        "read the message; delete the run to free its machines",
    ),
)
"""Reasons of the condition Stuck. Pods that end have theirs below."""

ENDED: Final = (
    row("AllMembersSucceeded", "Every member ended with 0.", "nothing"),
    row("SuccessPolicyMet", "The jobs of `spec.successPolicy` have succeeded.", "nothing"),
    row(
        "BackoffLimitExceeded",
        "One failure more than `restartPolicy.backoffLimit` allows.",
        "`muster logs NAME --rank N` for the rank in the message",
    ),
    row("FailureRule", "A rule with `FailExperiment` matched.", "the message has the rule"),
    row(
        "FailureRuleLimitExceeded", "One failure more than the `limit` of the rule.", "the message has rule and failure"
    ),
    row("IgnoredMembersFailed", "All members ended, and some that a rule ignored had failed.", "read their logs"),
    row(
        "SameFailureAgain", "As under Stuck, with `sameFailureAction: Fail`.", "correct the program, or cordon the node"
    ),
    row("MaxDisruptionsExceeded", "One disruption more in a row than `maxDisruptions` allows.", "see `DisruptionLoop`"),
    row(
        "DeadlineExceeded",
        "The total clock ran out. The message has the ranks that had ended, and the others.",
        "`muster explain NAME`: the others wait for the rank that fell silent first",
    ),
    row(
        "PendingDeadlineExceeded StartingDeadlineExceeded AssemblyDeadlineExceeded RunDeadlineExceeded "
        "ProgressDeadlineExceeded",
        "A clock with the action `Fail` ran out.",
        "as under Stuck",
    ),
    row("Cancelled", "`muster cancel`, or `spec.cancel`.", "nothing"),
    row(
        "InvalidSpec",
        "This release cannot run the spec. Once the experiment has begun it is a reason of Stuck.",
        "`muster lint`; the message has the field",
    ),
    row(
        "PodRejected ServiceRejected PersistentVolumeClaimRejected",
        "The API server will never take this object.",
        "correct what the message quotes, in another experiment",
    ),
    row("NameTaken", "An object of that name has another owner.", "delete it, or use another name"),
    row("NamespaceGone", "The namespace is gone or being deleted.", "nothing"),
    row(
        "MembersFailed",
        "Watched pods: all ended, some with a failure, and none was replaced for 30 s.",
        "see the cause",
    ),
    row(
        "Deleted", "Watched runs: the object was deleted, finalizers hold it, and no pod runs.", "remove the finalizer"
    ),
)
"""Reasons with which a run ends."""

CAUSE: Final = (
    row(
        "Error OOMKilled ContainerFailed PodFailed",
        "The first container that failed. Exit code, signal, memory limit and the last line of the traceback are "
        "beside it. Behind a launcher it is the exception of the program.",
        "yes",
    ),
    row("RankFailed", "The others ended because of this rank, and its own pod runs.", "yes"),
    row(
        "PreemptionByScheduler EvictionByEvictionAPI DeletionByTaintManager DeletionByPodGC TerminationByKubelet "
        "NodeLost ContainerStatusUnknown DeviceDriverFailed",
        "The node or the cluster took the pod.",
        "no",
    ),
    row(
        "DriverFails NodeDiskFull NetworkFails VolumeFails",
        "A clock ended the wait for a member that the platform kept from starting: see the cause of that name.",
        "no",
    ),
    row("PodDeleted PodAltered", "The pod was deleted, is gone, or ended after its labels were changed.", "no"),
    row(
        "Preempted FlavorMigration PodsReadyTimeout AdmissionCheck ClusterQueueStopped LocalQueueStopped NodeFailures "
        "EvictedOnManagerCluster WorkloadSliceReplaced Deactivated QueueUnavailable WorkloadOutdated NotAdmitted "
        "WorkloadDeleted WorkloadFinished AdmissionLost",
        "Kueue took the quota back.",
        "no",
    ),
    row("Requested", "`muster restart`; the message has who asked, and when.", "no, and it waits for no back-off"),
    row("DeadlineExceeded", "A Job of a JobSet ran longer than its `activeDeadlineSeconds`.", "yes"),
    row("Other", "Rare reasons, and restarts of older versions.", "as their own reason is"),
)
"""Reasons for which an epoch ended, and whether the restart uses ``backoffLimit``. A gang that gave up waiting has a
reason of the table of causes; a clock that restarted it has its own."""
