"""Whole daemons on an API server in memory, in virtual time, with a cluster that the test plays itself.

A test is one story: a decorator of its world plays it.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial, wraps
from inspect import signature
from random import Random
from typing import Any, TypeVar

from muster.api.errors import ApiError
from muster.api.names import API_VERSION, KIND, LABEL_EPOCH, LABEL_RANK
from muster.daemon.app import Daemon
from muster.daemon.settings import Settings
from muster.kube.transport import Answer
from muster.metrics.collector import Subject
from muster.metrics.exposition import look, write
from muster.metrics.instruments import Traced
from muster.state.view.roll import CoordinatorState, RankState, RollAnswer
from tests.fakes import objects
from tests.fakes.api import FakeApi
from tests.fakes.history import Change, Object
from tests.fakes.plans import experiment_path
from tests.fakes.watching import Delivery, Prompt
from tests.simulation.world.virtual_loop import VirtualLoop

Story = Callable[..., Coroutine[Any, Any, None]]
RUN = experiment_path("team", "run")
LATENCY = 0.01

Roll = Callable[[float], RollAnswer]
"""The coordinator's answer at that second."""


def in_virtual_time(story: Coroutine[Any, Any, None]) -> None:
    """Run the story to its end."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(story)


def as_test(story: Story, play: Callable[[Story], None], *, given: int = 1) -> Callable[..., None]:
    """Return the test that lets ``play`` run the story, with its first ``given`` arguments; pytest gives the others."""

    @wraps(story)
    def test(**arguments: Any) -> None:
        play(partial(story, **arguments))

    seen = signature(story)
    test.__signature__ = seen.replace(parameters=list(seen.parameters.values())[given:])  # type: ignore[attr-defined]
    return test


class Cluster(Prompt):
    """The connection to the API server, which takes ``LATENCY`` seconds, and the coordinators of all gangs."""

    def __init__(self, loop: asyncio.AbstractEventLoop, api: FakeApi | None = None) -> None:
        self.loop = loop
        self.api = api or FakeApi(loop.time, nodes=True)
        self.roll: Roll = lambda now: RollAnswer(at=now, coordinator=CoordinatorState.REFUSED)
        self.set_by = 0.0
        """Seconds by which the wall clock was set; the loop's seconds continue."""
        self.pods_late_until = 0.0
        """The second of the loop before which the watch of pods shows no change."""
        self.refused: dict[str, ApiError] = {}
        """The answer to watches of these kinds, by plural."""
        self.times: list[tuple[float, str]] = []
        """The times at which each write was asked for."""

    async def request(self, method: str, path: str, **options: Any) -> Answer:
        if method != "GET":
            self.times.append((self.loop.time(), f"{method} {path.rsplit('/', 1)[1]}"))
        await asyncio.sleep(LATENCY)
        return await self.api.request(method, path, params=options.get("params"), body=options.get("body"))

    def lines(
        self, path: str, *, params: Mapping[str, str], silence: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        if (error := self.refused.get(path.rsplit("/", 1)[1])) is not None:
            raise error
        return self.api.lines(path, params=params, silence=silence, courier=self)

    def carry(self, collection: str, change: Change) -> Delivery:
        return Delivery(self.pods_late_until if collection.endswith("/pods") else 0.0)

    def wall(self) -> float:
        """Return the daemon's wall clock."""
        return self.loop.time() + self.set_by

    @property
    def status(self) -> dict[str, Any]:
        """Return the experiment's status."""
        return self.api.objects[RUN].get("status") or {}

    def condition(self, kind: str) -> dict[str, Any]:
        found: dict[str, Any] = next(each for each in self.status["conditions"] if each["type"] == kind)
        return found

    def events(self, reason: str = "") -> list[dict[str, Any]]:
        """Return the Events with that reason."""
        found = [obj for path, obj in self.api.objects.items() if path.split("/")[-2] == "events"]
        return [event for event in found if reason in ("", event["reason"])]

    def writes(self, what: str, since: float = 0.0) -> int:
        """Return how often that was asked for since a second of the loop."""
        return sum(at >= since and which == what for at, which in self.times)

    def pods(self) -> dict[str, Object]:
        """Return all pods by their paths."""
        return {path: obj for path, obj in self.api.objects.items() if path.split("/")[-2] == "pods"}

    def collect(self) -> None:
        """Remove all pods: the kubelets have ended them."""
        for path in self.pods():
            self.api.remove(path)

    def play(self, rank: int, **status: Any) -> None:
        """Set fields of the status of a rank's latest pod, which has a node from now on."""
        of_rank = [
            (path, obj) for path, obj in self.pods().items() if obj["metadata"]["labels"].get(LABEL_RANK) == str(rank)
        ]
        path, found = max(of_rank, key=lambda one: int(one[1]["metadata"]["labels"][LABEL_EPOCH]))
        spec = {**found["spec"], "nodeName": f"node-{rank}"}
        self.api.put(path, {**found, "spec": spec, "status": {**found.get("status", {}), **status}})

    def start(self, *ranks: int, ready: bool = True) -> None:
        """Let the programs of these ranks run."""
        for rank in ranks:
            self.play(rank, **objects.running(ready=ready, ip=f"10.0.0.{rank + 1}"))

    def end(self, *ranks: int, code: int = 0) -> None:
        """Let the programs of these ranks end, without an error if their exit code is 0."""
        for rank in ranks:
            self.play(rank, **objects.ended(code, self.api.now()))

    async def starts(self, size: int) -> None:
        """Give the daemon time to make pods, and let their programs run."""
        await asyncio.sleep(2)
        self.start(*range(size))
        await asyncio.sleep(2)

    async def gang(self, size: int = 2, **spec: Any) -> None:
        """Create an experiment, and let its programs run."""
        self.api.put(RUN, experiment(size, **spec))
        await self.starts(size)
        assert self.status["phase"] == "Running"

    def arrived(self, *ranks: int, size: int) -> Roll:
        """Return a coordinator that serves, and at which these ranks have arrived."""
        whole = len(ranks) == size
        states = tuple(
            (RankState.CONNECTED if whole else RankState.ARRIVED) if rank in ranks else RankState.MISSING
            for rank in range(size)
        )
        return lambda now: RollAnswer(at=now, coordinator=CoordinatorState.SERVING, states=states)


class Prober:
    """A prober of the cluster's coordinator."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def snapshot(self) -> RollAnswer:
        return self._cluster.roll(self._cluster.wall())

    async def changes(self) -> AsyncGenerator[RollAnswer, None]:
        await asyncio.Event().wait()
        yield RollAnswer(at=0.0, coordinator=CoordinatorState.REFUSED)

    async def close(self) -> None:
        """Close nothing: no connection is open."""


class Daemons:
    """The API server, and the daemons that a story starts and stops."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.cluster = Cluster(loop)
        self.api = self.cluster.api
        self.loop = loop
        self.daemons: list[tuple[Daemon, asyncio.Task[bool]]] = []

    async def start(self, settings: Settings, instance: str = "one", *, after: float = 3.0, **more: Any) -> Daemon:
        """Start another musterd, and give it time for its first lists."""
        daemon, running = started(self.cluster, settings, instance, **more)
        self.daemons.append((daemon, running))
        await asyncio.sleep(after)
        return daemon

    async def stop(self, number: int = -1) -> None:
        """End a daemon, the last one by default."""
        daemon, running = self.daemons.pop(number)
        daemon.stop()
        assert await running, "the daemon did not end cleanly"

    def written(self) -> list[str]:
        """Return the writes that were asked for, except Events."""
        writes = [request for request in self.api.requests if request.method != "GET"]
        return [str(request) for request in writes if not request.path.endswith("/events")]


W = TypeVar("W", bound=Daemons)


def started(
    cluster: Cluster, settings: Settings | None = None, instance: str = "one", **more: Any
) -> tuple[Daemon, asyncio.Task[bool]]:
    """Start a daemon of that cluster, and return it with its task. ``more`` are arguments of the daemon."""
    usual: dict[str, Any] = {
        "clock": cluster.wall,
        "monotonic": cluster.loop.time,
        "random": Random(1),
        "make_prober": lambda _target: Prober(cluster),
    }
    daemon = Daemon(cluster, settings or Settings(), instance=instance, version="0", **usual | more)
    return daemon, asyncio.create_task(daemon.run(), name=f"daemon {instance}")


def played(make: Callable[[asyncio.AbstractEventLoop], W], story: Callable[[W], Coroutine[None, None, None]]) -> None:
    """Run a story in virtual time, and end the daemons that it leaves."""

    async def run() -> None:
        world = make(asyncio.get_running_loop())
        await story(world)
        while world.daemons:
            await world.stop()

    in_virtual_time(run())


of_daemons = partial(as_test, play=partial(played, Daemons))
"""Makes a test of a story that starts its daemons, in virtual time."""


def edit(api: FakeApi, path: str, **spec: Any) -> None:
    """Change these fields of the spec of an object."""
    found = api.objects[path]
    api.put(path, {**found, "spec": {**found["spec"], **spec}})


def seen_by(daemon: Daemon, title: str = "run", namespace: str = "team") -> Subject:
    """Return what that daemon has of a run."""
    subject = daemon.find(namespace, title)
    assert subject is not None, f"{title} is not known"
    return subject


def experiment(size: int = 4, **spec: Any) -> dict[str, Any]:
    """Return an experiment with that number of members."""
    worker = {"count": size, "resources": {"cpus": 1, "ramRatio": 2}}
    usual = {"operator": "jobset", "image": "x", "command": "train", "types": {"worker": worker}}
    metadata = {"name": "run", "namespace": "team"}
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": {**usual, **spec}}


def beside_a_daemon(
    story: Callable[[Cluster, Daemon], Coroutine[Any, Any, None]], traced: Traced = lambda _plan, _old, _new: None
) -> None:
    """Run a story beside a daemon, in virtual time; ``traced`` gets its transitions."""

    async def beside(world: Daemons) -> None:
        daemon = await world.start(Settings(), after=1.0, traced=traced)
        await story(world.cluster, daemon)

    played(Daemons, beside)


virtually = partial(as_test, play=beside_a_daemon, given=2)
"""Makes a test of a story beside a daemon, in virtual time."""


def scraped(daemon: Daemon) -> str:
    """Return all metrics."""
    return write(look(daemon.instruments.registry), "")[0].decode()
