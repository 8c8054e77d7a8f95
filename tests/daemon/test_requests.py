"""The number of requests that the start of an experiment takes: whole daemons in virtual time."""

import asyncio
from collections import Counter

from tests.daemon.test_leader_daemon import Musterd, until, virtually
from tests.daemon.virtual_daemon import RUN, experiment
from tests.fakes.api import FakeApi

SIZE = 4


def reads(musterd: Musterd) -> Counter[str]:
    """Return the requests that read, by the last word of their path."""
    return Counter(what.rsplit("/", 1)[1] for what in musterd.way.asked if what.startswith("GET"))


@virtually
async def test_an_experiment_is_launched_after_one_list_of_its_pods_and_no_other_read(api: FakeApi) -> None:
    musterd = Musterd(api, "one", leader_elect=False)
    await asyncio.sleep(1)
    musterd.way.asked.clear()
    api.put(RUN, experiment(SIZE))
    await until(lambda: len(api.named("pods")) == SIZE)
    assert reads(musterd) == {"pods": 1}


@virtually
async def test_a_daemon_that_finds_the_status_written_asks_for_the_experiment_too(api: FakeApi) -> None:
    """Another run of the daemon wrote it, and later changes are not known."""
    first = Musterd(api, "one", leader_elect=False)
    await asyncio.sleep(1)
    api.put(RUN, experiment(SIZE))
    await until(lambda: "status" in api.objects[RUN])
    await first.kill()
    second = Musterd(api, "two", leader_elect=False)
    await until(lambda: len(api.named("pods")) == SIZE)
    assert reads(second)["run"] == 1
