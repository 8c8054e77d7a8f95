"""What waits in a queue says what Kueue says, and what a person does about it, also to a reader of the status alone."""

import pytest

from muster.state.facts.admission import HOPELESS
from muster.state.facts.causes.on_its_way import STEPS, step_of
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.diagnose import diagnose
from muster.state.vocabulary.record import Condition, ConditionType, Phase, Record
from tests.builders import NOW, plan, record, view

WAITS = "queued in team-a: insufficient unused quota for cpu in flavor standard, 4 more needed"


def queued(message: str, stuck: str = "") -> Record:
    state = Condition(ConditionType.STUCK, bool(stuck), stuck or "NotStuck", message if stuck else "", 1, NOW)
    return record(phase=Phase.QUEUED, message=message, conditions=(state,))


def test_what_is_queued_behind_others_says_what_kueue_says_and_waits() -> None:
    (found,) = diagnose(Context.at(plan(), queued(WAITS), view(), NOW))
    assert (found.what, found.evidence) == ("waiting in a queue", WAITS)
    assert found.next_step.startswith("nothing, if the queue is full: it is admitted in its turn")


@pytest.mark.parametrize("reason", [*STEPS, "DeactivatedDueToRequeuingLimitExceeded"])
def test_a_queue_that_never_admits_names_its_reason_and_what_a_person_does(reason: str) -> None:
    (found,) = diagnose(Context.at(plan(), queued("queued in team-a: no", reason), view(), NOW))
    assert (found.what, found.evidence) == (f"waiting in a queue: {reason}", "queued in team-a: no")
    assert found.next_step == step_of(reason).replace("NAMESPACE", "team")


def test_every_reason_that_lasts_until_a_person_acts_has_a_step() -> None:
    assert set(STEPS) >= HOPELESS
