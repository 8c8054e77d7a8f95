"""A roll call by a reader of what the controllers of other projects have made: JobSet, KubeRay, Trainer.

What it finds is what a musterd of the chart finds that has watched over them from the beginning.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.deploy.chart.release import Release
from tests.real.controllers import Controller
from tests.real.controllers.jobset import JOBSET, jobset
from tests.real.controllers.kuberay import RAY, cluster, ray_object
from tests.real.controllers.trainer import TRAINER, trainjob
from tests.real.diagnosing import EVENTS, both_find
from tests.real.namespace import Object
from tests.real.site import Site

pytestmark = [pytest.mark.alone, pytest.mark.timeout(900), pytest.mark.usefixtures("our_servers")]
RUN, PULL = "*: run 900", "*: wait ErrImagePull"
NOBODY = {"serviceAccountName": "none"}


@dataclass(frozen=True, slots=True)
class Made:
    """One row: an object of a real controller, and the cause and ranks that are found."""

    run: str
    made: tuple[Object, ...]
    cause: str
    ranks: tuple[int, ...]
    phase: str = "Assembling"
    beside: tuple[Object, ...] = ()

    def objects(self, _folder: Path) -> list[Object]:
        """What a person creates."""
        return [*self.made]


def halves(name: str, command: str, **pod: str) -> Object:
    """A JobSet of two jobs of one pod; the second has that command, and these fields in the spec of its pod."""
    made, other = jobset(name, 1, RUN), jobset(name, 1, command)["spec"]["replicatedJobs"][0]
    other["template"]["spec"]["template"]["spec"] |= pod
    made["spec"]["replicatedJobs"].append({**other, "name": "other"})
    return made


def ray(kind: str, name: str, *workers: str, **pod: object) -> tuple[Object]:
    """A RayCluster with these workers, or a RayJob on one."""
    spec = cluster(*workers, **pod)
    job = {"entrypoint": "python train.py", "submissionMode": "HTTPMode", "rayClusterSpec": spec}
    return (ray_object(kind, name, spec if kind == "RayCluster" else job),)


@dataclass(frozen=True, slots=True)
class Project:
    """Its controllers, the kinds that musterd watches, the rights of the reader, and what is made."""

    controllers: tuple[Controller, ...]
    kinds: str
    rights: tuple[tuple[str, str], ...]
    gangs: tuple[Made, ...]

    @asynccontextmanager
    async def running(self, here: Site) -> AsyncIterator[None]:
        """Run its controllers."""
        here.row.happens(f"{len(self.gangs)} objects of live controllers, under a musterd and muster diagnose")
        async with AsyncExitStack() as stack:
            for controller in self.controllers:
                await stack.enter_async_context(controller.running(here.ground, here.request))
            yield


ELSEWHERE = {"example.org/rack": "none"}
PROJECTS = {
    "JobSet": Project(
        (JOBSET,),
        "jobsets",
        (("--verb=get", "--resource=jobsets"),),
        (
            Made("jobset/well", (jobset("well", 2, RUN),), "", (), "Running"),
            Made("jobset/typo", (halves("typo", PULL),), "ImagePull", (1,)),
            Made("jobset/absent", (halves("absent", RUN, **NOBODY),), "NotCreated", (1,)),
        ),
    ),
    "KubeRay": Project(
        (RAY,),
        "rayclusters\\,rayjobs",
        (("--verb=get", "--resource=rayclusters,rayjobs"),),
        (
            Made("raycluster/pull", ray("RayCluster", "pull", RUN, PULL), "ImagePull", (2,)),
            Made("raycluster/rack", ray("RayCluster", "rack", RUN, nodeSelector=ELSEWHERE), "Unschedulable", (1,)),
            Made("rayjob/train", ray("RayJob", "train", RUN, PULL), "ImagePull", (2,)),
        ),
    ),
    "Trainer": Project(
        (JOBSET, TRAINER),
        "trainjobs",
        (("--verb=get", "--resource=trainjobs"), ("--verb=list", "--resource=jobsets")),
        (
            Made("trainjob/pull", trainjob("pull", 2, PULL), "ImagePull", (0, 1), "Pending"),
            Made("trainjob/absent", trainjob("absent", 2, RUN, **NOBODY), "NotCreated", (0, 1), "Pending"),
        ),
    ),
}


@pytest.mark.parametrize("name", PROJECTS)
async def test_what_a_real_controller_has_made_is_diagnosed_with_the_stated_rights(
    here: Site, ours: Release, name: str
) -> None:
    project = PROJECTS[name]
    async with project.running(here):
        await both_find(here, ours, project.kinds, project.gangs, *project.rights, EVENTS)
