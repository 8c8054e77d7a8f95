"""Muster beside the JobSet controller: two controllers that start gangs in one namespace leave each other alone."""

from typing import Any

import pytest

from tests.real.controllers.jobset import JOBSET, jobset, jobsets_path
from tests.real.namespace import eventually
from tests.real.site import Site

pytestmark = [pytest.mark.alone, pytest.mark.timeout(400), pytest.mark.usefixtures("our_servers")]


async def state_of(here: Site, name: str) -> tuple[Any, Any]:
    """How often a JobSet was restarted, and how it ended."""
    found = await here.get(jobsets_path(here.namespace, name))
    status = found.get("status", {}) if found else {}
    return status.get("restarts", 0), status.get("terminalState")


async def test_a_jobset_that_fails_and_an_experiment_do_not_move_each_other(here: Site) -> None:
    here.row.happens("a JobSet in the same namespace is restarted and fails; a member of ours is lost meanwhile")
    async with JOBSET.running(here.ground, here.request):
        await here.running()
        await here.request("POST", jobsets_path(here.namespace), jobset("other", 2, "*: run 600"))
        await here.request("POST", jobsets_path(here.namespace), jobset("theirs", 2, "*: run 5, exit 1", restarts=1))
        here.row.happens("a JobSet beside ours is restarted once and fails, another one runs; we lose a member")
        await eventually(lambda: state_of(here, "theirs"), holds=lambda found: found == (1, "Failed"))
        assert (await here.client.get("run", namespace=here.namespace)).status.epoch == 0
        pod = (await here.pods("run"))[1]["metadata"]["name"]
        await here.kubectl("delete", "pod", pod, "--wait=false")
        await here.says("run", rf"^Restarting \S+ .*rank 1 \({pod}\)")
        await here.says("run", "^Running RollComplete 2/2 members are ready")
        assert await state_of(here, "other") == (0, None)


async def test_the_service_of_a_jobset_of_the_same_name_is_explained(here: Site) -> None:
    here.row.happens("a JobSet of the experiment's name has the Service of that name")
    async with JOBSET.running(here.ground, here.request):
        await here.request("POST", jobsets_path(here.namespace), jobset("run", 2, "*: run 600"))
        await here.all_run(2)
        here.row.happens("a JobSet of the experiment's name has the Service of that name")
        await here.submit("run")
        await here.says("run", "^Failed NameTaken Service .*/run .*JobSet")
        assert await state_of(here, "run") == (0, None)
