"""Daemons that follow each other export the spans of an experiment once, under the same ids."""

import asyncio
from random import Random

from muster.daemon.app import Daemon
from muster.metrics.traces import TraceExport, context
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Record
from tests.daemon.virtual_daemon import RUN, Cluster, beside_a_daemon, experiment, started
from tests.metrics.collector import collector

SIZE = 2
Transitions = list[tuple[Plan, Record | None, Record]]


async def exported(*daemons: Transitions) -> list[list[tuple[str, bytes, bytes]]]:
    """Return name, trace and id of every span that a collector gets from each daemon."""
    found = []
    async with collector() as (address, received):
        for number, transitions in enumerate(daemons):
            received.clear()
            traces = TraceExport(address, version="1", instance=f"daemon-{number}")
            for one in transitions:
                traces.transition(*one)
            await traces.aclose()
            resources = [of for request in received for of in request.resource_spans]
            spans = [span for of in resources for scope in of.scope_spans for span in scope.spans]
            found.append([(span.name, span.trace_id, span.span_id) for span in spans])
    return found


def test_a_daemon_that_starts_again_exports_no_second_copy_of_a_span() -> None:
    kept: tuple[Transitions, Transitions, Transitions] = ([], [], [])

    async def another(cluster: Cluster, number: int) -> tuple[Daemon, asyncio.Task[bool]]:
        daemon, running = started(
            cluster, instance=str(number), random=Random(number), traced=lambda *one: kept[number].append(one)
        )
        await asyncio.sleep(5)
        return daemon, running

    async def story(cluster: Cluster, first: Daemon) -> None:
        cluster.api.put(RUN, experiment(SIZE))
        await asyncio.sleep(5)
        cluster.start(*range(SIZE))
        await asyncio.sleep(5)
        cluster.end(1, code=1)
        await asyncio.sleep(5)
        cluster.end(0, code=143)  # it was deleted, and stops
        await asyncio.sleep(30)
        assert (cluster.status["epoch"], cluster.status["phase"]) == (1, "Pending")
        first.stop()
        await asyncio.sleep(1)
        second, running = await another(cluster, 1)
        cluster.start(*range(SIZE))
        await asyncio.sleep(5)
        cluster.end(*range(SIZE))
        await asyncio.sleep(60)
        assert cluster.status["phase"] == "Succeeded"
        second.stop()
        assert await running
        third, running = await another(cluster, 2)
        await asyncio.sleep(60)
        third.stop()
        assert await running

    beside_a_daemon(story, lambda *one: kept[0].append(one))
    uid = kept[0][0][0].uid
    one, two, three, again = asyncio.run(exported(*kept, kept[0]))
    assert three == []
    assert again == one, "the same transitions make the same spans, so that a collector can drop the copy"
    spans = one + two
    ids = {name: own.to_bytes(8) for name, own in wanted(uid).items()}
    assert {name: own for name, _, own in spans if name in ids} == ids
    assert {trace for _, trace, _ in spans} == {context(uid).trace_id.to_bytes(16)}
    assert len({own for _, _, own in spans}) == len(spans)
    assert "epoch 0" in names(one)
    assert {"epoch 1", "jobset run"} <= names(two)


def wanted(uid: str) -> dict[str, int]:
    return {
        "epoch 0": context(uid, "epoch", 0).span_id,
        "epoch 1": context(uid, "epoch", 1).span_id,
        "jobset run": context(uid).span_id,
    }


def names(spans: list[tuple[str, bytes, bytes]]) -> set[str]:
    return {name for name, _, _ in spans}
