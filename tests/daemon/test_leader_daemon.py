"""Whole daemons that take part in an election, on one API server in memory and in virtual time."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, ClassVar, TypeVar

import pytest

from muster.api.errors import Unreachable
from muster.daemon.settings import Settings
from muster.kube.transport import Answer
from muster.state.vocabulary.actions import ProbeTarget
from muster.state.vocabulary.record import Phase
from muster.watchers import experiments
from tests.daemon.virtual_daemon import (
    RUN,
    Cluster,
    as_test,
    edit,
    experiment,
    in_virtual_time,
    scraped,
    seen_by,
    started,
)
from tests.fakes.api import FakeApi
from tests.fakes.history import Change
from tests.fakes.watching import Delivery

A = TypeVar("A", bound=FakeApi)
LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/musterd"
AWAY = 1e9


class Way(Cluster):
    """One daemon's connection to the server. ``cut`` lets no request through; ``held`` names a kind without news."""

    def __init__(self, api: FakeApi) -> None:
        super().__init__(asyncio.get_running_loop(), api)
        self.cut = False
        self.held = ""
        self.asked: list[str] = []

    async def request(self, method: str, path: str, *, timeout: float | None = None, **options: Any) -> Answer:
        self.asked.append(f"{method} {path}")
        if self.cut:
            await asyncio.sleep(30 if timeout is None else timeout)
            raise Unreachable("no answer")
        return await super().request(method, path, **options)

    def carry(self, collection: str, change: Change) -> Delivery:
        return Delivery(AWAY if change.resource == self.held else 0.0)

    @property
    def written(self) -> list[str]:
        """Return its writes, except those of the Lease."""
        return [what for what in self.asked if not what.startswith("GET") and "leases" not in what]


class Musterd:
    """A daemon with its connection. ``kill`` ends it as SIGKILL would: none of its later requests arrives."""

    alive: ClassVar[list["Musterd"]] = []
    """Those that the story has started."""

    def __init__(self, api: FakeApi, name: str, way: type[Way] = Way, **settings: Any) -> None:
        self.way = way(api)
        self.frozen = 0.0
        """Seconds for which its machine was stopped, which its loop does not know."""
        now = asyncio.get_running_loop().time
        self.daemon, self.running = started(
            self.way,
            Settings(**{"leader_elect": True, **settings}),
            name,
            monotonic=lambda: now() + self.frozen,
            random=Random(name),
        )
        self.alive.append(self)

    @property
    def leads(self) -> bool:
        return self.daemon.leading

    async def kill(self) -> None:
        self.way.cut = True
        self.running.cancel()
        await asyncio.gather(self.running, return_exceptions=True)

    async def stop(self) -> bool:
        self.daemon.stop()
        return await self.running


def with_lease(make: Callable[..., A]) -> Callable[[Callable[[A], Coroutine[Any, Any, None]]], None]:
    """Return the player of a story on such an API server, which has the Lease of the election."""

    async def run(story: Callable[[A], Coroutine[Any, Any, None]]) -> None:
        Musterd.alive.clear()
        api = make(asyncio.get_running_loop().time, nodes=True)
        api.put(LEASE, {"kind": "Lease", "metadata": {"namespace": "default"}})
        await story(api)
        for one in reversed(Musterd.alive):
            if one.way.cut:
                await one.kill()
            elif not one.running.done():
                assert await one.stop(), "the daemon did not end cleanly"

    return lambda story: in_virtual_time(run(story))


virtually = partial(as_test, play=with_lease(FakeApi))
"""Makes a test of a story in virtual time. The daemons that it leaves are ended."""


