"""A status that cannot be read never counts as none: that would start epoch 0 beside the epoch that runs."""

from typing import Any

import pytest

from muster.daemon.experiments.index import ExperimentIndex
from muster.state.vocabulary.record import Phase, to_status
from muster.tracking.entry import Entry
from tests.builders import edited, record
from tests.daemon.experiments.test_index import UID, run

RUNNING = to_status(record(phase=Phase.RUNNING, epoch=3))


class Watched:
    """One experiment, as the watch delivers it."""

    def __init__(self) -> None:
        self.index = ExperimentIndex(wanted=lambda _: None, gone=lambda _: None)
        self.version = 0

    def says(self, status: Any, **spec: Any) -> Entry:
        self.version += 1
        self.index.experiment_changed(None, run(self.version, status, **spec))
        return self.index.entries[UID]


@pytest.mark.parametrize(
    "spoiled", [RUNNING | {"epoch": "3"}, RUNNING | {"phase": None}, RUNNING | {"phase": "Dreaming"}, "Running", [], 7]
)
def test_a_running_experiment_whose_status_is_spoiled_is_left_alone(spoiled: Any) -> None:
    watched = Watched()
    before = watched.says(RUNNING)
    assert before.record is not None
    assert before.plan is not None

    after = watched.says(spoiled)
    assert (after.plan, after.unreadable) == (None, True)
    assert after.problem.startswith("status: ")

    mended = watched.says(RUNNING)
    assert (mended.unreadable, mended.problem) == (False, "")
    assert mended.plan is not None
    assert mended.record is not None
    assert mended.record.epoch == 3


def test_a_status_that_somebody_removed_is_a_fresh_start() -> None:
    watched = Watched()
    watched.says(RUNNING)
    entry = watched.says(None)
    assert (entry.record, entry.unreadable) == (None, False)
    assert entry.plan is not None


def test_a_spec_that_was_spoiled_leaves_the_last_good_plan_at_work() -> None:
    watched = Watched()
    plan = watched.says(RUNNING).plan
    entry = watched.says(RUNNING, image="")
    assert plan is not None
    assert entry.plan == edited(plan, problem=entry.problem)
    assert "spec.image" in entry.problem
    assert watched.says(RUNNING).plan == plan


def test_a_spec_is_read_once_for_each_of_its_generations() -> None:
    watched = Watched()
    plan = watched.says(None).plan
    assert watched.says(RUNNING).plan is plan
    assert watched.says(RUNNING, suspend=True).plan != plan
