"""The status write applies to the Experiment and the resourceVersion of its decision, or fails."""

import pytest

from muster.api.errors import Conflict, NotFound, Unreachable
from muster.reconcilers.refs import ExperimentRef
from muster.reconcilers.status import write_status
from tests.fakes.api import FakeApi
from tests.fakes.plans import UID, experiment_path, gang, submitted

REF = ExperimentRef("lab", "moe", UID)
PATH = experiment_path("lab", "moe")


async def test_the_write_changes_only_the_status_and_returns_the_new_version() -> None:
    api = FakeApi()
    submitted(api, gang(), suspend=False)
    assert await write_status(api, REF, {"epoch": 3}, 1) == 2
    assert api.objects[PATH]["status"] == {"epoch": 3}
    assert api.objects[PATH]["spec"] == {"suspend": False}
    (request,) = api.requests
    assert (request.method, request.path) == ("PUT", f"{PATH}/status")
    assert request.body["kind"] == "Experiment"


async def test_a_status_for_an_older_resource_version_is_a_conflict() -> None:
    api = FakeApi()
    submitted(api, gang())
    submitted(api, gang(), suspend=True)
    with pytest.raises(Conflict):
        await write_status(api, REF, {"epoch": 1}, 1)
    assert "status" not in api.objects[PATH]


async def test_another_experiment_of_the_same_name_is_not_written() -> None:
    api = FakeApi()
    submitted(api, gang())
    with pytest.raises(Conflict):
        await write_status(api, ExperimentRef("lab", "moe", "earlier"), {"epoch": 1}, 1)


async def test_an_experiment_that_is_gone_is_not_found() -> None:
    with pytest.raises(NotFound):
        await write_status(FakeApi(), REF, {}, 1)


async def test_a_repeated_write_after_a_lost_answer_is_a_conflict() -> None:
    api = FakeApi()
    submitted(api, gang())
    api.fail("PUT", Unreachable("Gateway Timeout", status=504), after=True)
    with pytest.raises(Unreachable):
        await write_status(api, REF, {"epoch": 1}, 1)
    with pytest.raises(Conflict):
        await write_status(api, REF, {"epoch": 1}, 1)
    assert api.objects[PATH]["status"] == {"epoch": 1}
