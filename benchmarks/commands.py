"""The command line started cold: CPU time of one ``muster --help``, ``lint``, ``get`` and ``run``, with all imports.

``get`` reads a running gang of two from a local API server. ``run`` starts a cluster, musterd and three processes of a
program that fails at its first import: what a mistake in a program costs. ``diagnose`` reads a JobSet of ``RANKS`` in a
namespace of ``CROWD`` pods and asks its coordinator, which does not listen. The bytecode is on disk, as after an
installation. The least of several runs counts, because other work on the machine only adds to it: start this one on an
idle machine.
"""

import asyncio
import os
import resource
import sys
from asyncio.subprocess import DEVNULL
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

from benchmarks.at_rest import served
from benchmarks.harness.measuring import megabytes
from benchmarks.harness.report import Result
from muster.api.names import API_VERSION, KIND
from muster.local.apiserver import ApiServer, WriteOptions
from muster.local.cluster import reduced_crd
from muster.state.vocabulary.subject import JOBSET

RUNS = 10
"""Measured runs of each command, after one that writes the bytecode."""
RUNS_OF_RUN = 3
"""Each takes seconds."""
RANKS, CROWD = 512, 10_000
"""Pods of the run that is diagnosed, and of its namespace."""
PEER = "python -c pass"
SPEC = {
    "operator": "jax",
    "image": "registry.example.com/team/train:1.0",
    "command": "python3 -u train.py",
    "types": {"worker": {"count": 2, "resources": {"cpus": 1, "ramRatio": 2}}},
}
STATUS = {
    "phase": "Running",
    "reason": "AllRanksArrived",
    "message": "2/2 ranks have arrived",
    "epoch": 0,
    "size": 2,
    "ready": 2,
    "observedGeneration": 1,
}
NAMED = {"name": "train", "namespace": "default"}
RUNS_NOW = {
    "phase": "Running",
    "podIP": "127.0.0.1",
    "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "True"}],
    "containerStatuses": [
        {
            "name": "main",
            "image": "none",
            "imageID": "",
            "ready": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
        }
    ],
}
MANIFEST = {"kind": "AIchorManifest", "apiVersion": "0.2.3", "spec": SPEC}


async def seconds(
    *command: str, environment: dict[str, str], where: Path, runs: int = RUNS, expected: int = 0
) -> float:
    """Return the least CPU time, user and system, of a command with all processes that it waits for."""
    spent = []
    for _ in range(runs + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, *command), env=environment, cwd=where, stdout=DEVNULL, stderr=DEVNULL
        )
        if await process.wait() != expected:
            raise RuntimeError(f"{' '.join(command)} exited with {process.returncode}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(spent[1:])


async def measured() -> list[Result]:
    """Start the API server with one experiment, and run the commands beside it."""
    async with served() as (api, where):
        (where / "manifest.yaml").write_text(yaml.safe_dump(MANIFEST, sort_keys=False), encoding="utf-8")
        (where / "fails.py").write_text("import no_such_module\n", encoding="utf-8")
        run: dict[str, Any] = {"apiVersion": API_VERSION, "kind": KIND, "metadata": NAMED}
        _apply(api, API_VERSION, "experiments", run | {"spec": SPEC})
        _apply(api, API_VERSION, "experiments", run | {"status": STATUS}, subresource="status")
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment |= {"KUBECONFIG": str(where / "kubeconfig"), "PYTHONPYCACHEPREFIX": str(where / "bytecode")}

        async def cpu(*command: str) -> float:
            return await seconds(*command, environment=environment, where=where)

        start = await cpu("-c", "pass")
        muster = ("-c", "from muster.entry import muster; muster()")
        results = [
            Result(f"muster {words[0]}, CPU time", await cpu(*muster, *words), "s", budget, PEER, start)
            for words, budget in ((("--help",), 0.1), (("lint", "manifest.yaml"), 0.25), (("get", "train"), 0.3))
        ]
        results += await _diagnosis(api, environment, where, start)
        del environment["KUBECONFIG"]
        environment["MUSTER_HOME"] = str(where / "home")
        failing = (*muster, "run", "-n", "3", "--", sys.executable, "fails.py")
        spent = await seconds(*failing, environment=environment, where=where, runs=RUNS_OF_RUN, expected=1)
        name = "muster run, a program that fails at import, CPU time"
        return [*results, Result(name, spent, "s", 4.0, PEER, start)]


async def _diagnosis(api: ApiServer, environment: dict[str, str], where: Path, start: float) -> list[Result]:
    """Return CPU time and memory of ``muster diagnose`` in a crowded namespace."""
    _apply(api, "apiextensions.k8s.io/v1", "customresourcedefinitions", reduced_crd(JOBSET))
    template = {"spec": {"completions": RANKS, "parallelism": RANKS, "completionMode": "Indexed"}}
    spec = {"replicatedJobs": [{"name": "w", "replicas": 1, "template": template}]}
    notes = {"muster.dev/operator": "jax", "muster.dev/coordinator-port": "1"}
    jobset = {"apiVersion": JOBSET.api_version, "kind": JOBSET.kind, "spec": spec}
    _apply(api, JOBSET.api_version, JOBSET.plural, {**jobset, "metadata": {**NAMED, "annotations": notes}})
    prefix = "jobset.sigs.k8s.io/"
    for number in range(CROWD):
        labels = {"app": "other"}
        if number < RANKS:
            labels = {f"{prefix}jobset-name": "train", f"{prefix}replicatedjob-name": "w", f"{prefix}job-index": "0"}
            labels["batch.kubernetes.io/job-completion-index"] = str(number)
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {**NAMED, "name": f"p-{number}", "labels": labels}}
        _apply(api, "v1", "pods", {**pod, "spec": {"containers": [{"name": "main", "image": "none"}], "nodeName": "n"}})
        _apply(api, "v1", "pods", {**pod, "status": RUNS_NOW}, subresource="status")
    code = (
        "import atexit, pathlib; from muster.entry import muster; status = pathlib.Path('/proc/self/status'); "
        "atexit.register(lambda: pathlib.Path('status').write_text(status.read_text())); muster()"
    )
    words = ("-c", code, "diagnose", "jobset/train")
    spent = await seconds(*words, environment=environment, where=where, runs=RUNS_OF_RUN)
    peak = megabytes((where / "status").read_text(encoding="ascii"), "VmHWM")
    name = f"muster diagnose, {RANKS} ranks among {CROWD:,} pods"
    return [
        Result(f"{name}, CPU time", spent, "s", 1.5, PEER, start),
        Result(f"{name}, memory", peak, "MB", 100.0),
    ]


def _apply(api: ApiServer, version: str, plural: str, obj: dict[str, Any], subresource: str = "") -> None:
    """Create or change an object; the server keeps what it is given, so it gets a copy."""
    metadata = obj["metadata"]
    kind, options = api.store.resource(version, plural), WriteOptions(subresource=subresource)
    api.store.ensure(kind, metadata.get("namespace", ""), deepcopy(obj), options)


def run() -> list[Result]:
    """Measure the five commands."""
    return asyncio.run(measured())
