"""Causes that keep a member from starting until a person acts, and a node that is not ready."""

import re
from typing import Final

from muster.state.facts.causes.cause import MissingCause, by_platform, by_user
from muster.state.facts.context import Context
from muster.state.view.stage import Stage
from muster.state.vocabulary.node_faults import disk_is_full, driver_fault
from muster.state.vocabulary.pod import Pod

CONTAINER_PATIENCE: Final = 15.0
"""Seconds: a Secret or a registry that is a moment late is no news, a typo is."""
UNSCHEDULABLE_PATIENCE: Final = 60.0
"""Seconds: an autoscaler takes about that long to bring a node."""
NODE_PATIENCE: Final = 15.0
"""Seconds after the mark, which itself comes 40 to 50 s after the node's last sign of life."""
_NAMED_IMAGE: Final = re.compile(r'image "([^"\s]{1,200})"')


def _image(context: Context, pod: Pod) -> str:
    """Return the words about the image that the kubelet names, as only some of its messages do, else of the group's."""
    if found := _NAMED_IMAGE.search(pod.waiting_message):
        image = f"the image {found[1]}"
    else:
        group = context.plan.group_of(pod.rank)
        image = f"the image {group.pod.image}" if group and group.pod.image and not pod.holder else "its image"
    return f"{image} cannot be pulled"


def is_kept(_: Context, pod: Pod) -> bool:
    """Return True if another container than the member's own keeps it."""
    return bool(pod.holder)


def holder_fails(_: Context, pod: Pod) -> str:
    """Return the words about that container."""
    return f"{pod.holder} cannot start: {pod.waiting_reason}"


class CannotStart:
    """The most definite causes: they come first in a sentence."""

    REFUSED = MissingCause(
        "Refused",
        "The API server refuses what creating its pod needs.",
        "correct what the answer names; Muster tries again by itself",
        runbook="MusterCreateRefused",
        charge=by_platform("Refused"),
    )
    QUOTA_EXCEEDED = MissingCause(
        "QuotaExceeded",
        "The API server refuses it because a ResourceQuota is used up.",
        "free or raise the ResourceQuota that the answer names",
        refusals=("QuotaExceeded",),
        counted_as="Refused",
        runbook="MusterCreateRefused",
        charge=by_platform("Refused"),
    )
    ADMISSION_DENIED = MissingCause(
        "AdmissionDenied",
        "The API server refuses it because a webhook or a policy does not admit it, or does not answer.",
        "change the experiment so that the webhook or policy admits it, or restore or change the webhook or policy",
        refusals=("WebhookDenied", "WebhookFailed", "PolicyDenied", "PodSecurityViolated", "LimitRangeViolated"),
        counted_as="Refused",
        runbook="MusterCreateRefused",
        charge=by_platform("Refused"),
    )
    RIGHTS_MISSING = MissingCause(
        "RightsMissing",
        "The API server refuses it because musterd lacks the right.",
        "give musterd's service account the right that the answer names; the chart's ClusterRole has all of them",
        refusals=("RightsMissing", "CredentialsRejected"),
        counted_as="Refused",
        runbook="MusterCreateRefused",
        charge=by_platform("Refused"),
    )
    NAME_TAKEN = MissingCause(
        "NameTaken",
        "An object of another owner has the name of its pod, or of the Service.",
        "delete that object, or give the experiment another name",
        refusals=("NameTaken",),
        counted_as="Refused",
        runbook="MusterCreateRefused",
    )
    NODE_NOT_READY = MissingCause(
        "NodeNotReady",
        "Its pod ran on a node that is NotReady now.",
        "look at the node: kubectl describe node NODE; it comes back, or its pods are evicted after 5 minutes",
        stages=(Stage.NODE_NOT_READY,),
        what=lambda _, pod: f"node {pod.node} is not ready",
        evidence=" was marked not ready by its node's controller",
        words=lambda _, pod: f"running, but its node {pod.node} is not ready",
        names_node=True,
        stuck_as="NodeNotReady",
        patience=NODE_PATIENCE,
        runbook="MusterExperimentStuck",
        charge=by_platform("NodeNotReady"),
    )
    IMAGE_PULL = MissingCause(
        "ImagePull",
        "Its image cannot be pulled.",
        "check the name and tag of the image, the registry, and the imagePullSecrets of POD",
        stages=(Stage.CANNOT_START,),
        reasons=(  # kubernetes: pkg/kubelet/images/types.go
            "ImagePullBackOff",
            "ErrImagePull",
            "ErrImageNeverPull",
            "InvalidImageName",
            "ImageInspectError",
            "RegistryUnavailable",
            "SignatureValidationFailed",
        ),
        what=_image,
        patience=CONTAINER_PATIENCE,
        runbook="MusterImageNotPulled",
        charge=by_user("ImagePull"),
    )
    CONTAINER_CANNOT_START = MissingCause(
        "ContainerCannotStart",
        "Its container cannot be made, or is started again and again.",
        "create the Secret, ConfigMap or key that the message names, or correct the command or the pod template; "
        "what the program printed: kubectl logs -n NAMESPACE POD --previous",
        stages=(Stage.CANNOT_START,),
        what=lambda _, pod: f"the container cannot start: {pod.waiting_reason}",
        patience=CONTAINER_PATIENCE,
        runbook="MusterExperimentStuck",
        charge=by_user("ContainerCannotStart"),
    )
    DRIVER_FAILS = MissingCause(
        "DriverFails",
        "The driver of its node's accelerators does not work, so its container cannot be made.",
        "drain the node and restart it, or roll its driver back: kubectl drain NODE --ignore-daemonsets",
        stages=(Stage.CANNOT_START,),
        when=lambda _, pod: bool(driver_fault(pod.waiting_message)),
        what=lambda _, pod: f"the driver of node {pod.node} fails: {driver_fault(pod.waiting_message)}",
        names_node=True,
        runbook="MusterExperimentStuck",
        charge=by_platform("DriverFails"),
    )
    NODE_DISK_FULL = MissingCause(
        "NodeDiskFull",
        "The disk of its node is full, so its container cannot be made.",
        "see what fills the disk of the node: kubectl describe node NODE",
        stages=(Stage.CANNOT_START,),
        when=lambda _, pod: disk_is_full(pod.waiting_message),
        what=lambda _, pod: f"the disk of node {pod.node} is full",
        names_node=True,
        runbook="MusterExperimentStuck",
        charge=by_platform("NodeDiskFull"),
    )
    INIT_CONTAINER_FAILS = MissingCause(
        "InitContainerFails",
        "An init container or a sidecar of its pod fails, or cannot start, so the program does not.",
        "read the container's log: kubectl logs -n NAMESPACE POD -c CONTAINER --previous; if it never ran, create "
        "what the message names",
        stages=(Stage.CANNOT_START,),
        when=is_kept,
        what=holder_fails,
        runbook="MusterExperimentStuck",
        charge=by_user("ContainerCannotStart"),
    )
    UNSCHEDULABLE = MissingCause(
        "Unschedulable",
        "No node fits its pod.",
        "free or add nodes with what the scheduler misses, or ask for less: kubectl describe pod -n NAMESPACE POD",
        stages=(Stage.UNSCHEDULABLE,),
        what="no node fits",
        patience=UNSCHEDULABLE_PATIENCE,
        runbook="MusterUnschedulable",
        charge=by_platform("Unschedulable"),
    )
