"""The setting ``retention``: the objects that a whole daemon deletes by itself, in virtual time."""

import asyncio
from typing import Any

import pytest
from pydantic import ValidationError
from structlog.testing import capture_logs

from muster.daemon.settings import Settings
from tests.daemon.test_leader_daemon import Musterd, until, virtually
from tests.daemon.virtual_daemon import experiment
from tests.fakes.api import FakeApi
from tests.fakes.plans import experiment_path


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
async def test_finished_experiments_are_deleted_as_their_namespace_or_their_spec_says(api: FakeApi) -> None:
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
