"""Pods and Services that name an Experiment as their owner, and are not its own, decide nothing of it."""

import msgspec
import pytest

from muster.daemon.experiments.index import ExperimentIndex
from muster.state.decide.machine import Decision, decide
from muster.state.vocabulary.pod import Pod, PodPhase
from muster.state.vocabulary.record import Phase, to_status
from muster.tracking.entry import Entry
from muster.watchers.metadata import ServiceRecord
from tests.builders import NOW, pod, record
from tests.daemon.experiments.test_index import SERVICE, UID, run

RUNNING = record(phase=Phase.RUNNING, started_at=NOW, epoch_at=NOW, scheduled_at=NOW, assembled_at=NOW)
SIZE = 4


@pytest.fixture
def asked() -> list[str]:
    return []


@pytest.fixture
def index(asked: list[str]) -> ExperimentIndex:
    return ExperimentIndex(wanted=asked.append, gone=lambda uid: None)


def forged(rank: int, **changes: object) -> Pod:
    """Return the pod of a member, in another namespace."""
    usual: dict[str, object] = {"uid": f"forged-{rank}", "namespace": "evil", "owner": UID}
    return pod(rank, **usual | changes)


def running(index: ExperimentIndex) -> Entry:
    index.experiment_changed(None, run(1, to_status(RUNNING)))
    for rank in range(SIZE):
        index.pod_changed(None, pod(rank, owner=UID))
    index.service_changed(None, SERVICE)
    entry = index.entries[UID]
    entry.view.engine.confirmed = 0
    return entry


def decision(entry: Entry) -> Decision:
    assert entry.plan is not None
    return decide(entry.plan, entry.record, entry.view, NOW + 1)


FORGERIES = {
    "that succeed": {"phase": PodPhase.SUCCEEDED},
    "that fail": {"phase": PodPhase.FAILED},
    "that are evicted": {"phase": PodPhase.FAILED, "disruption": "EvictionByEvictionAPI"},
    "that are deleted and do not go": {"terminating": True},
    "of an older epoch that do not go": {"epoch": 1, "terminating": True},
    "of an epoch that nobody reaches": {"epoch": 10**9},
    "of a negative epoch": {"epoch": -1},
}


@pytest.mark.parametrize("changes", FORGERIES.values(), ids=FORGERIES.keys())
@pytest.mark.parametrize("namespace", ["evil", "team"])
def test_forged_pods_decide_nothing(
    index: ExperimentIndex, asked: list[str], namespace: str, changes: dict[str, object]
) -> None:
    entry = running(index)
    before = decision(entry)
    asked.clear()
    for rank in range(SIZE):
        name = {} if namespace == "evil" else {"name": f"forged-{rank}"}
        index.pod_changed(None, forged(rank, namespace=namespace, **name, **changes))
    assert decision(entry) == before
    assert before.probe is not None
    assert before.probe.uid == "pod-0-0"
    assert asked == []
    reason = "namespace" if namespace == "evil" else "identity"
    assert index.foreign_pods()[reason] == SIZE


def test_forged_pods_that_arrive_before_the_experiment_decide_nothing(index: ExperimentIndex) -> None:
    for rank in range(SIZE):
        index.pod_changed(None, forged(rank, phase=PodPhase.SUCCEEDED))
    entry = running(index)
    assert decision(entry).record.phase is Phase.RUNNING
    assert entry.view.of(0).pods == SIZE


def test_forged_pods_leave_nothing_behind(index: ExperimentIndex) -> None:
    running(index)
    fake = forged(0)
    index.pod_changed(None, fake)
    index.pod_changed(fake, None)
    assert list(index.members) == [("team", UID)]
    assert sum(index.foreign_pods().values()) == 0


@pytest.mark.parametrize("changes", [{"namespace": "evil"}, {"name": "other"}])
def test_a_forged_service_is_not_the_experiments(index: ExperimentIndex, changes: dict[str, str]) -> None:
    fake: ServiceRecord = msgspec.structs.replace(SERVICE, uid="forged", **changes)
    index.service_changed(None, fake)
    index.experiment_changed(None, run())
    assert not index.entries[UID].view.engine.service
    index.service_changed(None, SERVICE)
    index.service_changed(fake, None)
    assert index.entries[UID].view.engine.service
