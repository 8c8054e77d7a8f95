"""What hurts an experiment, in which order, and where that puts it among others."""

from typing import Any

import pytest

from muster.api.conditions import Condition, ConditionType
from muster.api.gang import RollCall
from muster.api.status import ExperimentStatus, Phase
from muster.state.facts.hang import HUNG
from muster.state.summary.hurt import NEAR, NOTHING, OVER, RECENT, Hurt, hurts, place, seen_in
from tests.builders import NOW

RUNNING = ExperimentStatus(phase=Phase.RUNNING, phase_at=NOW)
LIVE = [phase for phase in Phase if phase not in (Phase.SUCCEEDED, Phase.FAILED)]


def status(phase: Phase = Phase.RUNNING, **fields: Any) -> ExperimentStatus:
    return ExperimentStatus(phase=phase, phase_at=NOW, **fields)


def condition(kind: ConditionType, holds: bool | None, reason: str) -> Condition:
    return Condition(kind, holds, reason, "", 1, NOW)


def stuck(reason: str, holds: bool | None = True) -> tuple[Condition, ...]:
    return (condition(ConditionType.SCHEDULED, True, "AllPodsScheduled"), condition(ConditionType.STUCK, holds, reason))


@pytest.mark.parametrize(
    ("reason", "holds", "expected"),
    [
        ("NotStuck", False, ()),
        (HUNG, True, (Hurt.HUNG, Hurt.STUCK)),
        ("RanksMissing", True, (Hurt.STUCK,)),
        (HUNG, False, ()),
        (HUNG, None, ()),
    ],
)
def test_a_true_condition_stuck_hurts_and_its_reason_says_whether_the_gang_hangs(
    reason: str, holds: bool | None, expected: tuple[Hurt, ...]
) -> None:
    assert hurts(status(conditions=stuck(reason, holds)), missing=False, deadline_near=False) == expected


@pytest.mark.parametrize("phase", LIVE)
def test_missing_ranks_hurt_only_while_programs_run(phase: Phase) -> None:
    found = hurts(status(phase), missing=True, deadline_near=False)
    assert (Hurt.MISSING in found) is (phase in (Phase.ASSEMBLING, Phase.RUNNING))


@pytest.mark.parametrize(("phase", "hurt"), [(Phase.RESTARTING, Hurt.RESTARTING), (Phase.QUEUED, Hurt.QUEUED)])
def test_a_restart_and_a_queue_hurt_by_their_phase(phase: Phase, hurt: Hurt) -> None:
    assert hurts(status(phase), missing=False, deadline_near=False) == (hurt,)
    assert hurts(status(phase), missing=False, deadline_near=True) == tuple(
        each for each in Hurt if each in (hurt, Hurt.DEADLINE)
    )


def test_all_that_hurts_is_named_with_the_worst_first() -> None:
    found = hurts(status(conditions=stuck(HUNG)), missing=True, deadline_near=True)
    assert found == (Hurt.HUNG, Hurt.STUCK, Hurt.MISSING, Hurt.DEADLINE)


def test_an_experiment_that_is_over_is_hurt_by_its_failure_alone() -> None:
    for phase, expected in ((Phase.FAILED, (Hurt.FAILED,)), (Phase.SUCCEEDED, ())):
        assert hurts(status(phase, conditions=stuck(HUNG)), missing=True, deadline_near=True) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ()),
        ({"roll": RollCall(4, 4)}, ()),
        ({"roll": RollCall(4, 3, (2,))}, (Hurt.MISSING,)),
        ({"deadline": NOW + NEAR}, ()),
        ({"deadline": NOW + NEAR - 1}, (Hurt.DEADLINE,)),
        ({"deadline": NOW + NEAR - 1, "started_at": NOW - 28}, ()),
        ({"deadline": NOW + 61, "started_at": NOW - 539}, ()),
        ({"deadline": NOW + 59, "started_at": NOW - 541}, (Hurt.DEADLINE,)),
        ({"deadline": NOW - 1}, (Hurt.DEADLINE,)),
    ],
)
def test_the_status_shows_missing_ranks_and_a_near_deadline(fields: dict[str, Any], expected: tuple[Hurt, ...]) -> None:
    assert seen_in(status(**fields), NOW) == expected


def test_the_place_is_that_of_the_worst_hurt() -> None:
    places = [place(RUNNING, (hurt,), NOW) for hurt in Hurt]
    assert places == sorted(set(places))
    assert place(RUNNING, (Hurt.STUCK, Hurt.DEADLINE), NOW) == place(RUNNING, (Hurt.STUCK,), NOW)
    assert places[-1] < place(RUNNING, (), NOW) == NOTHING < OVER


@pytest.mark.parametrize(
    ("finished_at", "after", "recent"), [(NOW, RECENT - 1, True), (NOW, RECENT, False), (None, RECENT - 1, True)]
)
def test_a_failure_stands_among_the_hurt_for_a_day(finished_at: float | None, after: float, recent: bool) -> None:
    failed = status(Phase.FAILED, finished_at=finished_at)
    expected = list(Hurt).index(Hurt.FAILED) if recent else OVER
    assert place(failed, (Hurt.FAILED,), NOW + after) == expected
    assert place(status(Phase.SUCCEEDED, finished_at=finished_at), (), NOW) == OVER, "a success is over at once"
