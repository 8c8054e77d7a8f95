"""The JobSet controller, with a configuration of its own and no admission webhooks, and JobSets with every default."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from muster.cli.processes.stack import free_port
from tests.real.controllers import Controller, Kind
from tests.real.ground import STAND_IN, TOLERATIONS
from tests.real.namespace import Object
from tests.real.plane.certificates import Authority

API: Final = "jobset.x-k8s.io/v1alpha2"
JOBSETS: Final = Kind(API, "jobsets", "JobSet")


def jobset(name: str, members: int, command: str, *, restarts: int = 3, **container: Any) -> Object:
    """A JobSet of one indexed Job with that many pods, with every default written out."""
    main = {"name": "main", "image": "registry.example/train:1", "command": ["sh", "-c", command], **container}
    pod = {"restartPolicy": "Never", "nodeSelector": STAND_IN, "tolerations": TOLERATIONS, "containers": [main]}
    job = {
        "completionMode": "Indexed",
        "completions": members,
        "parallelism": members,
        "backoffLimit": 0,
        "template": {"spec": pod},
    }
    return {
        "apiVersion": API,
        "kind": "JobSet",
        "metadata": {"name": name},
        "spec": {
            "network": {"enableDNSHostnames": True, "publishNotReadyAddresses": True},
            "successPolicy": {"operator": "All", "targetReplicatedJobs": []},
            "startupPolicy": {"startupPolicyOrder": "AnyOrder"},
            "failurePolicy": {"maxRestarts": restarts, "restartStrategy": "Recreate"},
            "replicatedJobs": [{"name": "worker", "groupName": "default", "replicas": 1, "template": {"spec": job}}],
        },
    }


def jobsets_path(namespace: str, name: str = "") -> str:
    """The JobSets of a namespace, or one of them."""
    return f"/apis/{API}/namespaces/{namespace}/jobsets{f'/{name}' if name else ''}"


def _options(folder: Path, config: str) -> Sequence[str]:
    """No leader election, no certificates of its own making."""
    pair = Authority(folder).server("tls")
    configuration = {
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "webhook": {"host": "127.0.0.1", "port": free_port(), "certDir": str(pair.certificate.parent)},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": "0"},
        "clientConnection": {"qps": 1000, "burst": 2000},
    }
    file = folder / "jobset.yaml"
    file.write_text(json.dumps(configuration))
    return f"--config={file}", f"--kubeconfig={config}", "--zap-log-level=error"


JOBSET: Final = Controller("jobset", "JOBSET_CONTROLLER", (JOBSETS,), _options)
