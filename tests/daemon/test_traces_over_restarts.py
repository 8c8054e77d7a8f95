"""Daemons that follow each other export the spans of an experiment once, under the same ids."""

import asyncio
from random import Random

from opentelemetry.sdk.trace import ReadableSpan

from muster.daemon.app import Daemon
from muster.metrics.traces import closed_spans, context
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Record
from tests.daemon.virtual_daemon import RUN, Cluster, beside_a_daemon, experiment, started

SIZE = 2
Transitions = list[tuple[Plan, Record | None, Record]]


def exported(transitions: Transitions) -> list[ReadableSpan]:
    return [span for one in transitions for span in closed_spans(*one, ReadableSpan)]


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
    one, two, three = map(exported, kept)
    assert three == []
    ids = {span.name: span.context.span_id for span in (*one, *two)}
    assert len({span.context.span_id for span in (*one, *two)}) == len(one) + len(two)
    assert {span.context.trace_id for span in (*one, *two)} == {context(uid).trace_id}
    assert [ids[f"epoch {number}"] for number in (0, 1)] == [context(uid, "epoch", n).span_id for n in (0, 1)]
    assert ids["jobset run"] == context(uid).span_id
    assert "epoch 0" in {span.name for span in one}
    assert {"epoch 1", "jobset run"} <= {span.name for span in two}
