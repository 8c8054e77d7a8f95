"""A run of each watched kind as its own controller makes it: what the tests that hold for every kind play."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Sample:
    """The run ``train``: ``spec`` gives that of so many members, and ``pods`` has the labels of its first two pods."""

    spec: Callable[[int], dict[str, Any]]
    pods: tuple[Mapping[str, str], ...]
    container: str = "main"
    status: Mapping[str, Any] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Of the pods."""
    controller: str = ""
    """The kind of the pods' controller, where a place follows from it."""
    uid_label: str = ""
    """Label of the pods that holds the uid of the object."""


def _by_index(label: str, **labels: str) -> tuple[Mapping[str, str], ...]:
    return tuple({**labels, label: str(rank)} for rank in range(2))


def _job(size: int) -> dict[str, Any]:
    return {"completions": size, "parallelism": size, "completionMode": "Indexed"}


def _jobset_pods(group: str) -> tuple[Mapping[str, str], ...]:
    prefix = "jobset.sigs.k8s.io/"
    labels = {f"{prefix}jobset-name": "train", f"{prefix}replicatedjob-name": group, f"{prefix}job-index": "0"}
    return _by_index(INDEX, **labels)


def _raycluster(size: int) -> dict[str, Any]:
    workers = {"groupName": "w", "replicas": size - 1, "maxReplicas": size - 1}
    return {"headGroupSpec": {"rayStartParams": {}}, "workerGroupSpecs": [workers]}


def _ray_pods(cluster: str) -> tuple[Mapping[str, str], ...]:
    head, worker = {"ray.io/group": "headgroup"}, {"ray.io/group": "w", "ray.io/worker-group-replica-index": "0"}
    return tuple({"ray.io/cluster": cluster, **each} for each in (head, worker))


INDEX: Final = "batch.kubernetes.io/job-completion-index"
KUBEFLOW: Final = "training.kubeflow.org/"
OF_TRAIN: Final = {f"{KUBEFLOW}job-name": "train"}
SAMPLES: Final[Mapping[str, Sample]] = {
    "jobs": Sample(
        lambda size: (
            _job(size)
            | {
                "template": {
                    "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "example.org/train:1"}]}
                }
            }
        ),
        _by_index(INDEX, **{"batch.kubernetes.io/job-name": "train"}),
        controller="Job",
        uid_label="batch.kubernetes.io/controller-uid",
    ),
    "jobsets": Sample(
        lambda size: {"replicatedJobs": [{"name": "w", "template": {"spec": _job(size)}}]},
        _jobset_pods("w"),
        uid_label="jobset.sigs.k8s.io/jobset-uid",
    ),
    "trainjobs": Sample(
        lambda size: {"trainer": {"numNodes": size}, "runtimeRef": {"name": "torch"}},
        _jobset_pods("node"),
        container="node",
    ),
    "jaxjobs": Sample(
        lambda size: {
            "jaxReplicaSpecs": {"Worker": {"replicas": size}},
            "runPolicy": {"managedBy": "kubeflow.org/training-operator"},
        },
        _by_index(f"{KUBEFLOW}replica-index", **OF_TRAIN),
        container="jax",
        controller="JAXJob",
    ),
    "pytorchjobs": Sample(
        lambda size: {"pytorchReplicaSpecs": {"Master": {"replicas": 1}, "Worker": {"replicas": size - 1}}},
        tuple(
            {**OF_TRAIN, f"{KUBEFLOW}replica-type": each, f"{KUBEFLOW}replica-index": "0"}
            for each in ("master", "worker")
        ),
        container="pytorch",
        controller="PyTorchJob",
    ),
    "mpijobs": Sample(
        lambda size: {"mpiReplicaSpecs": {"Launcher": {"replicas": 1}, "Worker": {"replicas": size - 1}}},
        _by_index(
            f"{KUBEFLOW}replica-index",
            **OF_TRAIN,
            **{f"{KUBEFLOW}operator-name": "mpi-operator", f"{KUBEFLOW}job-role": "worker"},
        ),
        controller="MPIJob",
    ),
    "rayclusters": Sample(_raycluster, _ray_pods("train"), container="ray-head", controller="RayCluster"),
    "rayjobs": Sample(
        lambda size: {"entrypoint": "python x.py", "submissionMode": "HTTPMode", "rayClusterSpec": _raycluster(size)},
        _ray_pods("train-aaaaa"),
        container="ray-head",
        status={"rayClusterName": "train-aaaaa", "jobId": "train-bbbbb", "jobDeploymentStatus": "Running"},
    ),
    "leaderworkersets": Sample(
        lambda size: {"replicas": 1, "leaderWorkerTemplate": {"size": size}},
        _by_index(
            "leaderworkerset.sigs.k8s.io/worker-index",
            **{"leaderworkerset.sigs.k8s.io/name": "train", "leaderworkerset.sigs.k8s.io/group-index": "0"},
        ),
        controller="StatefulSet",
    ),
    "vcjobs": Sample(
        lambda size: {"minAvailable": size, "tasks": [{"name": "worker", "replicas": size}]},
        _by_index("volcano.sh/task-index", **{"volcano.sh/job-name": "train", "volcano.sh/task-spec": "worker"}),
        controller="Job",
    ),
    "pods": Sample(
        lambda size: {"sizes": {"worker": size}},
        _by_index("muster.dev/rank", **{"muster.dev/observe": "train"}),
        annotations={"muster.dev/size": "3"},
    ),
}
"""By the name of the kind."""
