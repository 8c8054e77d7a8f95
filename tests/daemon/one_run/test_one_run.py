"""One run in the process of a command: its result is that of a musterd that has watched it, and it only reads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from muster.api.errors import ApiError, Forbidden
from muster.client.subjects import parse
from muster.client.watched import selectors
from muster.client.watching import ObjectSource
from muster.daemon.one_run.watch import OneRun
from muster.kinds.declaration import Object
from muster.kinds.registry import WATCHED_KINDS
from muster.kube.resources import ResourceClient
from muster.kube.transport import Answer
from muster.rollcall.document import Detail
from muster.rollcall.make import detail
from muster.state.facts.context import Context
from muster.state.view.roll import CoordinatorState, RollAnswer
from muster.state.vocabulary.actions import ProbeTarget
from tests.cli.test_watched_kinds import name_of
from tests.daemon.virtual_daemon import Cluster, Prober
from tests.daemon.watched.test_jobs import job, over, pod
from tests.daemon.watched.world import World, virtually
from tests.daemon.web.test_watched_pages import stood


class Reader:
    """The connection of a reader who lacks some rights: ``list pods``, ``watch pods``, ``get jobsets``."""

    def __init__(self, cluster: Cluster, *lacks: str) -> None:
        self._cluster, self._lacks = cluster, lacks
        self.asked: list[tuple[str, Mapping[str, str]]] = []

    def _check(self, verb: str, path: str, params: Mapping[str, str] | None) -> None:
        words = path.split("/")
        named = words[-2] in {kind.subject.plural for kind in WATCHED_KINDS.values()} and words[-1] != words[-2]
        right = f"get {words[-2]}" if verb == "list" and named else f"{verb} {words[-1]}"
        self.asked.append((right, params or {}))
        if right in self._lacks:
            raise Forbidden(f"{right}: not allowed", status=403, reason="Forbidden", request=path)

    async def request(self, method: str, path: str, *, params: Mapping[str, str] | None = None, **more: Any) -> Answer:
        assert method == "GET", "nothing is written"
        self._check("list", path, params)
        return await self._cluster.request(method, path, params=params, **more)

    def lines(
        self, path: str, *, params: Mapping[str, str], silence: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        self._check("watch", path, params)
        return self._cluster.lines(path, params=params, silence=silence)

    def socket(self, path: str, *, params: Sequence[tuple[str, str]], protocols: Sequence[str]) -> Any:
        raise AssertionError("the prober of the test opens no port")


def one_run(world: World, name: str, reader: Reader, **more: Any) -> OneRun:
    """Return the run called ``name``, as that reader sees it."""
    subject, own = parse(name)
    kind = next(each for each in WATCHED_KINDS.values() if each.subject == subject)
    source = None if kind.virtual else ObjectSource(ResourceClient(reader), kind, "team", name)

    def chosen(obj: Object) -> Sequence[str]:
        return [f"muster.dev/observe={own}"] if kind.virtual else selectors(kind, dict(obj))

    usual: dict[str, Any] = {"clock": world.cluster.wall, "make": lambda _target: Prober(world.cluster)}
    return OneRun(reader, kind, "team", source, chosen, **usual | more)


async def diagnosed(one: OneRun) -> Detail:
    await one.run(lambda: one.complete)
    found = one.document()
    assert found is not None
    return found


def musterd_says(world: World, name: str) -> Detail:
    subject = world.found(name)
    return detail(Context.at(subject.plan, subject.record, subject.view, world.cluster.wall()))


@pytest.mark.parametrize("name", WATCHED_KINDS)
@virtually
async def test_cause_ranks_and_sentence_are_those_of_a_musterd_that_has_been_there(world: World, name: str) -> None:
    world.cluster.roll = world.cluster.arrived(0, size=3)
    await stood(world, name)
    theirs = musterd_says(world, name_of(name))
    began = world.loop.time()
    ours = await diagnosed(one_run(world, name_of(name), Reader(world.cluster)))
    assert world.loop.time() - began < 10
    assert ours.findings == theirs.findings
    assert ours.findings, "rank 1 waits for its image, and rank 2 has no pod"
    for field in ("phase", "size", "ready", "epoch", "arrived", "missing_ranks"):
        assert getattr(ours, field) == getattr(theirs, field), field


@virtually
async def test_only_the_pods_of_the_run_are_read(world: World) -> None:
    await stood(world, "jobsets")
    reader = Reader(world.cluster)
    await diagnosed(one_run(world, name_of("jobsets"), reader))
    asked = [params for right, params in reader.asked if right.endswith(" pods")]
    assert asked
    assert all("jobset-name in (" in params["labelSelector"] for params in asked)


@virtually
async def test_without_list_of_the_jobsets_of_a_trainjob_they_are_not_known_and_its_pods_are(world: World) -> None:
    await stood(world, "trainjobs")
    one = one_run(world, name_of("trainjobs"), Reader(world.cluster, "list jobsets"))
    found = await diagnosed(one)
    assert one.unknown == {"made": "without list of jobsets: what its controller has made of it is not known"}
    assert "ImagePull" in [each.cause for each in found.findings]


class LateReader(Reader):
    """One whose watches are answered after all else."""

    @asynccontextmanager
    async def lines(self, path: str, **more: Any) -> AsyncIterator[AsyncIterator[bytes]]:
        await asyncio.sleep(3)
        async with super().lines(path, **more) as found:
            yield found


@virtually
async def test_a_right_to_watch_that_is_refused_last_is_named(world: World) -> None:
    await stood(world, "jobsets")
    one = one_run(world, name_of("jobsets"), LateReader(world.cluster, "watch pods"))
    await diagnosed(one)
    assert one.unknown == {"watch": "without watch of pods: changes after this moment are not seen"}


@virtually
async def test_it_goes_on_where_it_is_asked_to_and_follows_pods_and_object(world: World) -> None:
    world.serve("jobs")
    job(world)
    for rank in range(2):
        pod(world, f"train-{rank}", rank)
    one, seen = one_run(world, "job/train", Reader(world.cluster)), list[tuple[str, tuple[str, ...]]]()

    def until() -> bool:
        roll = one.document()
        now = (roll.phase, tuple(each.cause for each in roll.findings)) if roll is not None else ("", ())
        if seen[-1:] != [now]:
            seen.append(now)
        return now[0] == "Failed"

    running = asyncio.create_task(one.run(until))
    await asyncio.sleep(5)
    world.end("train-1", 3)
    await asyncio.sleep(5)
    job(world, status=over("Failed", "BackoffLimitExceeded"))
    await asyncio.wait_for(running, 15)
    assert seen[-3:] == [("Running", ()), ("Running", ("Crashed",)), ("Failed", ())]


class NotForwarded(Prober):
    """A prober that cannot reach the port, and whose answer takes ``seconds`` after that; ``dial`` has the reason."""

    def __init__(self, cluster: Cluster, fail: Callable[[], None], seconds: float) -> None:
        super().__init__(cluster)
        self._fail, self._seconds = fail, seconds

    async def snapshot(self) -> RollAnswer:
        self._fail()
        await asyncio.sleep(self._seconds)
        return RollAnswer(at=0.0, coordinator=CoordinatorState.TIMEOUT, detail="no connection")


@pytest.mark.parametrize(
    ("error", "seconds", "text"),
    [
        (Forbidden("no", status=403), 0, "without get and create of pods/portforward"),
        (Forbidden("no", status=403), 15, "without get and create of pods/portforward"),
        (ApiError("the node does not answer", status=502), 0, "its port cannot be forwarded: the node does not answer"),
    ],
)
@virtually
async def test_a_port_that_cannot_be_forwarded_is_no_fault_of_the_coordinator(
    world: World, error: ApiError, seconds: float, text: str
) -> None:
    notes = {"muster.dev/operator": "jax", "muster.dev/observe": "train"}
    for rank in range(2):
        labels = {"muster.dev/observe": "train"}
        world.pod(f"train-{rank}", ip=f"10.0.0.{rank + 1}", labels=labels, annotations=notes)

    def fail() -> None:
        one.ports.failed(error)

    def make(_target: ProbeTarget) -> NotForwarded:
        return NotForwarded(world.cluster, fail, seconds)

    one = one_run(world, "pods/train", Reader(world.cluster), make=make)
    roll = await diagnosed(one)
    assert one.unknown == {"roll": f"{text}: who has arrived is not known; pods and causes are"}
    assert roll.findings == []
    assert roll.coordinator is None
    assert "coordinator" not in roll.message
