"""Slow pod creation delays nothing elsewhere, and ends with its experiment: whole daemons in virtual time."""

import asyncio
from typing import Any

import pytest

from muster.api.errors import Unreachable
from muster.kube.connection import TIMEOUT, TIMEOUT_REASON
from muster.kube.transport import Answer
from muster.reconcilers.requests.batch import CREATE_TIMEOUT, LONG_CREATE_TIMEOUT
from tests.daemon.test_leader_daemon import Musterd, Way, until, virtually
from tests.daemon.virtual_daemon import LATENCY, edit, experiment
from tests.fakes.api import FakeApi
from tests.fakes.plans import experiment_path

PROMPT = 0.5
"""Virtual seconds: some twenty requests that follow each other."""


class SlowAdmission(Way):
    """A server that admits pods after ``delay`` seconds in every namespace whose name begins with ``slow``."""

    delay = 1e9
    under_way = 0

    async def request(self, method: str, path: str, *, timeout: float | None = None, **options: Any) -> Answer:
        limit = TIMEOUT if timeout is None else timeout
        if method == "POST" and "/namespaces/slow" in path and path.endswith("/pods"):
            self.under_way += 1
            try:
                await asyncio.sleep(min(self.delay, limit))
            finally:
                self.under_way -= 1
            if self.delay >= limit:
                raise Unreachable(f"no answer within {limit:g} s", reason=TIMEOUT_REASON)
        return await super().request(method, path, **options)


class Crowd:
    """A daemon beside slow namespaces."""

    def __init__(self, api: FakeApi) -> None:
        self.api = api
        self.musterd = Musterd(api, "one", SlowAdmission, leader_elect=False)
        way = self.musterd.way
        assert isinstance(way, SlowAdmission)
        self.way = way

    def submit(self, namespace: str, name: str, size: int, **spec: Any) -> str:
        path = experiment_path(namespace, name)
        self.api.put(path, {**experiment(size, **spec), "metadata": {"name": name, "namespace": namespace}})
        return path

    def pods(self, namespace: str, name: str = "") -> list[str]:
        return [path for path in self.api.objects if f"/namespaces/{namespace}/pods/{name}" in path]


def submit_slow(crowd: Crowd, namespaces: int, experiments: int, size: int) -> None:
    for where in range(namespaces):
        for number in range(experiments):
            crowd.submit(f"slow-{where}", f"run-{number}", size)


@pytest.mark.parametrize("delay", [2.5, 1e9])
@pytest.mark.parametrize(("namespaces", "experiments", "size"), [(1, 1, 1000), (1, 20, 10), (1, 200, 8), (8, 8, 64)])
@virtually
async def test_slow_creates_in_some_namespaces_do_not_delay_an_experiment_elsewhere(
    api: FakeApi, namespaces: int, experiments: int, size: int, delay: float
) -> None:
    crowd = Crowd(api)
    crowd.way.delay = delay
    submit_slow(crowd, namespaces, experiments, size)
    await asyncio.sleep(3)
    crowd.submit("team", "run", 8)
    assert await until(lambda: len(crowd.pods("team")) == 8) < PROMPT


@virtually
async def test_while_creates_hang_the_pods_of_a_cancelled_experiment_of_that_namespace_are_deleted_at_once(
    api: FakeApi,
) -> None:
    crowd = Crowd(api)
    crowd.way.delay = 0.0
    path = crowd.submit("slow-0", "first", 8)
    await until(lambda: len(crowd.pods("slow-0")) == 8)
    crowd.way.delay = 1e9
    submit_slow(crowd, 1, 20, 10)
    await asyncio.sleep(3)
    edit(api, path, cancel=True)
    assert await until(lambda: not crowd.pods("slow-0")) < PROMPT


@virtually
async def test_one_namespace_has_a_quarter_of_all_creates_under_way(api: FakeApi) -> None:
    crowd = Crowd(api)
    submit_slow(crowd, 1, 20, 10)
    await asyncio.sleep(3)
    assert crowd.way.under_way == 32


@virtually
async def test_slow_admission_is_waited_for_longer_after_a_create_without_an_answer(api: FakeApi) -> None:
    """A webhook that takes longer than the first time limit delays an experiment, and not forever."""
    crowd = Crowd(api)
    crowd.way.delay = 25.0
    crowd.submit("slow-0", "run", 4)
    took = await until(lambda: len(crowd.pods("slow-0")) == 4, seconds=120)
    assert CREATE_TIMEOUT + 25.0 <= took < CREATE_TIMEOUT + LONG_CREATE_TIMEOUT


@virtually
async def test_a_shutdown_cancels_creates_that_hang_and_leaves_no_task(api: FakeApi) -> None:
    crowd = Crowd(api)
    submit_slow(crowd, 2, 20, 10)
    await asyncio.sleep(3)
    began = asyncio.get_running_loop().time()
    assert await crowd.musterd.stop()
    assert asyncio.get_running_loop().time() - began <= 2 * LATENCY
    assert [task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []


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
