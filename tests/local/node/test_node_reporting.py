"""The status of a pod reaches the API server: once, whole, and without treading on others."""

from __future__ import annotations

import asyncio
import copy
import random
from collections.abc import AsyncIterator, Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from muster.api.errors import ApiError, Conflict, Invalid, NotFound
from muster.local.node.containers.states import ContainerRecord, running
from muster.local.node.context import NodeContext
from muster.local.node.pods.pod_status import PodState
from muster.local.node.pods.status_writer import StatusWriter
from muster.local.node.reflector import Reflector
from tests.local.node.conftest import FakeApi, MakePod, Pod

PATH = "/api/v1/namespaces/default/pods/p"


@pytest.fixture
def reporter(fake_api: FakeApi, make_pod: MakePod) -> StatusWriter:
    pod = make_pod("p")
    pod["metadata"] |= {"uid": "u", "resourceVersion": "1"}
    fake_api.objects[PATH] = pod
    node = SimpleNamespace(api=fake_api, clock=lambda: 0, draining=False)
    state = PodState(containers=[ContainerRecord("main", "image", state=running(0), ready=True)])
    return StatusWriter(cast("NodeContext", node), copy.deepcopy(pod), state)


async def test_the_same_status_is_written_once(reporter: StatusWriter, fake_api: FakeApi) -> None:
    await reporter.write()
    await reporter.write()
    assert len(fake_api.patches()) == 1


async def test_after_a_conflict_the_conditions_of_others_are_in_the_next_try(
    reporter: StatusWriter, fake_api: FakeApi
) -> None:
    theirs = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
    fake_api.objects[PATH] |= {"status": {"conditions": [theirs]}}
    fake_api.objects[PATH]["metadata"]["resourceVersion"] = "7"
    await reporter.write()
    assert theirs in fake_api.objects[PATH]["status"]["conditions"]
    assert len(fake_api.patches()) == 2


async def test_a_pod_that_is_gone_or_another_of_its_name_is_left_alone(
    reporter: StatusWriter, fake_api: FakeApi
) -> None:
    fake_api.objects[PATH]["metadata"] |= {"uid": "another", "resourceVersion": "7"}
    await reporter.write()
    assert reporter.gone
    assert "status" not in fake_api.objects[PATH]


async def test_a_refused_status_is_given_up_and_a_lost_one_tried_again(
    reporter: StatusWriter, fake_api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muster.local.node.pods.status_writer.RETRY_SECONDS", 0.001)
    fake_api.refuse = [Invalid("no", status=422)]
    await reporter.write()
    assert len(fake_api.patches()) == 1
    fake_api.refuse = [ApiError("busy", status=500), None]
    await reporter.write()
    assert len(fake_api.patches()) == 3


async def test_the_object_is_deleted_under_its_uid(reporter: StatusWriter, fake_api: FakeApi) -> None:
    await reporter.delete()
    ((_, path, options),) = [each for each in fake_api.asked if each[0] == "DELETE"]
    assert path == PATH
    assert options["gracePeriodSeconds"] == 0
    assert options["preconditions"] == {"uid": "u"}


@pytest.mark.parametrize("error", [NotFound("gone", status=404), Conflict("another uid", status=409)])
async def test_a_deletion_somebody_else_did_is_done(reporter: StatusWriter, fake_api: FakeApi, error: ApiError) -> None:
    fake_api.refuse = [error]
    await reporter.delete()
    assert reporter.gone


def item(uid: str, version: str = "5") -> Pod:
    return {"metadata": {"uid": uid, "name": uid, "resourceVersion": version}}


class Follower:
    """A reflector over the fake, and what it told."""

    def __init__(self, api: FakeApi) -> None:
        self.api = api
        self.told: list[tuple[str, bool]] = []
        self.reflector = Reflector(api, "/pods", lambda each, gone: self.tell(each, gone), random.Random(1))
        self.task = asyncio.create_task(self.reflector.run())

    def tell(self, each: Mapping[str, Any], gone: bool) -> None:
        self.told.append((each["metadata"]["uid"], gone))

    async def settle(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0)


@pytest.fixture
async def following(fake_api: FakeApi) -> AsyncIterator[Follower]:
    fake_api.objects["/pods"] = {"metadata": {"resourceVersion": "9"}, "items": [item("a"), item("b")]}
    made = Follower(fake_api)
    await made.settle()
    yield made
    made.task.cancel()
    await asyncio.gather(made.task, return_exceptions=True)


async def test_a_watch_goes_on_where_the_list_ended(following: Follower, fake_api: FakeApi) -> None:
    assert following.told == [("a", False), ("b", False)]
    fake_api.streams["/pods"].put_nowait({"type": "DELETED", "object": item("a", "10")})
    fake_api.streams["/pods"].put_nowait({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "44"}}})
    await following.settle()
    assert following.told[2:] == [("a", True)]
    assert list(following.reflector.objects) == ["b"]
    assert fake_api.asked[1][2]["resourceVersion"] == "9"


async def test_an_expired_watch_lists_again_and_reports_what_went_meanwhile(
    following: Follower, fake_api: FakeApi
) -> None:
    fake_api.objects["/pods"] = {"metadata": {"resourceVersion": "20"}, "items": [item("b", "15"), item("c", "16")]}
    status = {"code": 410, "message": "too old resource version"}
    fake_api.streams["/pods"].put_nowait({"type": "ERROR", "object": status})
    await following.settle()
    assert following.told[2:] == [("a", True), ("b", False), ("c", False)]
