"""The JobSet controller for the same gangs, where JOBSET_CONTROLLER names its binary.

It runs with a configuration of its own and no admission webhooks; its CRD is served without a schema, and the JobSets
carry every default. So its figures have no webhook calls and no validation in them. Its Jobs are served by the
controller manager twice: with that one's defaults, and tuned (TUNED).
"""

import json
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks.real.loops import each
from benchmarks.real.pods import watched
from benchmarks.real.starts import Figures, Gangs, Object, Site, fail_one
from muster.api.errors import NotFound
from muster.cli.processes.stack import free_port
from tests.real.ground import STAND_IN, TAINT
from tests.real.plane.certificates import Authority
from tests.real.plane.programs import Program
from tests.real.plane.supervisor import Supervisor
from tests.real.site import eventually
from tests.real.stopping import held

VARIABLE = "JOBSET_CONTROLLER"
MANAGER = "kube-controller-manager"
TUNED = ("--kube-api-qps=1000", "--kube-api-burst=2000", "--concurrent-job-syncs=50")
API = "jobset.x-k8s.io/v1alpha2"
RESTART_LABEL = "jobset.sigs.k8s.io/restart-attempt"


def why_not() -> str:
    """Why the controller is not measured here; empty if it is."""
    name = os.environ.get(VARIABLE, "")
    if not name:
        return f"{VARIABLE} names no binary of the JobSet controller"
    return "" if os.access(name, os.X_OK) else f"{VARIABLE}={name} is not a program"


def definition() -> Object:
    """The kind JobSet, without a schema."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1alpha2",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }
    names = {"kind": "JobSet", "listKind": "JobSetList", "plural": "jobsets", "singular": "jobset"}
    metadata = {
        "name": "jobsets.jobset.x-k8s.io",
        "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/jobset"},
    }
    spec = {"group": "jobset.x-k8s.io", "scope": "Namespaced", "names": names, "versions": [version]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": spec,
    }


def jobset(name: str, members: int) -> Object:
    """A JobSet of one indexed Job with that many pods, with every default written out."""
    container = {
        "name": "main",
        "image": "registry.example/train:1",
        "command": ["sh", "-c", "python3 -u main.py --config large.yaml"],
        "resources": {"requests": {"cpu": "1", "memory": "2G"}},
    }
    pod = {
        "restartPolicy": "Never",
        "nodeSelector": STAND_IN,
        "tolerations": [{"key": TAINT["key"], "operator": "Exists"}],
        "containers": [container],
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
            "failurePolicy": {"maxRestarts": 3, "restartStrategy": "Recreate"},
            "replicatedJobs": [{"name": "worker", "groupName": "default", "replicas": 1, "template": {"spec": job}}],
        },
    }


@asynccontextmanager
async def controller(here: Site, supervisor: Supervisor, *, tuned: bool) -> AsyncIterator[None]:
    """The JobSet controller runs; the controller manager has default or tuned limits."""
    folder = Path(here.ground.folder)
    program = supervisor[MANAGER]
    kept = program.command
    async with held(here.ground, MANAGER):
        program.command = [*kept, *(TUNED if tuned else ())]
    try:
        await _define(here)
        process = Program("jobset", _command(folder, here.ground.admin), folder / "jobset.log")
        try:
            yield
        finally:
            process.end()
    finally:
        async with held(here.ground, MANAGER):
            program.command = kept


async def gangs_of_jobsets(here: Site, gangs: Gangs, *, restart: bool) -> Figures:
    """Create the JobSets; with ``restart`` let one pod fail when all run."""
    figures, path = Figures(), f"/apis/{API}/namespaces/{here.namespace}/jobsets"
    async with watched(here.admin, here.namespace, RESTART_LABEL) as seen:

        async def submit(name: str) -> None:
            await here.request("POST", path, jobset(name, gangs.members))

        began = time.monotonic()
        await each(gangs.names, submit)
        figures.created = await seen.until(lambda now: now.added >= gangs.pods) - began
        await seen.until(lambda now: len(now.running) >= gangs.pods)
        if restart:
            failed = await fail_one(here)
            figures.restarted = await seen.until(lambda now: now.by_label.get("1", 0) >= gangs.pods) - failed
        await here.request("DELETE", path)
        await here.request("DELETE", f"/apis/batch/v1/namespaces/{here.namespace}/jobs")
    return figures


async def _define(here: Site) -> None:
    path = f"/apis/{API}/jobsets"
    try:
        await here.request("GET", path)
    except NotFound:
        await here.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition())

        async def served() -> bool:
            try:
                await here.request("GET", path)
            except NotFound:
                return False
            return True

        await eventually(served, 60)


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
