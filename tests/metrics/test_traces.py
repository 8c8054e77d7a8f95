"""Which spans the transitions of an experiment close, and that they reach a collector by OTLP over HTTP."""

import asyncio
from itertools import pairwise

import pytest
from msgspec.structs import replace
from opentelemetry.sdk.trace import ReadableSpan

from muster.metrics.traces import TraceExport, closed_spans, context
from muster.state.vocabulary.actions import Action
from muster.state.vocabulary.record import Phase, Record
from tests.builders import NOW, plan, record
from tests.metrics.collector import collector
from tests.state.story import Story


class Recorded(Story):
    """A story that keeps every record that was written."""

    def __init__(self) -> None:
        super().__init__(plan())
        self.records: list[Record] = []

    def look(self, after: float = 0.0) -> tuple[Action, ...]:
        before, actions = self.record, super().look(after)
        if self.record is not None and self.record is not before:
            self.records.append(self.record)
        return actions

    @property
    def spans(self) -> list[ReadableSpan]:
        written = pairwise([None, *self.records])
        return [span for old, new in written if new for span in closed_spans(self.plan, old, new, ReadableSpan)]


def failed_once_then_done() -> Recorded:
    story = Recorded()
    story.assemble()
    story.look(100)
    story.end(2, 1)
    story.look(1)
    story.launch()
    story.look(60)
    story.launch()
    story.start()
    story.look(1)
    story.observe_probe(*range(4), passed=True)
    story.look(1)
    for rank in range(4):
        story.end(rank)
    story.look(50)
    assert story.kept.phase is Phase.SUCCEEDED
    return story


def test_each_epoch_and_the_whole_life_are_one_span() -> None:
    spans = failed_once_then_done().spans
    assert [span.name for span in spans if not span.name.endswith("ing")] == ["epoch 0", "epoch 1", "jax run"]


def test_the_stages_of_an_epoch_follow_each_other_without_a_gap() -> None:
    spans = failed_once_then_done().spans
    whole = next(span for span in spans if span.name == "epoch 1")
    stages = [span for span in spans if span.parent == whole.context]
    assert stages[0].start_time == whole.start_time
    assert stages[-1].end_time == whole.end_time
    assert all(first.end_time == second.start_time for first, second in pairwise(stages))


def test_an_epoch_that_broke_names_the_rank_and_carries_its_story() -> None:
    broken = next(span for span in failed_once_then_done().spans if span.name == "epoch 0")
    assert broken.status.description
    assert "rank 2" in broken.status.description
    assert broken.attributes
    assert broken.attributes["muster.cause.rank"] == 2
    assert [event.name for event in broken.events] == [
        "Started",
        "Assembling",
        "Scheduled",
        "Running",
        "CoordinatorReady",
    ]


def test_an_epoch_that_ended_well_has_no_error() -> None:
    spans = failed_once_then_done().spans
    assert [span.status.is_ok for span in spans if span.name in ("epoch 1", "jax run")] == [True, True]


def test_the_ids_come_from_uid_and_epoch_so_that_another_daemon_makes_the_same_spans() -> None:
    story = failed_once_then_done()
    spans = story.spans
    assert {span.context.trace_id for span in spans} == {context(story.plan.uid).trace_id}
    assert [span.to_json() for span in spans] == [span.to_json() for span in story.spans]
    root = next(span for span in spans if span.name == "jax run")
    assert [span.parent for span in spans if span.name.startswith("epoch")] == [root.context, root.context]
    assert len({span.context.span_id for span in spans}) == len(spans)


def test_a_transition_after_the_end_closes_nothing() -> None:
    story = failed_once_then_done()
    assert list(closed_spans(story.plan, story.kept, story.kept, ReadableSpan)) == []


def test_an_epoch_that_was_never_begun_has_no_span() -> None:
    waiting = record(epoch_at=None, started_at=NOW)
    failed = replace(waiting, phase=Phase.FAILED, finished_at=NOW + 1, reason="Cancelled", message="cancelled")
    assert [span.name for span in closed_spans(plan(), waiting, failed, ReadableSpan)] == ["jax run"]


OLD = record(started_at=NOW, epoch_at=NOW + 1, phase=Phase.RUNNING, assembling_at=NOW + 2, assembled_at=NOW + 3)
FAILED = replace(OLD, phase=Phase.FAILED, finished_at=NOW + 9, reason="DeadlineExceeded", message="it ran too long")


async def test_a_collector_receives_the_spans_of_an_experiment_that_ended() -> None:
    async with collector() as (address, received):
        traces = TraceExport(address, version="1.2.3", instance="one")
        named = traces.transition(plan(), OLD, FAILED)
        await traces.aclose()
    [of_resource] = received[0].resource_spans
    resource = {each.key: each.value.string_value for each in of_resource.resource.attributes}
    assert (resource["service.name"], resource["service.version"]) == ("musterd", "1.2.3")
    spans = {span.name: span for scope in of_resource.scope_spans for span in scope.spans}
    whole, epoch = spans["jax run"], spans["epoch 0"]
    assert whole.trace_id == epoch.trace_id == context(plan().uid).trace_id.to_bytes(16)
    assert named == whole.trace_id.hex()
    assert epoch.parent_span_id == whole.span_id
    assert epoch.start_time_unix_nano == round((NOW + 1) * 1e9)
    assert whole.status.message == "it ran too long"


async def test_a_transition_does_not_wait_for_a_collector_that_is_away(caplog: pytest.LogCaptureFixture) -> None:
    async with collector() as (address, _):
        pass
    traces = TraceExport(address, version="1", instance="one")
    traces.transition(plan(), OLD, FAILED)
    await asyncio.wait_for(traces.aclose(), 30)
