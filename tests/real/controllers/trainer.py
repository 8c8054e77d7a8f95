"""Kubeflow Trainer, which makes JobSets of TrainJobs by the runtime that these name."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from muster.cli.processes.stack import free_port
from tests.real.controllers import Controller, Kind
from tests.real.controllers.jobset import JOBSETS, jobset
from tests.real.namespace import Object
from tests.real.plane.certificates import Authority

API: Final = "trainer.kubeflow.org/v1alpha1"
KINDS: Final = (
    Kind(API, "trainjobs", "TrainJob"),
    Kind(API, "trainingruntimes", "TrainingRuntime"),
    Kind(API, "clustertrainingruntimes", "ClusterTrainingRuntime", "Cluster"),
    JOBSETS,
)


def trainjob(name: str, nodes: int, command: str, **pod: Any) -> tuple[Object, Object]:
    """A TrainJob of that many nodes, and the runtime of its own; ``pod`` is what is different in the spec of a pod."""
    template = jobset(name, nodes, command)["spec"]
    (group,) = template["replicatedJobs"]
    group["name"] = "node"
    group["template"]["metadata"] = {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}
    spec = group["template"]["spec"]["template"]["spec"]
    spec["containers"][0]["name"] = "node"
    spec |= pod
    runtime = {"mlPolicy": {"numNodes": nodes}, "template": {"spec": template}}
    named = {"metadata": {"name": name}}
    reference = {"name": name, "apiGroup": API.partition("/")[0], "kind": "TrainingRuntime"}
    return (
        {"apiVersion": API, "kind": "TrainingRuntime", **named, "spec": runtime},
        {"apiVersion": API, "kind": "TrainJob", **named, "spec": {"runtimeRef": reference, "suspend": False}},
    )


def _options(folder: Path, config: str) -> Sequence[str]:
    """No leader election, no certificates of its own making."""
    certificates = folder / "k8s-webhook-server" / "serving-certs"  # where it looks below TMPDIR
    certificates.parent.mkdir(exist_ok=True)
    Authority(certificates).server("tls")
    configuration = {
        "apiVersion": "config.trainer.kubeflow.org/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "certManagement": {"enable": False},
        "webhook": {"host": "127.0.0.1", "port": free_port()},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": "0"},
    }
    file = folder / "trainer.yaml"
    file.write_text(json.dumps(configuration))
    return f"--config={file}", f"--kubeconfig={config}"


TRAINER: Final = Controller("trainer", "TRAINER_CONTROLLER", KINDS, _options, lambda folder: {"TMPDIR": str(folder)})
