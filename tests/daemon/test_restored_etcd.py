"""etcd is put back to an earlier state while musterd runs: the fate of gangs that are newer, older, or gone.

With a bump, as etcd's documentation asks for (``etcdutl snapshot restore --bump-revision --mark-compacted``), and
without one, as when a folder is copied back.
"""

import asyncio
from collections import Counter

import pytest

from muster.api.names import LABEL_EPOCH, LABEL_RANK, LABEL_UID
from muster.daemon.app import Daemon
from tests.daemon.virtual_daemon import RUN, Cluster, experiment, seen_by, virtually
from tests.fakes.history import Change, Object

SIZE = 4
SEEN = 200.0
"""Seconds within which everything is as it was restored: a silent watch lasts 90 s."""

OTHER = "/api/v1/namespaces/team/pods/other"
BUMPS = pytest.mark.parametrize("bump", [0, 1_000_000_000], ids=["copied back", "bumped"])


class Twice:
    """The pods that exist at a time, by rank: more than one of a rank is a mistake."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.found: list[str] = []
        cluster.api.listeners.append(self._changed)

    def _changed(self, change: Change) -> None:
        if change.resource == "pods" and change.kind == "ADDED":
            over = ("Succeeded", "Failed")
            pods = [pod for pod in self.pods() if pod.get("status", {}).get("phase") not in over]
            ranks = Counter(pod["metadata"]["labels"][LABEL_RANK] for pod in pods)
            self.found += [f"rank {rank} {count} times" for rank, count in ranks.items() if count > 1]

    def pods(self) -> list[Object]:
        return list(self.cluster.pods().values())

    def epochs(self) -> Counter[str]:
        """Return the number of pods of each epoch."""
        return Counter(pod["metadata"]["labels"][LABEL_EPOCH] for pod in self.pods())


async def gang(cluster: Cluster) -> Twice:
    twice = Twice(cluster)
    await cluster.gang(SIZE)
    assert cluster.status["epoch"] == 0
    return twice


def stopped(cluster: Cluster) -> None:
    """Let the kubelets stop the pods that are being deleted."""
    leaving = [path for path, obj in cluster.api.objects.items() if "deletionTimestamp" in obj["metadata"]]
    for path in leaving:
        cluster.api.remove(path)


async def restarted(cluster: Cluster) -> None:
    """Let a rank fail, and the gang run again."""
    cluster.end(1, code=1)
    await asyncio.sleep(1)
    stopped(cluster)
    await asyncio.sleep(10)
    await cluster.starts(SIZE)
    assert (cluster.status["phase"], cluster.status["epoch"]) == ("Running", 1)


@BUMPS
@virtually
async def test_a_gang_goes_on_in_the_epoch_of_the_backup_where_the_kubelets_run_its_pods(
    cluster: Cluster, daemon: Daemon, bump: int
) -> None:
    twice = await gang(cluster)
    backup = cluster.api.history.version
    await restarted(cluster)
    cluster.api.restore(backup, bump)
    began = cluster.loop.time()
    await asyncio.sleep(SEEN)
    seen = seen_by(daemon)
    assert (seen.record.epoch, cluster.status["epoch"], cluster.status["phase"]) == (0, 0, "Running")
    assert twice.epochs() == {"0": SIZE}
    assert cluster.writes("POST pods", began) == 0
    cluster.end(0)
    await asyncio.sleep(5)
    cluster.end(*range(1, SIZE))
    await asyncio.sleep(5)
    assert (cluster.status["phase"], twice.found) == ("Succeeded", [])


@BUMPS
@pytest.mark.parametrize("after", [1.0, 60.0, SEEN])
@virtually
async def test_a_gang_whose_containers_are_gone_is_restarted_once_whenever_the_kubelets_say_so(
    cluster: Cluster, daemon: Daemon, bump: int, after: float
) -> None:
    twice = await gang(cluster)
    backup = cluster.api.history.version
    await restarted(cluster)
    cluster.api.restore(backup, bump)
    await asyncio.sleep(after)
    cluster.end(*range(SIZE), code=137)
    await asyncio.sleep(SEEN)
    cluster.start(*range(SIZE))
    await asyncio.sleep(SEEN)
    epoch = cluster.status["epoch"]
    assert (cluster.status["phase"], cluster.status["restarts"], twice.found) == ("Running", 1, [])
    assert epoch == 2, "pods of an epoch 1 that are out of sight may run: no other gang has their names"
    assert twice.epochs()[str(epoch)] == SIZE
    assert seen_by(daemon).record.epoch == epoch


def other(cluster: Cluster) -> None:
    """Change a pod of nobody, which takes a resourceVersion."""
    about = {"metadata": {"labels": {LABEL_UID: "of-another"}}, "spec": {}, "status": {"phase": "Succeeded"}}
    cluster.api.put(OTHER, about)


@virtually
async def test_pods_of_the_lost_time_are_forgotten_where_their_watch_goes_on(cluster: Cluster, daemon: Daemon) -> None:
    """Another pod brings the old resourceVersions back shortly before the watch of pods has been silent for 90 s."""
    await gang(cluster)
    backup = cluster.api.history.version
    await restarted(cluster)
    lost = cluster.api.history.version
    cluster.api.restore(backup)
    cluster.end(1, code=1)
    await asyncio.sleep(85)
    while cluster.api.history.version <= lost + 1:
        other(cluster)
    await asyncio.sleep(SEEN)
    stopped(cluster)
    await asyncio.sleep(SEEN)
    await cluster.starts(SIZE)
    assert (cluster.status["phase"], cluster.status["epoch"]) == ("Running", 2)


@virtually
async def test_a_backup_of_seconds_ago_is_noticed_by_the_second_write_that_conflicts(
    cluster: Cluster, daemon: Daemon
) -> None:
    """The old resourceVersions have come again on every watch before any was silent for long."""
    await gang(cluster)
    backup = cluster.api.history.version
    await restarted(cluster)
    lost = cluster.api.history.version
    cluster.api.restore(backup)
    while cluster.api.history.version <= lost + 1:
        cluster.api.put(f"{RUN}-other", experiment(SIZE))
        other(cluster)
    await asyncio.sleep(SEEN)
    await cluster.starts(SIZE)  # the pods of epoch 0, as their kubelets have them
    await asyncio.sleep(SEEN)
    assert seen_by(daemon).record.epoch == 0
    cluster.end(1, code=1)
    await asyncio.sleep(SEEN)
    stopped(cluster)
    await asyncio.sleep(SEEN)
    await cluster.starts(SIZE)
    assert (cluster.status["phase"], cluster.status["epoch"]) == ("Running", 2)


@BUMPS
@virtually
async def test_pods_that_the_backup_does_not_have_are_made_again_once_in_another_epoch(
    cluster: Cluster, daemon: Daemon, bump: int
) -> None:
    """Those that no watch shows may run for a while: they cannot meet the new ones."""
    twice = Twice(cluster)
    cluster.api.put(RUN, experiment(SIZE))
    backup = cluster.api.history.version
    await cluster.starts(SIZE)
    assert cluster.status["phase"] == "Running"
    cluster.api.restore(backup, bump)
    began = cluster.loop.time()
    await asyncio.sleep(SEEN)
    await cluster.starts(SIZE)
    await asyncio.sleep(SEEN)
    assert (cluster.status["phase"], cluster.status["epoch"], twice.found) == ("Running", 1, [])
    assert (cluster.status["restarts"], twice.epochs()) == (0, {"1": SIZE})
    assert cluster.writes("POST pods", began) == SIZE


@BUMPS
@virtually
async def test_an_experiment_that_the_backup_does_not_have_is_forgotten(
    cluster: Cluster, daemon: Daemon, bump: int
) -> None:
    backup = cluster.api.history.version
    await gang(cluster)
    cluster.api.restore(backup, bump)
    began = cluster.loop.time()
    await asyncio.sleep(SEEN)
    assert daemon.find("team", "run") is None
    assert cluster.writes("POST pods", began) == 0
    cluster.api.put(RUN, experiment(SIZE))
    await cluster.starts(SIZE)
    assert (cluster.status["phase"], cluster.status["epoch"]) == ("Running", 0)


@BUMPS
@virtually
async def test_an_experiment_that_was_deleted_since_the_backup_runs_again(
    cluster: Cluster, daemon: Daemon, bump: int
) -> None:
    twice = await gang(cluster)
    backup = cluster.api.history.version
    cluster.api.remove(RUN)
    await asyncio.sleep(5)
    assert daemon.find("team", "run") is None
    cluster.api.restore(backup, bump)
    await asyncio.sleep(SEEN)
    assert daemon.find("team", "run") is not None
    assert (cluster.status["phase"], twice.epochs(), twice.found) == ("Running", {"0": SIZE}, [])
