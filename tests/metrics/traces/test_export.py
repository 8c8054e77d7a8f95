"""Spans reach a collector by OTLP over HTTP, and a collector that is away holds nothing up."""

import asyncio

import pytest
from msgspec.structs import replace

from muster.metrics.traces.destination import traces_to
from muster.metrics.traces.spans import trace_id
from muster.state.vocabulary.record import Phase
from tests.builders import NOW, plan, record
from tests.metrics.traces.collector import collector

OLD = record(started_at=NOW, epoch_at=NOW + 1, phase=Phase.RUNNING, assembling_at=NOW + 2, assembled_at=NOW + 3)
FAILED = replace(OLD, phase=Phase.FAILED, finished_at=NOW + 9, reason="DeadlineExceeded", message="it ran too long")


async def test_a_collector_receives_the_spans_of_an_experiment_that_ended() -> None:
    async with collector() as (address, received):
        traces = traces_to(address, version="1.2.3", instance="one")
        named = traces.transition(plan(), OLD, FAILED)
        await traces.aclose()
    [of_resource] = received[0].resource_spans
    resource = {each.key: each.value.string_value for each in of_resource.resource.attributes}
    assert (resource["service.name"], resource["service.version"]) == ("musterd", "1.2.3")
    spans = {span.name: span for scope in of_resource.scope_spans for span in scope.spans}
    whole, epoch = spans["jax run"], spans["epoch 0"]
    assert whole.trace_id == epoch.trace_id == trace_id(plan().uid).to_bytes(16)
    assert named == whole.trace_id.hex()
    assert epoch.parent_span_id == whole.span_id
    assert epoch.start_time_unix_nano == round((NOW + 1) * 1e9)
    assert whole.status.message == "it ran too long"


async def test_a_transition_does_not_wait_for_a_collector_that_is_away(caplog: pytest.LogCaptureFixture) -> None:
    async with collector() as (address, _):
        pass
    traces = traces_to(address, version="1", instance="one")
    traces.transition(plan(), OLD, FAILED)
    await asyncio.wait_for(traces.aclose(), 30)


async def test_without_an_address_nothing_is_sent() -> None:
    traces = traces_to("", version="1", instance="one")
    assert traces.transition(plan(), OLD, FAILED) is None
    await traces.aclose()
