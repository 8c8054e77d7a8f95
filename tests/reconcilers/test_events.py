"""Every line of the story becomes one Event; a failure fails nothing else."""

from typing import Any

import pytest

from muster.api.errors import ApiError, Forbidden, Throttled, Unreachable
from muster.reconcilers.refs import ExperimentRef
from muster.reconcilers.status import emit_events
from muster.state.vocabulary.record import StoryLine
from tests.fakes.api import FakeApi
from tests.fakes.plans import UID

REF = ExperimentRef("lab", "moe", UID)
RESTART = StoryLine(1_700_000_000.25, 1, "Restarting", "moe-worker-0-1 exited with 1", warning=True)
RUNNING = StoryLine(1_700_000_060.0, 1, "Running", "4/4 ranks arrived")


class ChangePrinter:
    """An emitter of Events that keeps the reported failures."""

    def __init__(self) -> None:
        self.api = FakeApi()
        self.reported: list[tuple[StoryLine, Exception]] = []

    async def tell(self, *lines: StoryLine) -> None:
        await emit_events(
            self.api, REF, lines, instance="musterd-0", report=lambda line, error: self.reported.append((line, error))
        )

    @property
    def events(self) -> list[dict[str, Any]]:
        return list(self.api.objects.values())


async def test_a_line_becomes_an_event_of_the_experiment() -> None:
    teller = ChangePrinter()
    await teller.tell(RESTART, RUNNING)
    warning, normal = teller.events
    assert (warning["type"], normal["type"]) == ("Warning", "Normal")
    assert warning["reason"] == "Restarting"
    assert warning["message"] == RESTART.message
    assert warning["firstTimestamp"] == warning["lastTimestamp"] == "2023-11-14T22:13:20Z"
    assert (warning["reportingComponent"], warning["reportingInstance"]) == ("muster", "musterd-0")
    assert warning["involvedObject"] == {
        "apiVersion": "muster.dev/v1alpha1",
        "kind": "Experiment",
        "namespace": "lab",
        "name": "moe",
        "uid": UID,
    }
    assert warning["metadata"]["name"].startswith("moe.")


async def test_a_repeated_line_is_one_event() -> None:
    teller = ChangePrinter()
    await teller.tell(RESTART)
    await teller.tell(RESTART)
    assert len(teller.events) == 1
    assert teller.reported == []


async def test_two_lines_of_the_same_instant_are_two_events() -> None:
    teller = ChangePrinter()
    await teller.tell(RESTART, StoryLine(RESTART.at, 1, RESTART.reason, "something else"))
    assert len(teller.events) == 2


@pytest.mark.parametrize("message", ["x" * 5000, "é" * 5000, "🦆" * 5000])
async def test_a_long_message_is_cut_between_characters(message: str) -> None:
    teller = ChangePrinter()
    await teller.tell(StoryLine(1.0, 0, "Failed", message))
    (event,) = teller.events
    told = event["message"]
    assert 1018 <= len(told.encode()) <= 1024
    assert message.startswith(told.removesuffix("…"))


async def test_hostile_text_in_an_event_stays_text() -> None:
    teller = ChangePrinter()
    await teller.tell(StoryLine(1.0, 0, "Failed", 'a", "type": "Normal\n\0\ud800', warning=True))
    (event,) = teller.events
    assert event["type"] == "Warning"
    assert event["message"] == 'a", "type": "Normal\n\0?'


async def test_a_refused_event_is_reported_and_the_next_one_sent() -> None:
    teller = ChangePrinter()
    no = Forbidden("no events here", status=403)
    teller.api.fail("POST", no)
    await teller.tell(RESTART, RUNNING)
    assert teller.reported == [(RESTART, no)]
    assert [event["reason"] for event in teller.events] == ["Running"]


@pytest.mark.parametrize("error", [Throttled("busy", status=429), Unreachable("reset")])
async def test_the_rest_is_not_sent_to_a_busy_server(error: ApiError) -> None:
    teller = ChangePrinter()
    teller.api.fail("POST", error)
    await teller.tell(RESTART, RUNNING)
    assert [line for line, _ in teller.reported] == [RESTART, RUNNING]
    assert len(teller.api.requests) == 1


@pytest.mark.parametrize("at", [float("nan"), float("inf"), 1e18, -1e18])
async def test_a_time_outside_the_calendar_is_reported(at: float) -> None:
    teller = ChangePrinter()
    await teller.tell(StoryLine(at, 0, "Odd", "odd"), RUNNING)
    assert [line.reason for line, _ in teller.reported] == ["Odd"]
    assert len(teller.events) == 1
