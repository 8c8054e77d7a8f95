"""The cost of a watch: CPU per event and memory per pod. The peer is kubernetes_asyncio, measured in the same run.

CPU time and not wall time, because the machine is shared. Each figure comes from a process of its own, so that no
measurement inherits the heap of another, and is the best of several rounds. ``python -m benchmarks.decode NAME`` prints
the number of one measurement.
"""

import asyncio
import gc
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from benchmarks.harness.measuring import ROUNDS, best_of, resident, serving
from benchmarks.harness.report import Result
from benchmarks.harness.typed_client import event_typed, list_typed, memory_typed, watch_typed
from benchmarks.servers.synthetic_pods import line
from muster.kube.authentication.credentials import ClusterAccess
from muster.kube.connection import Connection
from muster.kube.listwatch.sink_feed import list_all
from muster.kube.listwatch.store import Store
from muster.watchers.pods import decode as pods

EVENT_BUDGET = 15.0
"""Microseconds of CPU from line to store."""
POD_BUDGET = 1024.0
"""Bytes of memory per tracked pod."""

EVENTS, TRACKED, LISTED = 500, 20_000, 10_000


def event_ours() -> float:
    """Return microseconds per event: line to Store."""
    lines = [line(number, number + 1) for number in range(EVENTS)]

    def work() -> None:
        store: Store[Any] = Store()
        for each in lines:
            _put(store, each)

    return best_of(work, EVENTS, rounds=100)


def memory_ours() -> float:
    """Return bytes of resident memory per pod in a Store."""
    store: Store[Any] = Store()
    _put(store, line(0, 1))
    before = resident()
    for number in range(1, TRACKED):
        _put(store, line(number, number + 1))
    return (resident() - before) / TRACKED


def list_ours() -> float:
    """Return microseconds per pod of a paged list, HTTP included."""

    async def work(connection: Connection) -> None:
        store: Store[Any] = Store()
        listed = await list_all(connection, pods.PATH, {}, pods.DECODER, page_size=500, timeout=60)
        store.replace(listed.objects, listed.version)
        assert len(store.objects) == LISTED

    return _over_http(work, LISTED)


def watch_ours() -> float:
    """Return microseconds per event of a watch, HTTP included."""

    async def work(connection: Connection) -> None:
        store: Store[Any] = Store()
        async with connection.lines(pods.PATH, params={"watch": "true"}, silence=60) as lines:
            async for each in lines:
                _put(store, each)
        assert len(store.objects) == LISTED

    return _over_http(work, LISTED)


_TABLE: tuple[tuple[str, str, float | None, str, Callable[[], float], Callable[[], float]], ...] = (
    ("pod event, line to store, CPU", "µs", EVENT_BUDGET, "Watch.unmarshal_event", event_ours, event_typed),
    ("pod event, HTTP to store, CPU", "µs", None, "Watch.stream", watch_ours, watch_typed),
    ("pod of a paged list, CPU", "µs", None, "list_pod_for_all_namespaces", list_ours, list_typed),
    ("tracked pod, resident memory", "B", POD_BUDGET, "V1Pod", memory_ours, memory_typed),
)


def run() -> list[Result]:
    """Measure everything, each in a process of its own."""
    results = []
    for name, unit, budget, peer, ours, typed in _TABLE:
        value, peer_value = _apart(ours.__name__), _apart(typed.__name__)
        results.append(Result(name, value, unit, budget, f"kubernetes_asyncio {peer}", peer_value))
    return results


def _apart(name: str) -> float:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.decode", name], capture_output=True, text=True, check=False, timeout=300
    )
    if done.returncode != 0:
        raise RuntimeError(f"the measurement {name} failed: {done.stderr[-2000:]}")
    return float(done.stdout)


def _over_http(work: Callable[[Connection], Awaitable[None]], count: int) -> float:
    async def measured(url: str) -> float:
        connection, best = await Connection.open(ClusterAccess(url, "Bearer t")), float("inf")
        for _ in range(ROUNDS):
            gc.collect()
            began = time.process_time()
            await work(connection)
            best = min(best, time.process_time() - began)
        await connection.aclose()
        return best / count * 1e6

    with serving("list_server", count) as (url, _):
        return asyncio.run(measured(url))


def _put(store: Store[Any], each: bytes) -> None:
    event = pods.DECODER.event(each)
    assert event.obj is not None
    store.put(event.obj, event.version)


if __name__ == "__main__":
    measurements = {each.__name__: each for row in _TABLE for each in row[-2:]}
    print(measurements[sys.argv[1]]())
