"""No decision uses caches that are older than our own writes, or than the record in question."""

import pytest

from muster.state.view.engine_facts import LiveRead
from muster.tracking.entry import Freshness, Readiness


@pytest.mark.parametrize(
    ("freshness", "seen", "pods", "read_at", "readiness"),
    [
        (Freshness(), 1, 1, None, Readiness.DECIDE),
        (Freshness(version=5), 4, 9, None, Readiness.WAIT),
        (Freshness(version=5), 5, 9, None, Readiness.DECIDE),
        (Freshness(pods_due=8), 9, 7, None, Readiness.WAIT),
        (Freshness(pods_due=8), 9, 8, None, Readiness.DECIDE),
        (Freshness(object_version=8), 9, 7, None, Readiness.READ_PODS),
        (Freshness(object_version=8), 9, 8, None, Readiness.DECIDE),
        (Freshness(object_version=8), 9, 1, 7, Readiness.READ_PODS),
        (Freshness(object_version=8), 9, 1, 8, Readiness.DECIDE),
        (Freshness(pods_due=8, object_version=8), 9, 7, None, Readiness.WAIT),
    ],
)
def test_a_step_waits_or_reads_until_the_caches_or_a_live_read_have_caught_up(
    freshness: Freshness, seen: int, pods: int, read_at: int | None, readiness: Readiness
) -> None:
    live_read = None if read_at is None else LiveRead(at=0.0, version=read_at)
    assert freshness.ready(seen=seen, pods=pods, live_read=live_read) is readiness


def test_the_newest_writes_are_awaited() -> None:
    fresh = Freshness()
    for pods, workloads in ((3, 0), (9, 2), (0, 8), (4, 0)):
        fresh.wrote(pods, workloads)
    assert (fresh.pods_due, fresh.workloads_due) == (9, 8)
