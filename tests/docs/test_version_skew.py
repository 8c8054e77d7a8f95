"""What docs/upgrading.md says of versions that meet: an old status, a newer status, a kind of another version."""

from pathlib import Path
from typing import Any

import pytest

import muster
from muster.api.status import ExperimentStatus
from muster.state.vocabulary.actions import DeletePods, StopPods
from muster.state.vocabulary.record import Phase, StatusError, from_status, to_status
from tests.api.test_status_objects import FULL
from tests.builders import plan
from tests.state.story import Story

DOCS = Path(__file__).parents[2] / "docs"
WRITTEN = FULL.to_object()
SINCE_013 = ("goodput", "brokenTime")
"""Fields that daemons before metrics of goodput did not write."""


@pytest.mark.parametrize("field", sorted(set(WRITTEN) - {"phase"}))
def test_a_status_without_any_one_field_is_read(field: str) -> None:
    old = {name: value for name, value in WRITTEN.items() if name != field}
    read = from_status(old)
    assert read is not None
    assert {name: value for name, value in to_status(read).items() if name != field} == old


def test_this_version_has_its_notes_and_its_changes() -> None:
    changes = (DOCS.parent / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n### To {muster.__version__}" in changes
    assert f"Version {muster.__version__} " in changes or f"\n## [{muster.__version__}]" in changes


def test_a_field_of_a_newer_version_changes_nothing() -> None:
    newer: dict[str, Any] = {**WRITTEN, "progress": {"step": 7}, "cause": {**WRITTEN["cause"], "stack": ["a", "b"]}}
    assert from_status(newer) == from_status(WRITTEN)
    assert ExperimentStatus.from_object(newer) == FULL


def test_a_phase_of_a_newer_version_is_shown_as_it_is() -> None:
    newer = {**WRITTEN, "phase": "Resizing"}
    assert ExperimentStatus.from_object(newer).phase == "Resizing"
    with pytest.raises(StatusError, match="'Resizing' is not a phase that this version of Muster has"):
        from_status(newer)


def test_a_running_experiment_of_an_older_daemon_goes_on() -> None:
    story = Story(plan())
    story.assemble()
    old = {name: value for name, value in to_status(story.kept).items() if name not in SINCE_013}
    story.record = from_status(old)
    actions = [action for _ in range(5) for action in story.look(60)]
    assert not [action for action in actions if isinstance(action, DeletePods | StopPods)]
    assert (story.kept.phase, story.kept.epoch, story.kept.restarts) == (Phase.RUNNING, 0, 0)
