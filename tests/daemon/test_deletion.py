"""Experiments that are deleted, by people or by retention: whole daemons in virtual time, no garbage collector."""

import asyncio
from typing import Any

import pytest
from pydantic import ValidationError
from structlog.testing import capture_logs

from muster.api.errors import ApiError, Conflict, Forbidden, Unreachable
from muster.daemon.settings import Settings
from tests.daemon.test_leader_daemon import Musterd, pair, until, virtually
from tests.daemon.virtual_daemon import RUN, edit, experiment
from tests.fakes.api import FakeApi
from tests.fakes.plans import experiment_path

SIZE = 200
PROMPT = 1.0
"""Virtual seconds for 200 deletions, 26 at a time, 20 ms each, and what goes before them."""


async def started(api: FakeApi, size: int = SIZE) -> Musterd:
    musterd = Musterd(api, "one", leader_elect=False)
    api.put(RUN, experiment(size))
    await until(lambda: len(api.named("pods")) == size)
    await asyncio.sleep(5)
    musterd.way.asked.clear()
    return musterd


def leaves(api: FakeApi, *finalizers: str) -> None:
    """Answer a DELETE of an object with finalizers as the API server does."""
    obj = api.objects[RUN]
    metadata = {**obj["metadata"], "deletionTimestamp": api.now(), "finalizers": list(finalizers)}
    metadata["generation"] += 1
    api.put(RUN, {**obj, "metadata": metadata})


@virtually
async def test_the_pods_of_a_deleted_experiment_are_deleted_at_once(api: FakeApi) -> None:
    musterd = await started(api)
    api.remove(RUN)
    assert await until(lambda: not api.named("pods")) < PROMPT
    await asyncio.sleep(60)
    assert len(musterd.way.written) == SIZE


@pytest.mark.parametrize("finalizer", ["foregroundDeletion", "backup.example.org/archive"])
@virtually
async def test_the_pods_of_an_experiment_that_is_held_by_a_finalizer_are_deleted_at_once(
    api: FakeApi, finalizer: str
) -> None:
    musterd = await started(api)
    leaves(api, finalizer)
    assert await until(lambda: not api.named("pods")) < PROMPT
    await asyncio.sleep(60)
    assert len(musterd.way.written) == SIZE, "nothing is created again, and no status is written"


@virtually
async def test_pods_that_are_to_outlive_their_experiment_stay(api: FakeApi) -> None:
    musterd = await started(api)
    leaves(api, "orphan")
    await asyncio.sleep(5)
    assert len(api.named("pods")) == SIZE
    for path in [path for path in api.objects if "/pods/" in path]:
        pod = api.objects[path]
        api.put(path, {**pod, "metadata": {**pod["metadata"], "ownerReferences": []}})
    api.remove(RUN)
    await asyncio.sleep(60)
    assert len(api.named("pods")) == SIZE
    assert musterd.way.written == []


@pytest.mark.parametrize(
    ("error", "times", "left"), [(Unreachable("reset"), 3, 0), (Forbidden("no", status=403), 1_000_000, SIZE)]
)
@virtually
async def test_a_deletion_that_fails_is_repeated_where_that_may_help(
    api: FakeApi, error: ApiError, times: int, left: int
) -> None:
    musterd = await started(api)
    api.fail("DELETE", error, times=times)
    api.remove(RUN)
    await asyncio.sleep(10)
    asked = _but_discovery(musterd.way.asked)
    assert len(api.named("pods")) == left
    await asyncio.sleep(600)
    assert _but_discovery(musterd.way.asked) == asked, "what is left is the garbage collector's"


@pytest.mark.parametrize("spec", [{"cancel": True}, {"suspend": True}])
@virtually
async def test_a_pod_whose_deletion_conflicts_is_deleted_within_a_second(api: FakeApi, spec: dict[str, bool]) -> None:
    """No event of another pod comes that would requeue the experiment."""
    await started(api, 1)
    api.fail("DELETE", Conflict("the object has been modified", status=409), times=3)
    edit(api, RUN, **spec)
    assert await until(lambda: not api.named("pods")) < PROMPT + 1


@virtually
async def test_a_standby_deletes_nothing(api: FakeApi) -> None:
    _, two = await pair(api)
    api.put(RUN, experiment(4))
    await until(lambda: len(api.named("pods")) == 4)
    await asyncio.sleep(5)
    api.remove(RUN)
    assert await until(lambda: not api.named("pods")) < PROMPT
    assert two.way.written == []


def _but_discovery(asked: list[str]) -> list[str]:
    """Return the requests without those that ask, once a minute, whether the CRD of another kind is served."""
    return [each for each in asked if "jobset.x-k8s.io" not in each]


def over(api: FakeApi, namespace: str, **spec: Any) -> str:
    """Cancel an experiment before it begins, so that it ends at once. Return its path."""
    path = experiment_path(namespace, "run")
    found = experiment(1, cancel=True, **spec)
    api.put(path, {**found, "metadata": {**found["metadata"], "namespace": namespace}})
    return path


def status(api: FakeApi, path: str) -> dict[str, Any]:
    found: dict[str, Any] = api.objects[path].get("status") or {}
    return found


@virtually
async def test_finished_experiments_are_deleted_as_their_namespace_or_their_spec_asks(api: FakeApi) -> None:
    Musterd(api, "one", leader_elect=False, retention="10m,ci=2m,archive=keep")
    paths = {name: over(api, name) for name in ("team", "ci", "archive")}
    paths["own"] = over(api, "own", ttlAfterFinished="15m")
    await until(lambda: all(status(api, path).get("phase") == "Failed" for path in paths.values()))
    assert [status(api, path).get("retentionSeconds") for path in paths.values()] == [600, 120, None, None]
    assert "deleteTime" in status(api, paths["own"])
    assert "deleteTime" not in status(api, paths["archive"])
    with capture_logs() as logged:
        for seconds, left in ((110, 4), (20, 3), (460, 3), (20, 2), (280, 2), (20, 1), (300, 1)):
            await asyncio.sleep(seconds)
            assert len([path for path in paths.values() if path in api.objects]) == left
    assert paths["archive"] in api.objects
    deleted = [each for each in logged if each["event"].startswith("deleted")]
    rules = [(each["namespace"], each["experiment"], each["rule"]) for each in deleted]
    assert rules == [(name, "run", "setting retention") for name in ("ci", "team")] + [("own", "run", "its own ttl")]


def test_a_retention_that_cannot_be_read_ends_the_daemon_at_its_start() -> None:
    with pytest.raises(ValidationError, match=r"retention: '7 days': .*; or write keep"):
        Settings(retention="7 days")
