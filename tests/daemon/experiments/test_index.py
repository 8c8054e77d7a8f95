"""The index: the facts of an experiment, in any order of their arrival, and nothing when it is gone."""

from typing import Any

import msgspec
import pytest

from muster.api.names import FINALIZER_QUOTA
from muster.daemon.experiments import reading
from muster.daemon.experiments.index import ExperimentIndex
from muster.state.vocabulary.record import to_status
from muster.state.vocabulary.workload import Workload
from muster.watchers.experiments import DECODER, ExperimentRecord
from muster.watchers.metadata import ServiceRecord
from tests.builders import NOW, pod, record
from tests.fuzz.samples import SPECS, experiment
from tests.fuzz.world import line_of

UID = "uid-1"
SERVICE = ServiceRecord(uid="service-1", name="run", namespace="team", resource_version=3, owner=UID)
POD = pod(0, owner=UID)


@pytest.fixture
def index() -> ExperimentIndex:
    return ExperimentIndex(wanted=lambda uid: None, gone=lambda uid: None)


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


def test_a_workload_that_waits_for_muster_is_let_go_when_its_experiment_and_pods_are_gone() -> None:
    wanted: list[str] = []
    index = ExperimentIndex(wanted=wanted.append, gone=lambda uid: None)
    seen, leaving = run(), Workload("w", "run-1", "team", UID, 5, 1, "q", True, True, (FINALIZER_QUOTA,))
    index.experiment_changed(None, seen)
    index.pod_changed(None, POD)
    index.workload_changed(None, leaving)
    assert index.orphans(UID) == []
    index.experiment_changed(seen, None)
    assert index.orphans(UID) == [], "a pod may still run"
    wanted.clear()
    index.pod_changed(POD, None)
    assert (wanted, index.orphans(UID), index.vanished(UID)) == ([UID], [], [POD]), "it may have lost its label and run"
    index.ended(UID, [POD])
    assert (index.orphans(UID), index.vanished(UID), index.orphaned()) == ([leaving], [], {UID})
    index.workload_changed(leaving, None)
    assert (index.members, index.orphaned()) == ({}, set())


def test_the_deletion_of_an_experiment_that_is_seen_last_lets_its_workload_go() -> None:
    wanted: list[str] = []
    index = ExperimentIndex(wanted=wanted.append, gone=lambda uid: None)
    seen, leaving = run(), Workload("w", "run-1", "team", UID, 5, 1, "q", True, True, (FINALIZER_QUOTA,))
    index.experiment_changed(None, seen)
    index.workload_changed(None, leaving)
    wanted.clear()
    index.experiment_changed(seen, None)
    assert (wanted, index.orphans(UID)) == ([UID], [leaving])


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


def test_only_news_asks_for_a_turn() -> None:
    turns: list[str] = []
    index = ExperimentIndex(wanted=turns.append, gone=lambda uid: None)
    index.experiment_changed(None, run())
    index.pod_changed(None, POD)
    turns.clear()
    annotated = msgspec.structs.replace(POD, resource_version=POD.resource_version + 1)
    index.pod_changed(POD, annotated)
    assert turns == []
    assert index.entries[UID].view.of(0).members[0] is annotated
    index.pod_changed(annotated, msgspec.structs.replace(annotated, ready=False))
    assert turns == [UID]


def test_a_record_that_somebody_else_wrote_is_told_from_an_object_that_somebody_edited(index: ExperimentIndex) -> None:
    written = to_status(record(updated_at=NOW))
    index.experiment_changed(None, run(5, written))
    assert index.entries[UID].freshness.object_version == 5
    index.experiment_changed(None, run(6, written))
    assert index.entries[UID].freshness.object_version == 5
    index.experiment_changed(None, run(7, to_status(record(updated_at=NOW + 1))))
    assert index.entries[UID].freshness.object_version == 7


def test_a_defect_in_planning_is_raised_and_of_another_kind_its_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("plan_of", "plan_as_begun"):
        monkeypatch.setattr(reading, name, lambda *_: int("x"))
    with pytest.raises(ValueError, match="invalid literal"):
        reading.read(run())
    seen = ExperimentRecord("uid", "team", "run", 1, 1, deleting=False, spec=b"{}", status=b"{}", kind="JobSet")
    assert reading.read(seen).problem.startswith("spec: not readable: invalid literal")
