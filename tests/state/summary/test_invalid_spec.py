"""An experiment that cannot be planned fails at once and says why."""

import pytest

from muster.state.summary.history import halt, refuse
from muster.state.vocabulary.record import Condition, ConditionType, Phase
from tests.builders import NOW, record, sure


def test_its_first_record_is_its_last() -> None:
    found = refuse(4, "spec.image: missing", NOW)
    assert (found.phase, found.reason, found.message) == (Phase.FAILED, "InvalidSpec", "spec.image: missing")
    assert (found.generation, found.finished_at) == (4, NOW)
    assert [each.type for each in found.conditions if each.status] == [ConditionType.FAILED, ConditionType.FINISHED]
    assert [line.reason for line in found.story] == ["InvalidSpec"]


def test_a_run_that_has_begun_is_stuck_and_says_so_once_for_each_edit() -> None:
    before = record(phase=Phase.RUNNING, epoch=2)
    halted = sure(halt(before, 4, "spec.image: missing", NOW))
    assert (halted.phase, halted.epoch, halted.finished) == (Phase.RUNNING, 2, False)
    stuck = halted.condition(ConditionType.STUCK)
    assert stuck == Condition(ConditionType.STUCK, True, "InvalidSpec", halted.message, 4, NOW)
    assert halted.message.startswith("spec.image: missing; Muster leaves the pods as they are")
    assert [line.reason for line in halted.story] == ["InvalidSpec"]
    assert halt(halted, 4, "spec.image: missing", NOW + 60) is None
    assert halt(halted, 5, "spec.image: empty", NOW + 60) is not None


@pytest.mark.parametrize("phase", [Phase.SUCCEEDED, Phase.FAILED])
def test_a_run_that_has_ended_is_not_called_stuck(phase: Phase) -> None:
    assert halt(record(phase=phase), 4, "spec.image: missing", NOW) is None
