"""Writes of a pod's status: conflicts, refusals, deletion."""

import copy
from types import SimpleNamespace
from typing import cast

import pytest

from muster.api.errors import ApiError, Conflict, Invalid, NotFound
from muster.kube.resources import ResourceClient
from muster.local.node.containers.states import ContainerRecord, running
from muster.local.node.context import NodeContext
from muster.local.node.pods.status_writer import PodState, StatusWriter
from tests.local.node.harness import FakeApi, pod

PATH = "/api/v1/namespaces/default/pods/p"


@pytest.fixture
def reporter(fake_api: FakeApi) -> StatusWriter:
    made = pod("p")
    made["metadata"] |= {"uid": "u", "resourceVersion": "1"}
    fake_api.objects[PATH] = made
    node = SimpleNamespace(api=ResourceClient(fake_api), clock=lambda: 0, draining=False)
    state = PodState(containers=[ContainerRecord("main", "image", state=running(0), ready=True)])
    return StatusWriter(cast("NodeContext", node), copy.deepcopy(made), state)


async def test_an_unchanged_status_is_not_written_again(reporter: StatusWriter, fake_api: FakeApi) -> None:
    await reporter.write()
    await reporter.write()
    assert len(fake_api.patches()) == 1


async def test_a_retry_after_a_conflict_keeps_conditions_of_other_writers(
    reporter: StatusWriter, fake_api: FakeApi
) -> None:
    theirs = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
    fake_api.objects[PATH] |= {"status": {"conditions": [theirs]}}
    fake_api.objects[PATH]["metadata"]["resourceVersion"] = "7"
    await reporter.write()
    assert theirs in fake_api.objects[PATH]["status"]["conditions"]
    assert len(fake_api.patches()) == 2


async def test_no_status_is_written_to_a_pod_with_another_uid(reporter: StatusWriter, fake_api: FakeApi) -> None:
    fake_api.objects[PATH]["metadata"] |= {"uid": "another", "resourceVersion": "7"}
    await reporter.write()
    assert reporter.gone
    assert "status" not in fake_api.objects[PATH]


async def test_an_invalid_status_is_not_retried_and_a_failed_request_is(
    reporter: StatusWriter, fake_api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muster.local.node.pods.status_writer.RETRY_SECONDS", 0.001)
    fake_api.refuse = [Invalid("no", status=422)]
    await reporter.write()
    assert len(fake_api.patches()) == 1
    fake_api.refuse = [ApiError("busy", status=500), None]
    await reporter.write()
    assert len(fake_api.patches()) == 3


async def test_the_object_is_deleted_with_its_uid_as_precondition(reporter: StatusWriter, fake_api: FakeApi) -> None:
    await reporter.delete()
    ((_, path, options),) = [each for each in fake_api.asked if each[0] == "DELETE"]
    assert path == PATH
    assert options["gracePeriodSeconds"] == 0
    assert options["preconditions"] == {"uid": "u"}


@pytest.mark.parametrize("error", [NotFound("gone", status=404), Conflict("another uid", status=409)])
async def test_an_object_that_was_already_deleted_is_not_deleted_again(
    reporter: StatusWriter, fake_api: FakeApi, error: ApiError
) -> None:
    fake_api.refuse = [error]
    await reporter.delete()
    assert reporter.gone