async def until(holds: Callable[[], bool], seconds: float = 60.0) -> float:
    """Wait, and return the seconds that it took."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    while not holds():
        assert loop.time() - began < seconds, "it did not happen"
        await asyncio.sleep(0.01)
    return loop.time() - began


async def pair(api: FakeApi, **settings: Any) -> tuple[Musterd, Musterd]:
    """Start a leader and a standby."""
    one = Musterd(api, "one", **settings)
    await until(lambda: one.leads)
    two = Musterd(api, "two", **settings)
    await until(lambda: two.daemon.elector is not None and two.daemon.elector.holder != "")
    return one, two


@virtually
async def test_a_standby_sees_everything_and_does_nothing(api: FakeApi) -> None:
    one, two = await pair(api)
    api.put(RUN, experiment())
    await until(lambda: len(api.named("pods")) == 4)
    await asyncio.sleep(30)
    assert two.way.written == []
    assert seen_by(two.daemon).record
    assert two.daemon.index.pods == 4
    assert len(two.daemon.queue) == 0
    assert two.daemon.health.unready() == {}
    holder = api.objects[LEASE]["spec"]["holderIdentity"]
    assert two.daemon.health.role().startswith(f"standing by; {holder} leads; ")
    assert one.daemon.health.role().startswith("leading as one_")
    assert "muster_experiment_epoch{" in scraped(one.daemon)
    assert "muster_experiment_epoch{" not in scraped(two.daemon)
    assert "muster_leader{" in scraped(two.daemon)
    assert await two.stop()
    assert await one.stop()
    assert api.objects[LEASE]["spec"]["holderIdentity"] == ""


@pytest.mark.parametrize(("address", "host"), [("10.0.0.7", "10.0.0.7"), ("fd00::7", "[fd00::7]")])
@virtually
async def test_a_standby_knows_the_addresses_of_a_leader_that_renews_the_lease(
    api: FakeApi, address: str, host: str
) -> None:
    one, two = await pair(api, pod_address=address)
    await until(lambda: bool(two.daemon.leader_page))
    assert (two.daemon.leader_page, two.daemon.leader_address) == (f"{host}:8080", "")
    assert (one.daemon.leader_page, one.daemon.leader_address) == ("", "")
    two.way.cut = True  # the leader may be another one since, and its address that of another pod
    await asyncio.sleep(20)
    assert (two.daemon.leader_page, two.leads) == ("", False)
    two.way.cut = False
    await until(lambda: bool(two.daemon.leader_page))
    await one.stop()
    await until(lambda: two.leads)
    assert two.daemon.leader_page == ""


@virtually
async def test_a_leader_names_the_addresses_that_it_has(api: FakeApi) -> None:
    files = {name: Path("x") for name in ("progress_tls_cert", "progress_tls_key", "progress_ca")}
    endpoint = {"progress_port": 8443, "progress_url": "https://musterd.svc:8443", **files}
    for settings, page, posts in (
        ({"pod_address": "10.0.0.7", "http_port": 0, **endpoint}, "", "10.0.0.7:8443"),
        ({"pod_address": "10.0.0.7", **endpoint}, "10.0.0.7:8080", "10.0.0.7:8443"),
        (endpoint, "", ""),
    ):
        one, two = await pair(api, **settings)
        await asyncio.sleep(5)
        assert (two.daemon.leader_page, two.daemon.leader_address) == (page, posts)
        await two.stop()
        await one.stop()


@virtually
async def test_a_batch_ends_in_its_middle_when_leadership_does(api: FakeApi) -> None:
    one, two = await pair(api, write_concurrency=4)
    api.put(RUN, experiment(64))
    await until(lambda: len(api.named("pods")) >= 8)
    api.gate.clear()  # the server hangs
    hung = asyncio.get_running_loop().time()
    await until(lambda: not one.leads)
    assert asyncio.get_running_loop().time() - hung < 10
    names = sorted(task.get_name() for task in asyncio.all_tasks())
    assert not [name for name in names if name.startswith(("step", "recorder", "events", "create", "leading"))], names
    made, asked = len(api.named("pods")), len(one.way.written)
    one.way.cut = True
    api.gate.set()  # the waiting requests go through
    await until(lambda: two.leads)
    assert len(one.way.written) == asked
    assert len(api.named("pods")) >= made
    await until(lambda: len(api.named("pods")) == 64)
    assert len(one.way.written) == asked
    await asyncio.sleep(20)
    assert [line for line in two.way.written if line.startswith("DELETE")] == []


@virtually
async def test_a_daemon_that_stood_still_sends_nothing_more_of_its_batch(api: FakeApi) -> None:
    one, two = await pair(api, write_concurrency=4)
    api.put(RUN, experiment(64))
    await until(lambda: len(api.named("pods")) >= 8)
    asked = len(one.way.written)
    assert asked < 32
    one.frozen = 60.0
    await until(lambda: one.daemon.elector is not None and one.daemon.elector.transitions["expired"] == 1)
    assert len(one.way.written) == asked
    await until(lambda: len(api.named("pods")) == 64)
    await two.stop()
    await one.stop()
    assert len([what for what in one.way.written + two.way.written if what.endswith("/pods")]) <= 64 + 4


@virtually
async def test_probes_end_with_the_leadership(api: FakeApi) -> None:
    one, _ = await pair(api)
    one.daemon.probers.aim("uid", ProbeTarget(0, "pod", "10.0.0.1:1234", "jax", 4))
    await asyncio.sleep(1)
    one.way.cut = True
    await until(lambda: not one.leads)
    await asyncio.sleep(0.1)
    assert len(one.daemon.probers) == 0
    assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("probe")]


@virtually
async def test_a_new_leader_does_not_act_on_a_record_the_old_one_has_replaced(api: FakeApi) -> None:
    """The standby still has the experiment as suspended, and sees its pods run."""
    one, two = await pair(api)
    api.put(RUN, experiment(suspend=True))
    await until(lambda: api.objects[RUN].get("status", {}).get("phase") == "Suspended")
    await asyncio.sleep(5)
    two.way.held = "experiments"
    edit(api, RUN, suspend=False)
    await until(lambda: len(api.named("pods")) == 4)
    await asyncio.sleep(5)
    await one.kill()
    assert seen_by(two.daemon).record.phase is Phase.SUSPENDED
    assert await until(lambda: two.leads) <= 20
    await asyncio.sleep(5)
    assert [line for line in two.way.written if line.startswith("DELETE")] == []
    assert seen_by(two.daemon).record.phase is Phase.PENDING


@virtually
async def test_nothing_is_decided_before_the_latest_records_are_in(api: FakeApi) -> None:
    api.put(RUN, experiment())
    api.fail(f"GET {experiments.PATH}", Unreachable("no answer"), times=3)
    one = Musterd(api, "one")
    await until(lambda: one.leads)
    await asyncio.sleep(5)
    assert one.way.written == []
    await until(lambda: len(api.named("pods")) == 4, seconds=5)


@virtually
async def test_a_part_of_the_leaders_work_that_fails_ends_the_daemon_and_another_leads(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = await pair(api)

    def broken() -> None:
        raise ArithmeticError("a bug")

    monkeypatch.setattr(one.daemon.recorder, "_forget_one", broken)
    api.put(RUN, experiment())
    assert await one.running is False
    monkeypatch.undo()
    await until(lambda: len(api.named("pods")) == 4)
    assert two.leads


@virtually
async def test_a_leader_that_comes_back_confirms_again_what_it_knew(api: FakeApi) -> None:
    one, two = await pair(api)
    api.put(RUN, experiment())
    await until(lambda: len(api.named("pods")) == 4)
    entry = next(iter(one.daemon.index))
    assert entry.view.engine.confirmed == 0
    await asyncio.sleep(5)  # the status has it, too
    one.way.cut = True
    await until(lambda: two.leads)
    one.way.cut = False
    await two.stop()
    one.way.asked.clear()
    await until(lambda: one.leads)
    await asyncio.sleep(5)
    assert entry.view.engine.confirmed == -1
    assert one.way.written == []


@virtually
async def test_the_stories_are_told_before_the_lease_is_let_go(api: FakeApi) -> None:
    one, two = await pair(api)
    api.put(RUN, experiment())
    await until(lambda: len(api.named("pods")) == 4)
    assert await one.stop()
    writes = [what for what in one.way.asked if not what.startswith("GET")]
    assert writes[-1] == f"PUT {LEASE}"
    assert await until(lambda: two.leads) <= 2.1


@virtually
async def test_without_an_election_nobody_asks_for_a_lease(api: FakeApi) -> None:
    one = Musterd(api, "one", leader_elect=False)
    api.put(RUN, experiment())
    await until(lambda: len(api.named("pods")) == 4)
    assert one.leads
    assert one.daemon.health.role() == ""
    assert "muster_leader" not in scraped(one.daemon)
    assert not [what for what in one.way.asked if "leases" in what]


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
