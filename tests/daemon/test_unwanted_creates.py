"""Creates in progress when an experiment is cancelled, suspended or deleted: no more are begun, and created pods go."""

import asyncio

import pytest

from tests.daemon.test_fairness import PROMPT, Crowd, submit_slow
from tests.daemon.test_leader_daemon import until, virtually
from tests.daemon.virtual_daemon import edit
from tests.fakes.api import FakeApi

DELAY = 2.5
"""Seconds that an admission webhook takes for each pod; a batch of 1,000 takes a minute and more."""


def change(api: FakeApi, path: str, what: str) -> None:
    found = api.objects[path]
    if what == "removed":
        api.remove(path)
    elif what == "deleting":
        metadata = {**found["metadata"], "deletionTimestamp": api.now(), "finalizers": ["foregroundDeletion"]}
        api.put(path, {**found, "metadata": metadata | {"generation": found["metadata"]["generation"] + 1}})
    else:
        edit(api, path, **{what: True})


def creates(crowd: Crowd) -> int:
    return sum(asked.startswith("POST") and asked.endswith("/pods") for asked in crowd.way.asked)


@pytest.mark.parametrize("what", ["cancel", "suspend", "deleting", "removed"])
@virtually
async def test_no_pod_is_created_after_the_experiment_is_not_wanted_any_more(api: FakeApi, what: str) -> None:
    crowd = Crowd(api)
    crowd.way.delay = DELAY
    path = crowd.submit("slow-0", "run", 1000)
    await until(lambda: len(crowd.pods("slow-0")) > 10)
    change(api, path, what)
    await asyncio.sleep(DELAY + PROMPT)
    begun = creates(crowd)
    assert begun < 200
    assert crowd.pods("slow-0") == []
    await asyncio.sleep(120)
    assert creates(crowd) == begun
    if what in ("cancel", "suspend"):
        phase = "Failed" if what == "cancel" else "Suspended"
        assert api.objects[path]["status"]["phase"] == phase


@virtually
async def test_an_experiment_that_is_resumed_gets_the_pods_that_were_left_out(api: FakeApi) -> None:
    crowd = Crowd(api)
    crowd.way.delay = DELAY
    path = crowd.submit("slow-0", "run", 200)
    await until(lambda: len(crowd.pods("slow-0")) > 10)
    change(api, path, "suspend")
    await asyncio.sleep(DELAY + PROMPT)
    crowd.way.delay = 0.0
    edit(api, path, suspend=False)
    await until(lambda: len(crowd.pods("slow-0")) == 200)


@virtually
async def test_an_experiment_whose_creates_wait_for_others_is_cancelled_at_once(api: FakeApi) -> None:
    crowd = Crowd(api)
    submit_slow(crowd, 1, 40, 10)
    await asyncio.sleep(3)
    path = crowd.submit("slow-0", "late", 8)
    await asyncio.sleep(1)
    assert api.objects[path]["status"]["phase"] == "Pending"
    change(api, path, "cancel")
    assert await until(lambda: api.objects[path]["status"]["phase"] == "Failed") < PROMPT
