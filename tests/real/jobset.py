"""The JobSet controller beside Muster, where JOBSET_CONTROLLER names its binary (its module is not on every proxy).

It runs with a configuration of its own and no admission webhooks; its CRD is served without a schema, and the JobSets
carry every default.
"""

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from muster.api.errors import NotFound
from muster.cli.processes.stack import free_port
from tests.fakes.definitions import definition
from tests.real.ground import STAND_IN, TAINT, Ground
from tests.real.namespace import Object, eventually
from tests.real.plane.certificates import Authority
from tests.real.plane.programs import Program

VARIABLE = "JOBSET_CONTROLLER"
API = "jobset.x-k8s.io/v1alpha2"

Request = Callable[..., Awaitable[Any]]
"""Sends a request to the API server as an administrator: method, path, body."""


def why_not() -> str:
    """Why the controller does not run here; empty if it does."""
    name = os.environ.get(VARIABLE, "")
    if not name:
        return f"{VARIABLE} names no binary of the JobSet controller"
    return "" if os.access(name, os.X_OK) else f"{VARIABLE}={name} is not a program"


def jobset(name: str, members: int, command: str, *, restarts: int = 3, **container: Any) -> Object:
    """A JobSet of one indexed Job with that many pods, with every default written out."""
    main = {"name": "main", "image": "registry.example/train:1", "command": ["sh", "-c", command], **container}
    pod = {
        "restartPolicy": "Never",
        "nodeSelector": STAND_IN,
        "tolerations": [{"key": TAINT["key"], "operator": "Exists"}],
        "containers": [main],
    }
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


@asynccontextmanager
async def jobset_controller(ground: Ground, request: Request) -> AsyncIterator[None]:
    """The JobSet controller runs, and its kind is served."""
    folder = Path(ground.folder)
    await define(request)
    process = Program("jobset", _command(folder, ground.admin), folder / "jobset.log")
    try:
        yield
    finally:
        process.end()


async def define(request: Request) -> None:
    """The kind is served; musterd finds it within a minute."""
    path = f"/apis/{API}/jobsets"
    try:
        await request("GET", path)
    except NotFound:
        approved = {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/jobset"}
        body = definition(API, "jobsets", "JobSet", annotations=approved)
        await request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body)

        async def served() -> bool:
            try:
                await request("GET", path)
            except NotFound:
                return False
            return True

        await eventually(served)


def _command(folder: Path, config: str) -> list[str]:
    """The controller with its configuration: no leader election, no certificates of its own making."""
    pair = Authority(folder / "jobset").server("tls")
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
    return [os.environ[VARIABLE], f"--config={file}", f"--kubeconfig={config}", "--zap-log-level=error"]
