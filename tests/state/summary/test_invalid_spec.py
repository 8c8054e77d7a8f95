"""An experiment that cannot be planned fails at once and says why."""

from muster.state.record import Condition, ConditionType, Phase, Record, StoryLine
from muster.state.summary.invalid_spec import refuse
from tests.builders import NOW


def test_its_first_record_is_its_last() -> None:
    why = "spec.image: missing"
    assert refuse(4, why, NOW) == Record(
        generation=4,
        phase=Phase.FAILED,
        phase_at=NOW,
        reason="InvalidSpec",
        message=why,
        finished_at=NOW,
        updated_at=NOW,
        conditions=(
            Condition(ConditionType.FAILED, True, "InvalidSpec", why, 4, NOW),
            Condition(ConditionType.FINISHED, True, "InvalidSpec", why, 4, NOW),
        ),
        story=(StoryLine(NOW, 0, "InvalidSpec", why, warning=True),),
    )
