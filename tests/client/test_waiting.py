"""A wait ends, whatever happens to the experiment between its first reading and the watch."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass

import pytest

from muster.client import NoSuchExperiment, Snapshot, Until, Vanished, WaitTimeout, waiting
from muster.client.snapshot import ExperimentChange, snapshot_of


def experiment(uid: str = "a", phase: str = "Running") -> Snapshot:
    return snapshot_of({"metadata": {"name": "mine", "namespace": "n", "uid": uid}, "status": {"phase": phase}})


@dataclass
class Cluster:
    """``now`` is what a reading finds; a watch first shows ``shown`` and then nothing."""

    now: Snapshot | None = None
    shown: tuple[Snapshot, ...] = ()

    async def get(self, name: str, *, namespace: str | None = None) -> Snapshot:
        if self.now is None:
            raise NoSuchExperiment(f"{namespace}/{name}")
        return self.now

    async def watch(self, name: str, *, namespace: str | None = None) -> AsyncGenerator[ExperimentChange, None]:
        for seen in self.shown:
            yield ExperimentChange("ADDED", seen)
        await asyncio.Event().wait()


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "ASK_AGAIN", 0.0)


CASES = [
    pytest.param(Cluster(now=None), id="deleted before the watch began"),
    pytest.param(Cluster(now=experiment("b")), id="created anew before the watch began"),
    pytest.param(Cluster(now=experiment("b"), shown=(experiment("b", "Succeeded"),)), id="the watch shows the new one"),
]


@pytest.mark.parametrize("cluster", CASES)
async def test_an_experiment_that_is_gone_ends_the_wait(cluster: Cluster) -> None:
    first = experiment("a")
    assert await waiting.wait(cluster, first, Until(deleted=True), None) == first
    with pytest.raises(Vanished, match="n/mine was deleted while it was waited for"):
        await waiting.wait(cluster, first, Until(), None)


async def test_an_experiment_that_stays_is_waited_for() -> None:
    cluster = Cluster(now=experiment("a"), shown=(experiment("a"),))
    with pytest.raises(WaitTimeout, match=r"Finished=True did not come within 0.05 s; it is: Running"):
        await waiting.wait(cluster, experiment("a"), Until(), 0.05)
