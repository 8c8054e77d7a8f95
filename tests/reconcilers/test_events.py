"""The status write applies to the version of its decision, or fails; every line of the story becomes one Event."""

from typing import Any

import pytest

from muster.api.errors import ApiError, Conflict, Forbidden, NotFound, Throttled, Unreachable
from muster.reconcilers.refs import ExperimentRef
from muster.reconcilers.status import emit_events, write_status
from muster.state.vocabulary.record import StoryLine
from tests.fakes.api import FakeApi
from tests.fakes.plans import UID, experiment_path, gang, submitted

REF = ExperimentRef("lab", "moe", UID)
RESTART = StoryLine(1_700_000_000.25, 1, "Restarting", "moe-worker-0-1 exited with 1", warning=True)
RUNNING = StoryLine(1_700_000_060.0, 1, "Running", "4/4 ranks arrived")


async def emit(api: FakeApi, *lines: StoryLine) -> list[tuple[StoryLine, Exception]]:
    """Emit the Events of these lines, and return the failures."""
    failed: list[tuple[StoryLine, Exception]] = []
    await emit_events(api, REF, lines, instance="musterd-0", report=lambda line, error: failed.append((line, error)))
    return failed


def events(api: FakeApi) -> list[dict[str, Any]]:
    return list(api.objects.values())


async def test_a_line_becomes_an_event_of_the_experiment() -> None:
    api = FakeApi()
    await emit(api, RESTART, RUNNING)
    warning, normal = events(api)
    assert (warning["type"], normal["type"]) == ("Warning", "Normal")
    assert warning["reason"] == "Restarting"
    assert warning["message"] == RESTART.message
    assert warning["firstTimestamp"] == warning["lastTimestamp"] == "2023-11-14T22:13:20Z"
    assert (warning["reportingComponent"], warning["reportingInstance"]) == ("muster", "musterd-0")
    subject = {"apiVersion": "muster.dev/v1alpha1", "kind": "Experiment", "namespace": "lab", "name": "moe", "uid": UID}
    assert warning["involvedObject"] == subject
    assert warning["metadata"]["name"].startswith("moe.")


async def test_a_repeated_line_is_one_event() -> None:
    api = FakeApi()
    assert await emit(api, RESTART) == await emit(api, RESTART) == []
    assert len(events(api)) == 1


async def test_two_lines_of_the_same_instant_are_two_events() -> None:
    api = FakeApi()
    await emit(api, RESTART, StoryLine(RESTART.at, 1, RESTART.reason, "something else"))
    assert len(events(api)) == 2


@pytest.mark.parametrize("message", ["x" * 5000, "é" * 5000, "🦆" * 5000])
async def test_a_long_message_is_cut_between_characters(message: str) -> None:
    api = FakeApi()
    await emit(api, StoryLine(1.0, 0, "Failed", message))
    (event,) = events(api)
    assert 1018 <= len(event["message"].encode()) <= 1024
    assert message.startswith(event["message"].removesuffix("…"))


async def test_hostile_text_in_an_event_stays_text() -> None:
    api = FakeApi()
    await emit(api, StoryLine(1.0, 0, "Failed", 'a", "type": "Normal\n\0\ud800', warning=True))
    (event,) = events(api)
    assert event["type"] == "Warning"
    assert event["message"] == 'a", "type": "Normal\n\0?'


async def test_a_refused_event_is_reported_and_the_next_one_sent() -> None:
    api, no = FakeApi(), Forbidden("no events here", status=403)
    api.fail("POST", no)
    assert await emit(api, RESTART, RUNNING) == [(RESTART, no)]
    assert [event["reason"] for event in events(api)] == ["Running"]


@pytest.mark.parametrize("error", [Throttled("busy", status=429), Unreachable("reset")])
async def test_the_rest_is_not_sent_to_a_busy_server(error: ApiError) -> None:
    api = FakeApi()
    api.fail("POST", error)
    assert [line for line, _ in await emit(api, RESTART, RUNNING)] == [RESTART, RUNNING]
    assert len(api.requests) == 1


@pytest.mark.parametrize("at", [float("nan"), float("inf"), 1e18, -1e18])
async def test_a_time_outside_the_calendar_is_reported(at: float) -> None:
    api = FakeApi()
    assert [line.reason for line, _ in await emit(api, StoryLine(at, 0, "Odd", "odd"), RUNNING)] == ["Odd"]
    assert len(events(api)) == 1


PATH = experiment_path("lab", "moe")


async def test_the_write_changes_only_the_status_and_returns_the_new_version() -> None:
    api = FakeApi()
    submitted(api, gang(), suspend=False)
    assert await write_status(api, REF, {"epoch": 3}, 1) == 2
    assert api.objects[PATH]["status"] == {"epoch": 3}
    assert api.objects[PATH]["spec"] == {"suspend": False}
    (request,) = api.requests
    assert (request.method, request.path) == ("PUT", f"{PATH}/status")
    assert request.body["kind"] == "Experiment"


async def test_a_status_for_an_older_resource_version_is_a_conflict() -> None:
    api = FakeApi()
    submitted(api, gang())
    submitted(api, gang(), suspend=True)
    with pytest.raises(Conflict):
        await write_status(api, REF, {"epoch": 1}, 1)
    assert "status" not in api.objects[PATH]


async def test_another_experiment_of_the_same_name_is_not_written() -> None:
    api = FakeApi()
    submitted(api, gang())
    with pytest.raises(Conflict):
        await write_status(api, ExperimentRef("lab", "moe", "earlier"), {"epoch": 1}, 1)


async def test_an_experiment_that_is_gone_is_not_found() -> None:
    with pytest.raises(NotFound):
        await write_status(FakeApi(), REF, {}, 1)
