"""No decision uses caches older than our own writes or the record, and after a restored backup versions start again."""

from collections.abc import Callable

import pytest

from muster.daemon.experiments.index import ExperimentIndex
from muster.kube.listwatch.store import Store
from muster.state.view.engine_facts import LiveRead
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Phase, Record, to_status
from muster.tracking.entry import Entry, Freshness, Readiness, Unanswered
from muster.watchers.experiments import ExperimentRecord, stripped
from tests.builders import NOW, pod, record
from tests.daemon.experiments.test_index import UID, run

OLD = record(phase=Phase.RUNNING, epoch=0, started_at=NOW, epoch_at=NOW, updated_at=NOW)
NEW = record(phase=Phase.RUNNING, epoch=1, started_at=NOW, epoch_at=NOW, updated_at=NOW + 60)
BACKUP = 500
"""The resourceVersion of the backup."""


class Caches:
    """The stores of a daemon that has written a record and pods at versions which the backup does not have."""

    def __init__(self) -> None:
        self.wanted: list[str] = []
        self.index = ExperimentIndex(wanted=self.wanted.append, gone=lambda uid: None)
        self.experiments = Store[ExperimentRecord](
            self.index.experiment_changed, keep=stripped, on_back=self.index.experiments_went_back
        )
        self.pods = Store[Pod](self.index.pod_changed, on_back=self.index.pods_went_back)
        self.experiments.replace({UID: run(900, to_status(OLD))}, 1000)
        self.pods.replace({"pod-0-1": pod(0, owner=UID, epoch=1, resource_version=950)}, 1000)
        entry = self.entry
        entry.record, entry.freshness.version = NEW, 1200  # our own write, which the watch has not delivered yet
        entry.freshness.pods_due = 1300
        entry.freshness.object_version = 1250
        entry.view.engine.live_read = LiveRead(NOW, 1300)
        entry.view.engine.confirmed = 1
        entry.view.engine.deleting[pod(0, owner=UID, epoch=1).uid] = 0
        entry.unanswered = [Unanswered(1200, OLD, NEW, ())]
        self.wanted.clear()

    @property
    def entry(self) -> Entry:
        return self.index.entries[UID]

    def ready(self) -> Readiness:
        entry = self.entry
        live_read = entry.view.engine.live_read
        return entry.freshness.ready(seen=entry.seen.resource_version, pods=self.pods.version, live_read=live_read)


@pytest.fixture
def caches() -> Caches:
    return Caches()


@pytest.mark.parametrize(("version", "status"), [(400, OLD), (900, OLD)])
@pytest.mark.parametrize("pods_first", [False, True])
def test_a_restored_backup_is_followed_at_once(caches: Caches, version: int, status: Record, pods_first: bool) -> None:
    """Before, steps waited until the versions had come up to those of our lost writes."""
    assert caches.ready() is Readiness.WAIT
    restored: list[Callable[[], None]] = [
        lambda: caches.experiments.replace({UID: run(version, to_status(status))}, max(version, BACKUP)),
        lambda: caches.pods.replace({"pod-0-0": pod(0, owner=UID, resource_version=300)}, BACKUP),
    ]
    for relist in reversed(restored) if pods_first else restored:
        relist()
    entry = caches.entry
    assert (entry.record, entry.freshness.version) == (status, version)
    assert entry.plan is not None
    assert entry.unanswered == []
    assert caches.ready() is not Readiness.WAIT
    caches.pods.reached(version)
    assert caches.ready() is Readiness.DECIDE
    engine = entry.view.engine
    assert (engine.confirmed, engine.live_read, engine.deleting) == (-1, None, {})
    assert UID in caches.wanted


def test_an_experiment_that_the_backup_does_not_have_is_gone(caches: Caches) -> None:
    caches.experiments.replace({}, BACKUP)
    assert not caches.index.entries


def test_a_list_that_is_not_older_forgets_nothing(caches: Caches) -> None:
    caches.experiments.replace({UID: run(900, to_status(OLD))}, 1000)
    caches.pods.replace({"pod-0-1": pod(0, owner=UID, epoch=1, resource_version=950)}, 1000)
    assert (caches.entry.record, caches.entry.freshness.version) == (NEW, 1200)
    assert caches.entry.freshness.pods_due == 1300
    assert caches.ready() is Readiness.WAIT


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
