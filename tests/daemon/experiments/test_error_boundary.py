"""An unexpected exception of one experiment stays with it, wherever it is raised. Whole daemons in virtual time."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from muster.daemon import event_recorder
from muster.daemon.experiments import index, reading
from muster.daemon.experiments.index import ExperimentIndex
from muster.daemon.steps import controller, status_writer
from muster.daemon.steps.controller import Controller
from muster.reconcilers.native.engine import NativeEngine
from muster.state.view.membership import Membership
from muster.state.vocabulary.record import Phase
from muster.state.vocabulary.transitions import TRANSITIONS, IllegalTransition
from muster.tracking.entry import Entry
from muster.watchers import experiments as experiment_watcher
from muster.watchers.pods import decode as pod_decoder
from tests.daemon.test_leader_daemon import Musterd, pair, until, virtually
from tests.daemon.virtual_daemon import edit, experiment, scraped
from tests.fakes.api import FakeApi
from tests.fakes.plans import experiment_path

BAD, GOOD = experiment_path("team", "bad"), experiment_path("team", "good")


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ValueError("not even this")


ERRORS = [KeyError("x"), AssertionError(), RecursionError(), MemoryError(), TypeError("\ud800"), Unprintable()]


class Fault:
    """A fault that raises for objects of the experiment ``bad``, until ``times`` is 0."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.times = 10**9
        self.at: list[float] = []

    def meets(self, *objects: object) -> None:
        """Raise if one of these is of the experiment ``bad``."""
        if self.times and any(_is_bad(obj) for obj in objects):
            self.times -= 1
            self.at.append(asyncio.get_running_loop().time())
            raise self.error

    def always(self, *_: object) -> None:
        """Raise."""
        raise self.error


def _is_bad(obj: object) -> bool:
    name = getattr(obj, "name", "")
    return isinstance(name, str) and (name == "bad" or name.startswith("bad-"))


def before(monkeypatch: pytest.MonkeyPatch, place: object, name: str, check: Callable[..., None]) -> None:
    """Call ``check`` with the arguments before that function or method."""
    original = getattr(place, name)

    def checked(*args: Any, **options: Any) -> Any:
        check(*args, *options.values())
        return original(*args, **options)

    monkeypatch.setattr(place, name, checked)


def rebuilding(patch: pytest.MonkeyPatch, fault: Fault) -> None:
    """Let a pod's change fail, and each rebuilding."""
    before(patch, Membership, "change", fault.meets)
    before(patch, ExperimentIndex, "_pod", fault.meets)


Inject = Callable[[pytest.MonkeyPatch, Fault], None]

PLACES: dict[str, Inject] = {
    "read": lambda patch, fault: before(patch, index, "read", fault.meets),
    "plan": lambda patch, fault: before(patch, reading, "plan_of", fault.meets),
    "follow": lambda patch, fault: before(patch, Membership, "follow", fault.meets),
    "pod": lambda patch, fault: before(patch, Membership, "change", fault.meets),
    "service": lambda patch, fault: before(patch, ExperimentIndex, "_service", fault.meets),
    "decide": lambda patch, fault: before(patch, controller, "decide", fault.meets),
    "carry out": lambda patch, fault: before(patch, NativeEngine, "carry_out", fault.meets),
    "write status": lambda patch, fault: before(patch, status_writer, "write_status", fault.meets),
    "rebuild": rebuilding,
}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with capture_logs():
        yield


def errors(one: Musterd) -> float:
    lines = [line for line in scraped(one.daemon).splitlines() if line.startswith("muster_internal_errors_total{")]
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines)


