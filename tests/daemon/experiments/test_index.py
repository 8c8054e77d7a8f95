"""The index: the facts of an experiment in any order, and nothing of what is gone, forged or spoiled."""

from typing import Any

import msgspec
import pytest

from muster.api.names import FINALIZER_QUOTA
from muster.daemon.experiments import reading
from muster.daemon.experiments.index import ExperimentIndex
from muster.state.decide.machine import Decision, decide
from muster.state.vocabulary.pod import Pod, PodPhase
from muster.state.vocabulary.record import Phase, to_status
from muster.state.vocabulary.workload import Workload
from muster.tracking.entry import Entry
from muster.watchers.experiments import DECODER, ExperimentRecord
from muster.watchers.metadata import ServiceRecord
from tests.builders import NOW, edited, pod, record
from tests.fuzz.samples import SPECS, experiment
from tests.fuzz.world import line_of

UID = "uid-1"
SERVICE = ServiceRecord(uid="service-1", name="run", namespace="team", resource_version=3, owner=UID)
POD = pod(0, owner=UID)


@pytest.fixture
def asked() -> list[str]:
    return []


@pytest.fixture
def index(asked: list[str]) -> ExperimentIndex:
    return ExperimentIndex(wanted=asked.append, gone=lambda uid: None)


def run(version: int = 1, status: Any = None, **spec: Any) -> ExperimentRecord:
    """Return the Experiment as the watch decodes it."""
    found = DECODER.event(line_of("ADDED", experiment(UID, "run", SPECS[0] | spec, version, status))).obj
    assert found is not None
    return found


def test_pods_and_service_that_are_heard_of_first_wait_for_their_experiment(index: ExperimentIndex) -> None:
    index.pod_changed(None, POD)
    index.service_changed(None, SERVICE)
    index.experiment_changed(None, run())
    assert list(index.entries[UID].view.pods()) == [POD]
    assert index.entries[UID].view.engine.service


@pytest.mark.parametrize("order", [("experiment", "pod", "service"), ("service", "experiment", "pod")])
def test_nothing_is_kept_of_what_is_gone(index: ExperimentIndex, order: tuple[str, ...]) -> None:
    seen = run()
    index.experiment_changed(None, seen)
    index.pod_changed(None, POD)
    index.service_changed(None, SERVICE)
    goes = {
        "experiment": lambda: index.experiment_changed(seen, None),
        "pod": lambda: index.pod_changed(POD, None),
        "service": lambda: index.service_changed(SERVICE, None),
    }
    for name in order:
        goes[name]()
    assert (index.entries, index.members, index.pods) == ({}, {}, 0)


def test_a_workload_that_waits_for_muster_is_let_go_when_its_experiment_and_pods_are_gone(
    index: ExperimentIndex, asked: list[str]
) -> None:
    seen, leaving = run(), Workload("w", "run-1", "team", UID, 5, 1, "q", True, True, (FINALIZER_QUOTA,))
    index.experiment_changed(None, seen)
    index.pod_changed(None, POD)
    index.workload_changed(None, leaving)
    assert index.orphans(UID) == []
    index.experiment_changed(seen, None)
    assert index.orphans(UID) == [], "a pod may still run"
    asked.clear()
    index.pod_changed(POD, None)
    assert (asked, index.orphans(UID), index.vanished(UID)) == ([UID], [], [POD]), "it may have lost its label and run"
    index.ended(UID, [POD])
    assert (index.orphans(UID), index.vanished(UID), index.orphaned()) == ([leaving], [], {UID})
    index.workload_changed(leaving, None)
    assert (index.members, index.orphaned()) == ({}, set())


def test_the_deletion_of_an_experiment_that_is_seen_last_lets_its_workload_go(
    index: ExperimentIndex, asked: list[str]
) -> None:
    seen, leaving = run(), Workload("w", "run-1", "team", UID, 5, 1, "q", True, True, (FINALIZER_QUOTA,))
    index.experiment_changed(None, seen)
    index.workload_changed(None, leaving)
    asked.clear()
    index.experiment_changed(seen, None)
    assert (asked, index.orphans(UID)) == ([UID], [leaving])


def test_a_service_that_only_we_know_of_is_forgotten_with_its_experiment(index: ExperimentIndex) -> None:
    """We made it, and everything was deleted before the watch showed it: nothing will ever report that it is gone."""
    seen = run()
    index.experiment_changed(None, seen)
    index.pod_changed(None, POD)
    index.entries[UID].view.engine.service = True
    index.experiment_changed(seen, None)
    index.pod_changed(POD, None)
    assert index.members == {}


