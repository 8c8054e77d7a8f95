"""Valid objects with as many fields as possible: what mutation starts from."""

import marshal
from typing import Any
from zlib import crc32

from muster.api.names import API_VERSION, name_suffix, pod_name
from tests.fakes.objects import container, pod, terminated

VICTIM = "uid-victim"
SMALL = {"cpus": 1, "memory": 1}
RICH = {
    "cpus": 2,
    "cpuLimitRatio": 1.5,
    "ramRatio": 2,
    "shmSizeGB": 1,
    "accelerators": {"gpu": {"count": 8, "type": "gpu", "product": "NVIDIA-H100"}},
    "extraSelectors": {"zone": "a"},
    "extraTolerations": [{"key": "gpu", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}],
    "rdma": {"devices": ["sriov_a"]},
}
TPU = SMALL | {"accelerators": {"tpu": {"type": "tpu-v5", "topology": "4x4", "tpuChipsCount": 4}}}

COMMON: dict[str, Any] = {
    "image": "example.org/train:1",
    "command": "python train.py",
    "suspend": False,
    "cancel": False,
    "startup": {"order": "CoordinatorFirst"},
    "restartPolicy": {
        "backoffLimit": 3,
        "renewOnProgress": True,
        "backoff": {"initial": "5s", "max": "5m", "factor": 2, "jitter": 0.1},
    },
    "failurePolicy": {
        "rules": [
            {"name": "lost", "action": "RestartGang", "disruption": True, "counted": False},
            {"name": "bug", "action": "FailExperiment", "onExitCodes": [2], "onMessagePatterns": ["Error: .*"]},
        ]
    },
    "timeout": "1h",
    "ttlAfterFinished": "1d",
    "assist": True,
    "clocks": {
        "pending": {"after": "10m", "action": "Restart"},
        "assembly": {"after": "5m", "action": "Fail"},
        "terminating": {"after": "30s", "action": "Restart"},
        "run": {"after": "2h", "action": "Fail"},
        "progress": {"after": "20m", "action": "Restart"},
    },
    "gracefulTermination": {"terminationGracePeriodSeconds": 30, "shutdownCommand": ["sh", "-c", "save"]},
    "securityContext": {"ptrace": True},
    "storage": {
        "attachExistingPVCs": [{"name": "data", "mountPoint": "/mnt/data"}],
        "sharedVolume": {"mountPoint": "/shared", "sizeGB": 1},
    },
    "tensorboard": {"enabled": True, "usePVC": {"enabled": True, "name": "logs"}},
    "debug": {"vscode": {"enabled": False, "path": "code", "provider": "github"}},
}

SPECS: tuple[dict[str, Any], ...] = (
    COMMON | {"operator": "jax", "types": {"worker": {"count": 4, "resources": RICH}}},
    COMMON | {"operator": "jax", "types": {"worker": {"count": 2, "resources": TPU}}, "startup": {}},
    COMMON
    | {
        "operator": "pytorch",
        "types": {"master": {"count": 1, "resources": SMALL}, "worker": {"count": 3, "resources": RICH}},
    },
    COMMON | {"operator": "xgboost", "types": {"worker": {"count": 3, "resources": SMALL}}},
    COMMON
    | {
        "operator": "jobset",
        "types": {
            "driver": {"count": 1, "resources": SMALL},
            "actor": {
                "count": 2,
                "completions": 3,
                "parallelisms": 2,
                "resources": SMALL,
                "dependsOn": [{"group": "driver", "status": "Ready"}],
            },
        },
        "failurePolicy": {"rules": [{"action": "RestartMember", "targetGroups": ["actor"], "limit": 3}]},
        "successPolicy": {"operator": "Any", "targets": ["driver"]},
    },
    COMMON
    | {
        "operator": "kuberay",
        "types": {
            "Head": {"resources": SMALL, "rayStartParams": {"num-cpus": "0"}},
            "Workers": [{"name": "cpu", "count": 2, "resources": SMALL}],
        },
        "rayVersion": "2.40.0",
        "debug": {"jupyter": {"enabled": False, "path": "jupyter"}},
    },
)

STATUS: dict[str, Any] = {
    "phase": "Running",
    "phaseTime": "2027-01-15T07:50:00.000000Z",
    "reason": "RollComplete",
    "message": "4/4 ranks arrived",
    "observedGeneration": 1,
    "epoch": 1,
    "restarts": 1,
    "disruptions": 0,
    "ready": "4/4",
    "coordinator": "worker-0-0-bcdfg.run:1234",
    "startTime": "2027-01-15T07:40:00.000000Z",
    "epochTime": "2027-01-15T07:45:00.000000Z",
    "scheduledTime": "2027-01-15T07:46:00.000000Z",
    "assemblingTime": "2027-01-15T07:47:00.000000Z",
    "assembledTime": "2027-01-15T07:48:00.000000Z",
    "endingTime": "2027-01-15T07:48:00.000000Z",
    "resumeTime": "2027-01-15T07:49:00.000000Z",
    "updateTime": "2027-01-15T07:50:00.000000Z",
    "deadline": "2027-01-15T08:40:00Z",
    "roll": {"expected": 4, "arrived": 4, "missing": [2]},
    "cause": {
        "epoch": 0, "pod": "run-worker-0-2-x7k2p", "uid": "pod-2", "group": "worker", "rank": 2, "container": "main",
        "node": "node-2", "exitCode": 137, "signal": 9, "reason": "OOMKilled", "message": "too big",
        "time": "2027-01-15T07:44:00.000000Z", "disruption": False,
    },
    "conditions": [
        {
            "type": kind, "status": status, "reason": "Because", "message": "so", "observedGeneration": 1,
            "lastTransitionTime": "2027-01-15T07:48:00.000000Z",
        }
        for kind, status in (("Scheduled", "True"), ("CoordinatorReady", "True"), ("Stuck", "False"))
    ],
    "story": [
        {"time": "2027-01-15T07:40:00.000000Z", "epoch": 0, "reason": "Started", "message": "starting 4 members"},
        {"time": "2027-01-15T07:44:00.000000Z", "epoch": 1, "reason": "GangRestart", "message": "x", "warning": True},
    ],
}  # fmt: skip