def pods(api: FakeApi, name: str) -> int:
    return len([pod for pod in api.named("pods") if pod.startswith(f"{name}-")])


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@virtually
async def test_an_exception_of_one_experiment_ends_nothing_else(
    api: FakeApi, place: str, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = Fault(error)
    PLACES[place](monkeypatch, fault)
    one = Musterd(api, "one", leader_elect=False)
    api.put(BAD, experiment())
    await asyncio.sleep(30)
    assert fault.at
    assert errors(one) > 0
    api.put(GOOD, experiment())
    await until(lambda: pods(api, "good") == 4)
    assert not one.running.done()

    fault.times = 0
    await until(lambda: not one.daemon.boundary.damaged, 90)
    await until(lambda: pods(api, "bad") == 4, 90)
    await asyncio.sleep(5)
    entry = one.daemon.index.named("team", "bad")
    assert entry is not None
    assert entry.plan is not None
    assert len(list(entry.view.pods())) == 4
    assert entry.view.engine.service
    assert one.daemon.index.pods == 8


@pytest.mark.parametrize("place", ["read", "decide", "write status"])
@virtually
async def test_an_experiment_that_always_fails_is_retried_with_its_own_growing_delay(
    api: FakeApi, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = Fault(KeyError("x"))
    PLACES[place](monkeypatch, fault)
    Musterd(api, "one", leader_elect=False)
    api.put(BAD, experiment())
    await asyncio.sleep(600)
    waits = [later - sooner for sooner, later in zip(fault.at, fault.at[1:], strict=False)]
    assert 10 < len(fault.at) < 40
    assert max(waits) > 30


@virtually
async def test_an_experiment_that_could_not_be_read_is_not_decided_upon(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its plan it would look like one with an invalid spec, which fails forever."""
    PLACES["read"](monkeypatch, Fault(KeyError("x")))
    Musterd(api, "one", leader_elect=False)
    api.put(BAD, experiment())
    await asyncio.sleep(120)
    assert "status" not in api.objects[BAD]


@virtually
async def test_a_damaged_experiment_that_is_deleted_leaves_nothing_behind(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = Fault(KeyError("x"))
    PLACES["pod"](monkeypatch, fault)
    one = Musterd(api, "one", leader_elect=False)
    api.put(BAD, experiment())
    await until(lambda: bool(fault.at))
    for path in [path for path in api.objects if "/bad" in path]:
        api.remove(path)
    await asyncio.sleep(120)
    assert (one.daemon.index.entries, one.daemon.index.members, one.daemon.boundary.damaged) == ({}, {}, {})


@virtually
async def test_a_new_leader_rebuilds_what_was_damaged_while_it_stood_by(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = Fault(KeyError("x"))
    fault.times = 0
    PLACES["pod"](monkeypatch, fault)
    one, two = await pair(api)
    fault.times = 10**9
    api.put(BAD, experiment())
    await asyncio.sleep(5)
    assert two.daemon.boundary.damaged
    fault.times = 0
    await one.kill()
    await until(lambda: two.leads and pods(api, "bad") == 4)
    await asyncio.sleep(5)
    assert two.daemon.boundary.damaged == {}


@pytest.mark.parametrize(
    ("decoder", "name"), [(experiment_watcher, "flatten"), (pod_decoder.DECODER, "_flatten")], ids=["experiment", "pod"]
)
@virtually
async def test_an_exception_in_a_decoder_ends_neither_the_watch_nor_a_list(
    api: FakeApi, decoder: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = Fault(KeyError("x"))
    original = getattr(decoder, name)

    def flatten(document: Any) -> Any:
        fault.meets(document.metadata)
        return original(document)

    monkeypatch.setattr(decoder, name, flatten)
    api.put(BAD, experiment())
    one = Musterd(api, "one", leader_elect=False)
    await asyncio.sleep(5)
    api.put(GOOD, experiment())
    await until(lambda: pods(api, "good") == 4)
    assert fault.at
    assert sum(each.decode_errors for each in one.daemon.informers.reflectors.values()) > 0


@virtually
async def test_an_exception_in_writing_events_costs_the_events_of_one_story(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = Fault(KeyError("x"))
    before(monkeypatch, event_recorder, "emit_events", fault.meets)
    one = Musterd(api, "one", leader_elect=False)
    api.put(BAD, experiment())
    api.put(GOOD, experiment())
    await until(lambda: bool(api.asked("POST /api/v1/namespaces/team/events")))
    assert fault.at
    assert errors(one) > 0


@virtually
async def test_an_exception_at_a_step_of_the_clock_stays_with_its_experiment(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    before(monkeypatch, Entry, "clock_stepped", lambda entry, _: Fault(KeyError("x")).meets(entry.seen))
    one = Musterd(api, "one", leader_elect=False)
    api.put(BAD, experiment())
    api.put(GOOD, experiment())
    await until(lambda: len(api.named("pods")) == 8)
    one.daemon._clock_stepped(60.0)  # noqa: SLF001
    await asyncio.sleep(1)
    assert errors(one) == 1
    assert one.daemon.boundary.damaged == {}


@virtually
async def test_the_log_names_the_object_and_the_experiment(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = Fault(KeyError("x"))
    PLACES["read"](monkeypatch, fault)
    Musterd(api, "one", leader_elect=False)
    with capture_logs() as logs:
        api.put(BAD, experiment())
        await until(lambda: len(fault.at) > 2)
    first = next(entry for entry in logs if entry["log_level"] == "error")
    assert first["event"] == "change of an object failed, rebuilding its experiment"
    assert (first["namespace"], first["object"], first["exc_info"]) == ("team", "bad", fault.error)
    assert any(entry["event"] == "step failed" and entry["experiment"] == "bad" for entry in logs)


@virtually
async def test_the_log_of_an_illegal_transition_holds_the_end_of_the_story(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TRANSITIONS, Phase.PENDING, {})
    Musterd(api, "one", leader_elect=False)
    with capture_logs() as logs:
        api.put(BAD, experiment())
        await until(lambda: pods(api, "bad") == 4)
        edit(api, BAD, suspend=True)
        await until(lambda: any(entry["event"] == "step failed" for entry in logs))
    found = next(entry for entry in logs if entry["event"] == "step failed")
    error = found["exc_info"]
    assert isinstance(error, IllegalTransition)
    assert (found["experiment"], found["uid"], found["epoch"]) == ("bad", error.uid, 0)
    assert found["story"] == [f"{line.reason}: {line.message}" for line in error.story]
    assert found["story"]


@virtually
async def test_a_failure_that_cannot_be_reported_ends_no_step_of_others(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    PLACES["decide"](monkeypatch, Fault(KeyError("x")))
    before(monkeypatch, Controller, "failed", Fault(KeyError("y")).always)
    one = Musterd(api, "one", leader_elect=False)
    api.put(BAD, experiment())
    api.put(GOOD, experiment())
    await until(lambda: pods(api, "good") == 4)
    assert not one.running.done()