def test_a_service_that_changes_hands_is_gone_for_its_first_owner(index: ExperimentIndex) -> None:
    index.experiment_changed(None, run())
    index.service_changed(None, SERVICE)
    taken = msgspec.structs.replace(SERVICE, owner="uid-2")
    index.service_changed(SERVICE, taken)
    assert not index.entries[UID].view.engine.service
    index.service_changed(taken, None)
    assert list(index.members) == [("team", UID)]


def test_only_news_asks_for_a_turn(index: ExperimentIndex, asked: list[str]) -> None:
    index.experiment_changed(None, run())
    index.pod_changed(None, POD)
    asked.clear()
    annotated = msgspec.structs.replace(POD, resource_version=POD.resource_version + 1)
    index.pod_changed(POD, annotated)
    assert asked == []
    assert index.entries[UID].view.of(0).members[0] is annotated
    index.pod_changed(annotated, msgspec.structs.replace(annotated, ready=False))
    assert asked == [UID]


def test_a_record_that_somebody_else_wrote_is_told_from_an_object_that_somebody_edited(index: ExperimentIndex) -> None:
    written = to_status(record(updated_at=NOW))
    index.experiment_changed(None, run(5, written))
    assert index.entries[UID].freshness.object_version == 5
    index.experiment_changed(None, run(6, written))
    assert index.entries[UID].freshness.object_version == 5
    index.experiment_changed(None, run(7, to_status(record(updated_at=NOW + 1))))
    assert index.entries[UID].freshness.object_version == 7


def test_a_defect_in_planning_is_raised_and_of_another_kind_its_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("plan_of", "plan_as_begun"):
        monkeypatch.setattr(reading, name, lambda *_: int("x"))
    with pytest.raises(ValueError, match="invalid literal"):
        reading.read(run())
    seen = ExperimentRecord("uid", "team", "run", 1, 1, deleting=False, spec=b"{}", status=b"{}", kind="JobSet")
    assert reading.read(seen).problem.startswith("spec: not readable: invalid literal")


RUNNING = to_status(record(phase=Phase.RUNNING, epoch=3))


class Watched:
    """One experiment, as the watch delivers it."""

    def __init__(self) -> None:
        self.index = ExperimentIndex(wanted=lambda _: None, gone=lambda _: None)
        self.version = 0

    def reports(self, status: Any, **spec: Any) -> Entry:
        self.version += 1
        self.index.experiment_changed(None, run(self.version, status, **spec))
        return self.index.entries[UID]


@pytest.mark.parametrize(
    "spoiled", [RUNNING | {"epoch": "3"}, RUNNING | {"phase": None}, RUNNING | {"phase": "Dreaming"}, "Running", [], 7]
)
def test_a_running_experiment_whose_status_is_spoiled_is_left_alone(spoiled: Any) -> None:
    watched = Watched()
    before = watched.reports(RUNNING)
    assert before.record is not None
    assert before.plan is not None

    after = watched.reports(spoiled)
    assert (after.plan, after.unreadable) == (None, True)
    assert after.problem.startswith("status: ")

    mended = watched.reports(RUNNING)
    assert (mended.unreadable, mended.problem) == (False, "")
    assert mended.plan is not None
    assert mended.record is not None
    assert mended.record.epoch == 3


def test_a_status_that_somebody_removed_is_a_fresh_start() -> None:
    watched = Watched()
    watched.reports(RUNNING)
    entry = watched.reports(None)
    assert (entry.record, entry.unreadable) == (None, False)
    assert entry.plan is not None


def test_a_spec_that_was_spoiled_leaves_the_last_good_plan_at_work() -> None:
    watched = Watched()
    plan = watched.reports(RUNNING).plan
    entry = watched.reports(RUNNING, image="")
    assert plan is not None
    assert entry.plan == edited(plan, problem=entry.problem)
    assert "spec.image" in entry.problem
    assert watched.reports(RUNNING).plan == plan


def test_a_spec_is_read_once_for_each_of_its_generations() -> None:
    watched = Watched()
    plan = watched.reports(None).plan
    assert watched.reports(RUNNING).plan is plan
    assert watched.reports(RUNNING, suspend=True).plan != plan


AT_WORK = record(phase=Phase.RUNNING, started_at=NOW, epoch_at=NOW, scheduled_at=NOW, assembled_at=NOW)
SIZE = 4


def forged(rank: int, **changes: object) -> Pod:
    """Return the pod of a member, in another namespace."""
    usual: dict[str, object] = {"uid": f"forged-{rank}", "namespace": "evil", "owner": UID}
    return pod(rank, **usual | changes)


def at_work(index: ExperimentIndex) -> Entry:
    index.experiment_changed(None, run(1, to_status(AT_WORK)))
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
    entry = at_work(index)
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
    entry = at_work(index)
    assert decision(entry).record.phase is Phase.RUNNING
    assert entry.view.of(0).pods == SIZE


def test_forged_pods_leave_nothing_behind(index: ExperimentIndex) -> None:
    at_work(index)
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
