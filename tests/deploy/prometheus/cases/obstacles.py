"""What keeps a gang from starting or going on. Each obstacle has one alert, and no other fires."""

from tests.deploy.prometheus.case import ONE, Case, reason

_ONE = "vision/llama"


def _fires(alert: str, situation: str, why: str, after: int, summary: str) -> Case:
    labels = {"namespace": "vision", "experiment": "llama", "reason": why}
    return Case(alert, situation, reason(why), after, labels, f"{_ONE}: {summary} ({why}).")


def _passes(alert: str, situation: str, why: str, values: str) -> Case:
    return Case(alert, situation, reason(why, values))


_IMAGE = "an image cannot be pulled"
_NODE = "no node fits all members"
_REFUSED = "the API server refuses what the experiment needs"
_HUNG = "no rank makes progress"
_PLACES = "no progress since 10:02:11Z: rank 7 is in next (data.py:41); the other 11 are in step (train.py:8)"
_STUCK = "the experiment does not go on"

OBSTACLES = (
    _fires("MusterImageNotPulled", "the tag of an image does not exist", "ImagePullBackOff", 60, _IMAGE),
    _fires("MusterImageNotPulled", "the name of an image is not one", "InvalidImageName", 60, _IMAGE),
    _passes("MusterImageNotPulled", "a registry is busy for 50 s", "ImagePullBackOff", "0x11 1x9 0x1000"),
    Case(
        "MusterImageNotPulled",
        "a Secret of a container is missing, not its image",
        reason("CreateContainerConfigError"),
        also=("MusterExperimentStuck",),
    ),
    _fires("MusterUnschedulable", "no node has the accelerators", "Unschedulable", 300, _NODE),
    _passes("MusterUnschedulable", "an autoscaler brings nodes after 5 minutes", "Unschedulable", "0x11 1x47 0x1000"),
    _fires("MusterCreateRefused", "the quota of the namespace is used up", "QuotaExceeded", 60, _REFUSED),
    _fires("MusterCreateRefused", "an admission webhook denies the pods", "WebhookDenied", 60, _REFUSED),
    _fires("MusterCreateRefused", "an authorizer denies services", "ServicesForbidden", 60, _REFUSED),
    _passes("MusterCreateRefused", "the API server restarts within 50 s", "ApiServerErrors", "0x11 1x9 0x1000"),
    Case(
        "MusterCreateRefused",
        "the pods are there and no node fits them",
        reason("Unschedulable", "0x11 1x47 0x1000"),
    ),
    _fires("MusterExperimentStuck", "a node is not ready", "NodeNotReady", 60, _STUCK),
    _fires("MusterExperimentStuck", "a Secret is missing", "CreateContainerConfigError", 60, _STUCK),
    _fires("MusterExperimentStuck", "old pods do not end", "TerminatingDeadlineExceeded", 60, _STUCK),
    _fires("MusterExperimentStuck", "a reason that a later Muster may have", "SomethingNew", 60, _STUCK),
    _fires("MusterHung", "no rank reports a step any more", "Hung", 600, _HUNG),
    _fires("MusterHung", "a rank does not enter a collective", "CollectiveStuck", 600, _HUNG),
    Case(
        "MusterHung",
        "a rank stands in its data loader, and says where",
        {**reason("Hung"), f'muster_experiment_hang_info{{{ONE},message="{_PLACES}"}}': "1x1000"},
        600,
        {"namespace": "vision", "experiment": "llama", "reason": "Hung"},
        f"{_ONE}: {_HUNG} (Hung): {_PLACES}.",
    ),
    _passes("MusterHung", "a first checkpoint takes 9 minutes", "Hung", "0x11 1x95 0x1000"),
    _passes("MusterExperimentStuck", "a node is not ready for 50 s", "NodeNotReady", "0x11 1x9 0x1000"),
    _passes("MusterExperimentStuck", "nothing is stuck, or was", "NodeNotReady", "0x1000"),
    _fires(
        "MusterDisruptionLoop",
        "preemption ends three epochs in a row",
        "DisruptionLoop",
        0,
        "the platform ends one epoch after another",
    ),
    _passes("MusterDisruptionLoop", "an earlier loop is over", "DisruptionLoop", "0x1000"),
)
