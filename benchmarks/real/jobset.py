"""Gangs like those of ``starts``, made by the JobSet controller, where JOBSET_CONTROLLER names its binary.

The controller runs with a configuration of its own and no admission webhooks; its CRD is served without a schema, and
the JobSets carry every default. So its figures have no webhook calls and no validation in them. Its Jobs are served by
the controller manager twice: with that one's defaults, and tuned (TUNED).
"""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from benchmarks.real.pods import watched
from benchmarks.real.starts import Figures, Gangs, Object, Site, each, fail_one
from tests.real.controllers.jobset import JOBSET, jobset, jobsets_path
from tests.real.plane.supervisor import Supervisor
from tests.real.stopping import held

MANAGER = "kube-controller-manager"
TUNED = ("--kube-api-qps=1000", "--kube-api-burst=2000", "--concurrent-job-syncs=50")


def body(name: str, members: int) -> Object:
    """Return a JobSet that asks for what the experiments ask for."""
    return jobset(
        name,
        members,
        "python3 -u main.py --config large.yaml",
        resources={"requests": {"cpu": "1", "memory": "2G"}},
    )


@asynccontextmanager
async def controller(here: Site, supervisor: Supervisor, *, tuned: bool) -> AsyncIterator[None]:
    """Run the JobSet controller; the controller manager has default or tuned limits."""
    program = supervisor[MANAGER]
    kept = program.command
    async with held(here.ground, MANAGER):
        program.command = [*kept, *(TUNED if tuned else ())]
    try:
        async with JOBSET.running(here.ground, here.request):
            yield
    finally:
        async with held(here.ground, MANAGER):
            program.command = kept


async def gangs_of_jobsets(here: Site, gangs: Gangs, *, restart: bool) -> Figures:
    """Create the JobSets; with ``restart`` let one pod fail when all run."""
    figures, path = Figures(), jobsets_path(here.namespace)
    async with watched(here.admin, here.namespace, "jobset.sigs.k8s.io/restart-attempt") as seen:

        async def submit(name: str) -> None:
            await here.request("POST", path, body(name, gangs.members))

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
