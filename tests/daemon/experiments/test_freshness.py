"""No decision uses caches that are older than our own writes, or than the record in question."""

import pytest

from muster.state.view.engine_facts import LiveRead
from muster.tracking.entry import Freshness, Readiness


@pytest.mark.parametrize(
    ("freshness", "seen", "pods", "readiness"),
    [
        (Freshness(), 1, 1, Readiness.DECIDE),
        (Freshness(version=5), 4, 9, Readiness.WAIT),
        (Freshness(version=5), 5, 9, Readiness.DECIDE),
        (Freshness(pods_due=8), 9, 7, Readiness.WAIT),
        (Freshness(pods_due=8), 9, 8, Readiness.DECIDE),
        (Freshness(object_version=8), 9, 7, Readiness.READ_PODS),
        (Freshness(object_version=8), 9, 8, Readiness.DECIDE),
        (Freshness(pods_due=8, object_version=8), 9, 7, Readiness.WAIT),
    ],
)
def test_a_step_waits_or_reads_until_the_caches_have_caught_up(
    freshness: Freshness, seen: int, pods: int, readiness: Readiness
) -> None:
    assert freshness.ready(seen=seen, pods=pods, live_read=None) is readiness


@pytest.mark.parametrize(("version", "readiness"), [(7, Readiness.READ_PODS), (8, Readiness.DECIDE)])
def test_a_live_read_counts_as_a_cache_of_its_version(version: int, readiness: Readiness) -> None:
    fresh = Freshness(object_version=8)
    assert fresh.ready(seen=9, pods=1, live_read=LiveRead(at=0.0, version=version)) is readiness


def test_the_newest_pod_write_is_awaited() -> None:
    fresh = Freshness()
    for version in (3, 9, 0, 4):
        fresh.wrote_pods(version)
    assert fresh.pods_due == 9