def experiment(uid: str, name: str, spec: dict[str, Any], version: int, status: Any = None) -> dict[str, Any]:
    """An Experiment as the API server sends it; the generation depends on the spec."""
    sent = {
        "apiVersion": API_VERSION,
        "kind": "Experiment",
        "metadata": {
            "uid": uid, "name": name, "namespace": "team", "generation": crc32(repr(spec).encode()),
            "resourceVersion": str(version),
            "creationTimestamp": "2027-01-15T07:40:00Z", "labels": {"team": "a"}, "annotations": {"note": "b"},
        },
        "spec": marshal.loads(marshal.dumps(spec)),
    }  # fmt: skip
    return sent if status is None else {**sent, "status": marshal.loads(marshal.dumps(status))}


def name_of(owner: str) -> str:
    """The name of the Experiment of that uid."""
    return owner.removeprefix("uid-")


def member(owner: str, rank: int, version: int, epoch: int = 1, **status: Any) -> dict[str, Any]:
    """The running, ready pod of a member, with every field that Muster reads."""
    sent = pod(f"{owner}-pod-{rank}", version, **status)
    sent["metadata"]["name"] = pod_name(name_of(owner), "worker", 0, rank, name_suffix(owner, epoch))
    labels = sent["metadata"]["labels"]
    labels |= {"muster.dev/rank": str(rank), "muster.dev/pod-index": str(rank), "muster.dev/epoch": str(epoch)}
    sent["metadata"]["ownerReferences"][0]["uid"] = owner
    sent["spec"]["initContainers"] = [{"name": "side", "restartPolicy": "Always"}, {"name": "init"}]
    return sent


def troubled(owner: str, rank: int, version: int, epoch: int = 1) -> dict[str, Any]:
    """A member's pod with everything that can happen to it at once."""
    sent = member(
        owner, rank, version, epoch,
        phase="Failed", reason="Evicted", message="The node was low on resource: memory.",
        conditions=[
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/8 nodes"},
            {"type": "Ready", "status": "False"},
            {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": "preempted"},
        ],
        containerStatuses=[
            container("main", terminated(137, reason="OOMKilled", message="too big"), terminated(1)),
            container("other", {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m"}}),
            container("third", {"running": {"startedAt": "2026-11-20T10:00:05Z"}}),
        ],
        initContainerStatuses=[
            container("init", terminated(2) | {"signal": 9}),
            container("side", {"waiting": {"reason": "PodInitializing"}}),
        ],
    )  # fmt: skip
    sent["metadata"]["deletionTimestamp"] = "2027-01-15T07:59:00Z"
    return sent


def service(owner: str, version: int) -> dict[str, Any]:
    """An experiment's headless Service."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "uid": f"{owner}-service", "name": name_of(owner), "namespace": "team", "resourceVersion": str(version),
            "ownerReferences": [{"uid": owner, "controller": True, "kind": "Experiment"}],
        },
        "spec": {"clusterIP": "None"},
    }  # fmt: skip


def bookmark(version: int) -> dict[str, Any]:
    """The object of a BOOKMARK, here the one that ends a streamed list."""
    annotations = {"k8s.io/initial-events-end": "true"}
    return {"kind": "Pod", "metadata": {"resourceVersion": str(version), "annotations": annotations}}


def refusal() -> dict[str, Any]:
    """A Status, as an error body or as the object of an ERROR."""
    return {
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "too old resource version: 5 (9)",
        "reason": "Expired", "code": 410,
        "details": {"retryAfterSeconds": 3, "causes": [{"reason": "ResourceVersionTooLarge", "message": "x"}]},
    }  # fmt: skip


def lease() -> dict[str, Any]:
    """A Lease with a holder."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "uid": "lease-1", "name": "musterd", "namespace": "muster", "resourceVersion": "77",
            "labels": {"a": "b"}, "managedFields": [{}],
        },
        "spec": {
            "holderIdentity": "daemon-b", "leaseDurationSeconds": 15, "leaseTransitions": 3,
            "acquireTime": "2026-11-20T10:00:00.000000Z", "renewTime": "2026-11-20T10:00:10.000000Z",
        },
    }  # fmt: skip
