"""The event recorder: the Events that are written, their order, and the delay of a slow namespace."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import msgspec
from structlog.testing import capture_logs

from muster.api.errors import ApiError, error_of
from muster.daemon import event_recorder
from muster.daemon.event_recorder import EventRecorder
from muster.kube.fair_share import FairShare
from muster.kube.transport import Answer
from muster.reconcilers.refs import ExperimentRef
from muster.state.vocabulary.record import StoryLine
from tests.builders import NOW
from tests.daemon.virtual_daemon import as_test, in_virtual_time


class Server:
    """A server that takes a second for an Event, and forever in a namespace that hangs."""

    def __init__(self) -> None:
        self.hanging: set[str] = set()
        self.refusal: ApiError | None = None
        self.written: list[tuple[str, str]] = []

    async def request(self, method: str, path: str, *, body: bytes, **_: Any) -> Answer:
        if self.refusal is not None:
            raise self.refusal
        namespace = path.split("/")[4]
        if namespace in self.hanging:
            await asyncio.Event().wait()
        await asyncio.sleep(1)
        self.written.append((namespace, msgspec.json.decode(body)["message"]))
        return Answer(201, b"{}")


def lines(*messages: str) -> tuple[StoryLine, ...]:
    return tuple(StoryLine(NOW, 0, "Started", message) for message in messages)


def ref(namespace: str, name: str = "run") -> ExperimentRef:
    return ExperimentRef(namespace, name, f"uid-{name}")


def played(story: Callable[[Server, EventRecorder], Coroutine[Any, Any, None]]) -> None:
    server = Server()
    in_virtual_time(story(server, EventRecorder(server, FairShare(128), "one")))  # type: ignore[arg-type]


virtually = partial(as_test, play=played, given=2)


async def run_for(recorder: EventRecorder, seconds: float) -> None:
    running = asyncio.create_task(recorder.run(), name="recorder")
    await asyncio.sleep(seconds)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert len(asyncio.all_tasks()) == 1


@virtually
async def test_events_that_hang_in_one_namespace_do_not_delay_those_of_others(
    server: Server, recorder: EventRecorder
) -> None:
    server.hanging.add("slow")
    recorder.record(ref("slow"), lines("a", "b"))
    recorder.record(ref("team"), lines("c", "d"))
    await run_for(recorder, 2.5)
    assert server.written == [("team", "c"), ("team", "d")]


@virtually
async def test_the_events_of_a_namespace_keep_their_order(server: Server, recorder: EventRecorder) -> None:
    for number in range(3):
        recorder.record(ref("team", f"run-{number}"), lines(f"{number} begins", f"{number} ends"))
    await run_for(recorder, 10)
    assert [said for _, said in server.written] == [f"{n} {what}" for n in range(3) for what in ("begins", "ends")]


@virtually
async def test_flushed_returns_when_the_last_event_is_written(server: Server, recorder: EventRecorder) -> None:
    running = asyncio.create_task(recorder.run(), name="recorder")
    await recorder.flushed()
    for namespace in ("a", "b"):
        recorder.record(ref(namespace), lines("x", "y", "z"))
    await recorder.flushed()
    assert len(server.written) == 6
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


@virtually
async def test_what_is_queued_when_the_leadership_ends_is_written_in_the_next_one(
    server: Server, recorder: EventRecorder
) -> None:
    for number in range(3):
        recorder.record(ref("team", f"run-{number}"), lines(str(number)))
    await run_for(recorder, 0.5)
    recorder.record(ref("other"), lines("new"))
    await run_for(recorder, 10)
    assert sorted(said for _, said in server.written) == ["1", "2", "new"], "the first was under way"


@virtually
async def test_an_event_that_is_refused_is_logged_with_its_object(server: Server, recorder: EventRecorder) -> None:
    server.refusal = error_of(403, "Forbidden", "events is forbidden: exceeded quota: small")
    with capture_logs() as logged:
        recorder.record(ref("team", "train"), lines("a"))
        await run_for(recorder, 2)
    assert logged == [
        {
            "event": "event not written",
            "log_level": "warning",
            "namespace": "team",
            "kind": "Experiment",
            "name": "train",
            "uid": "uid-train",
            "reason": "Started",
            "error": str(server.refusal),
        }
    ]


@virtually
async def test_a_namespace_with_too_many_stories_loses_its_own_oldest(server: Server, recorder: EventRecorder) -> None:
    recorder.record(ref("team"), lines("kept"))
    with capture_logs() as logged:
        for number in range(event_recorder.WAITING + 5):
            recorder.record(ref("loud", f"run-{number}"), lines(str(number)))
    assert [(each["namespace"], each["name"], each["reason"]) for each in logged] == [
        ("loud", f"run-{number}", "Started") for number in range(5)
    ]
    await run_for(recorder, event_recorder.WAITING + 10)
    assert len(server.written) == 1 + event_recorder.WAITING
    assert ("team", "kept") in server.written
    assert next(said for namespace, said in server.written if namespace == "loud") == "5"
