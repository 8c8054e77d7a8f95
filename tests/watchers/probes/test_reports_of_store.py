"""However many processes a gang's pods claim, the probe reads the reports of a bounded number."""

import json

import pytest

from muster.api.progress import MAX_VALUE
from muster.watchers.probes.torch.collectives import MOST, StoredCollectives
from muster.watchers.probes.torch.probe import StoredReports
from muster.watchers.probes.torch.store import Store


class Claims(Store):
    """A store in which each key exists, and each pod claims as many processes as it may."""

    def __init__(self) -> None:
        self.most_asked = 0
        self.bytes = 0

    async def has(self, keys: list[str]) -> list[bool]:  # type: ignore[override]
        return [True] * len(keys)

    async def values(self, keys: list[str], most: int) -> list[bytes]:  # type: ignore[override]
        self.most_asked = max(self.most_asked, len(keys))
        self.bytes = max(self.bytes, len(keys) * most)
        said = {"step": 1, "calls": 1, "rank": 1, "beat": 1, "moves": 1, "processes": 64}
        return [json.dumps(said).encode()] * len(keys)


@pytest.mark.parametrize("members", [64, 65, MOST // 2, MOST])
async def test_a_gang_that_claims_many_processes_is_read_up_to_a_bound(members: int) -> None:
    reports, collectives = Claims(), Claims()
    await StoredReports(members).read(reports)
    assert reports.bytes <= MOST * MAX_VALUE == 4 << 20
    reader = StoredCollectives(members)
    for _ in range(2):  # the further processes of a pod are read from the second look on
        await reader.read(collectives)
    for store in (reports, collectives):
        assert members <= store.most_asked <= MOST


async def test_the_processes_of_the_last_pod_are_read_where_the_bound_is_met_exactly() -> None:
    reports, collectives, reader = Claims(), Claims(), StoredCollectives(64)
    await StoredReports(64).read(reports)
    for _ in range(2):
        await reader.read(collectives)
    assert reports.most_asked == collectives.most_asked == 64 * 64 == MOST


async def test_a_gang_of_more_members_is_not_read() -> None:
    store = Claims()
    assert await StoredReports(MOST + 1).read(store) == ()
    assert store.most_asked == 0
