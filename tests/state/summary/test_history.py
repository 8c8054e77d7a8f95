"""The story: one line per turn, from the difference of two records, and never more than sixty-four."""

from math import inf
from typing import Any

import pytest
from msgspec.structs import replace

from muster.api.gang import SameFailure
from muster.api.status import STORY_LINES
from muster.state.summary.history import KEPT_FIRST, append, halt, new_lines, refuse, unreadable
from muster.state.vocabulary.plan import Engine
from muster.state.vocabulary.record import Cause, Condition, ConditionType, Phase, Record, StoryLine
from tests.builders import NOW, plan, record

WATCHED = plan(engine=Engine.WATCH)
RAN = record(phase=Phase.RUNNING)
AGAIN = record(phase=Phase.RUNNING, epoch=1, cause=Cause(0, "Error", "", NOW))
"""An epoch after one that has failed: its suspension is no restart."""


def lines(before: Record | None, after: Record) -> list[tuple[str, str, bool]]:
    told = new_lines(plan(), before, after, NOW + 3)
    assert all((line.at, line.epoch) == (NOW + 3, after.epoch) for line in told)
    return [(line.reason, line.message, line.warning) for line in told]


def condition(kind: ConditionType, status: bool, reason: str = "Because", message: str = "so") -> Condition:
    return Condition(kind, status, reason, message, 1, NOW)


OVER = record(phase=Phase.FAILED, reason="Cancelled", message="x")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (record(), record(ready=2, message="2/4")),
        (record(phase=Phase.ASSEMBLING), record(phase=Phase.PENDING)),
        (OVER, OVER),
        (record(), record(conditions=(condition(ConditionType.ASSEMBLED, True),))),
    ],
    ids=["counts", "back to Pending", "over", "another condition"],
)
def test_what_is_no_turn_has_no_line(before: Record, after: Record) -> None:
    assert lines(before, after) == []


def test_it_may_begin_and_end_at_once() -> None:
    after = record(phase=Phase.SUCCEEDED, size=0, reason="AllMembersSucceeded", message="no members were asked for")
    assert lines(None, after) == [
        ("Started", "starting 0 members", False),
        ("AllMembersSucceeded", "no members were asked for", False),
    ]


@pytest.mark.parametrize(
    ("disruption", "counted", "kind"),
    [
        (False, True, "restart 3 of 3"),
        (True, False, "disruption, not counted"),
        (False, False, "not counted"),  # a failure rule decides that
        (True, True, "disruption, restart 3 of 3"),
    ],
)
def test_a_restart_names_its_cause_and_says_whether_it_counts(disruption: bool, counted: bool, kind: str) -> None:
    cause = Cause(1, "Error", "boom", NOW, pod="p-2", rank=2, exit_code=1, disruption=disruption)
    before = record(phase=Phase.RUNNING, epoch=1, restarts=2 if counted else 3)
    after = record(phase=Phase.RESTARTING, epoch=2, restarts=3, cause=cause)
    assert lines(before, after) == [
        ("GangRestart", f"epoch 1 ended ({kind}): rank 2 (p-2) ended with exit code 1: boom", True)
    ]


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        (None, record(size=4), ("Started", "starting 4 members", False)),
        (None, record(size=1), ("Started", "starting 1 member", False)),
        (None, record(phase=Phase.SUSPENDED), ("Suspended", "created suspended", False)),
        (RAN, record(phase=Phase.SUSPENDED, epoch=1), ("Suspended", "deleting the pods of the gang", False)),
        (AGAIN, replace(AGAIN, phase=Phase.SUSPENDED, epoch=2), ("Suspended", "deleting the pods of the gang", False)),
        (
            record(phase=Phase.RESTARTING, epoch=1),
            record(phase=Phase.RESTARTING, epoch=2, cause=Cause(1, "NodeLost", "", NOW, disruption=True)),
            ("GangRestart", "epoch 1 ended (disruption, not counted): NodeLost", True),
        ),
        (record(phase=Phase.SUSPENDED, epoch=1), record(epoch=1), ("Resumed", "epoch 1 begins", False)),
        (record(phase=Phase.RESTARTING, epoch=2), record(epoch=2), ("Restarted", "epoch 2 begins", False)),
        (record(), record(phase=Phase.ASSEMBLING), ("Assembling", "the first process runs", False)),
        (record(), record(phase=Phase.RUNNING, message="4/4 arrived"), ("Running", "4/4 arrived", False)),
        (RAN, record(phase=Phase.FAILED, reason="Cancelled", message="by spec"), ("Cancelled", "by spec", True)),
        (RAN, replace(OVER, conditions=(condition(ConditionType.STUCK, True),)), ("Cancelled", "x", True)),
        (RAN, record(phase=Phase.SUCCEEDED, reason="Done", message="all"), ("Done", "all", False)),
        (record(phase=Phase.SUSPENDED), record(phase=Phase.FAILED, reason="R", message="x"), ("R", "x", True)),
    ],
)
def test_each_turn_has_its_line(before: Record | None, after: Record, line: tuple[str, str, bool]) -> None:
    assert lines(before, after) == [line]


@pytest.mark.parametrize("kind", [ConditionType.SCHEDULED, ConditionType.COORDINATOR_READY])
def test_a_condition_that_becomes_true_has_one_story_line(kind: ConditionType) -> None:
    off, on = record(conditions=(condition(kind, False),)), record(conditions=(condition(kind, True),))
    assert lines(record(), on) == [(kind.value, "so", False)]
    assert lines(off, on) == [(kind.value, "so", False)]
    assert lines(on, on) == []
    assert lines(on, off) == []
    renamed = record(conditions=(condition(kind, True, "OtherReason"),))
    assert lines(on, renamed) == []


def test_stuck_and_its_end_have_story_lines_with_the_reason() -> None:
    stuck = record(conditions=(condition(ConditionType.STUCK, True, "RanksMissing", "rank 2"),))
    other = record(conditions=(condition(ConditionType.STUCK, True, "CoordinatorUnreachable", "gone"),))
    free = record(conditions=(condition(ConditionType.STUCK, False, "NotStuck", ""),))
    assert lines(free, stuck) == [("Stuck", "RanksMissing: rank 2", True)]
    assert lines(stuck, other) == [("Stuck", "CoordinatorUnreachable: gone", True)]
    assert lines(stuck, free) == [("NotStuck", "resolved: RanksMissing", False)]
    assert lines(stuck, stuck) == []
    assert lines(record(), free) == []
    assert lines(free, record(conditions=(condition(ConditionType.STUCK, False, "Fine"),))) == []


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "no longer Hung"),
        ({"completed": "1,3"}, "ranks 1, 3 ended with exit code 0 (was: Hung)"),
        ({"phase": Phase.RESTARTING, "epoch": 1}, "epoch 0 has ended (was: Hung)"),
        ({"phase": Phase.SUSPENDED}, "epoch 0 has ended (was: Hung)"),
        ({"reason": "Deleting"}, "it is being deleted (was: Hung)"),
    ],
    ids=["nothing known", "ends", "restart", "suspension", "deletion"],
)
def test_only_progress_is_called_progress(changes: dict[str, Any], sentence: str) -> None:
    stuck, free = (condition(ConditionType.STUCK, on, "Hung" if on else "NotStuck", "") for on in (True, False))
    hung, after = replace(RAN, conditions=(stuck,)), replace(RAN, conditions=(free,), **changes)
    assert new_lines(WATCHED, hung, after, NOW)[-1].message == sentence


def test_a_hang_that_ends_with_progress_is_called_so() -> None:
    stuck, free = (condition(ConditionType.STUCK, on, "Hung" if on else "NotStuck", "") for on in (True, False))
    hung, after = replace(RAN, conditions=(stuck,)), replace(RAN, conditions=(free,))
    (line,) = new_lines(WATCHED, hung, after, NOW, moved=True)
    assert line.message == "progress resumed (was: Hung)"


def test_one_step_may_turn_several_things_in_a_fixed_order() -> None:
    flips = (
        condition(ConditionType.STUCK, True, "RanksMissing", "rank 2"),
        condition(ConditionType.COORDINATOR_READY, True),
        condition(ConditionType.SCHEDULED, True),
    )
    told = lines(record(), record(phase=Phase.ASSEMBLING, conditions=flips))
    assert [reason for reason, _, _ in told] == ["Assembling", "Scheduled", "CoordinatorReady", "Stuck"]


def test_a_long_story_keeps_its_beginning_and_its_end() -> None:
    told = tuple(StoryLine(float(i), 0, f"R{i}", "") for i in range(100))
    story: tuple[StoryLine, ...] = ()
    for line in told:
        story = append(story, (line,))
        assert len(story) <= STORY_LINES
    assert (STORY_LINES, KEPT_FIRST) == (64, 8)
    assert story == told[:8] + told[-56:]
    assert append(told[:60], told[60:64]) == told[:64]
    assert append(told[:60], told[60:65]) == told[:8] + told[9:65]


def test_members_of_an_earlier_life_of_the_coordinator_are_an_event_of_a_watched_run() -> None:
    stale = record(phase=Phase.RUNNING, reason="StaleMembers", message="1/4 ranks arrived")
    assert [(line.reason, line.message, line.warning) for line in new_lines(WATCHED, RAN, stale, NOW)] == [
        ("StaleMembers", "1/4 ranks arrived", True)
    ]
    assert new_lines(WATCHED, stale, stale, NOW) == ()
    assert new_lines(WATCHED, stale, RAN, NOW) == ()


def test_a_failed_member_of_a_watched_run_is_reported_with_how_often_its_failure_was_the_same() -> None:
    cause = Cause(0, "Error", "no route to host", NOW, pod="l-3", uid="l-3", rank=2, exit_code=1)
    after = record(phase=Phase.RUNNING, cause=cause, same_failure=SameFailure("f", "no route", 3, 0))
    (line,) = new_lines(WATCHED, RAN, after, NOW)
    assert (line.reason, line.message) == (
        "MemberFailed", "rank 2 (l-3) ended with exit code 1: no route to host; the same failure 3 times",
    )  # fmt: skip
    again = record(phase=Phase.RESTARTING, epoch=3, restarts=3, cause=cause, same_failure=after.same_failure)
    (line,) = new_lines(WATCHED, after, again, NOW)
    assert line.message.startswith("its controller ended epoch 0, restart 3: rank 2")
    assert line.message.endswith("; the same failure 3 times")


def test_a_spec_that_cannot_be_planned_fails_at_once() -> None:
    refused = refuse(3, "no image", NOW)
    assert (refused.phase, refused.generation, refused.reason, refused.message) == (
        Phase.FAILED, 3, "InvalidSpec", "no image",
    )  # fmt: skip
    assert (refused.phase_at, refused.finished_at, refused.updated_at) == (NOW, NOW, NOW)
    assert refused.story == (StoryLine(NOW, 0, "InvalidSpec", "no image", warning=True),)
    assert {each.type: each for each in refused.conditions} == {
        kind: Condition(kind, True, "InvalidSpec", "no image", 3, NOW)
        for kind in (ConditionType.FAILED, ConditionType.FINISHED)
    }


def test_a_run_that_can_no_longer_be_planned_is_stuck_once_for_each_spec() -> None:
    assembled = condition(ConditionType.ASSEMBLED, True)
    ran = record(phase=Phase.RUNNING, epoch=2, conditions=(assembled, condition(ConditionType.STUCK, False)))
    halted = halt(ran, 3, "no image", NOW)
    assert halted is not None
    message = "no image; Muster leaves the pods as they are until the spec can be run"
    assert (halted.phase, halted.reason, halted.message, halted.updated_at) == (
        Phase.RUNNING, "InvalidSpec", message, NOW,
    )  # fmt: skip
    assert halted.conditions == (assembled, Condition(ConditionType.STUCK, True, "InvalidSpec", message, 3, NOW))
    assert halted.story == (StoryLine(NOW, 2, "InvalidSpec", message, warning=True),)
    assert halt(halted, 3, "no image", NOW + 1) is None
    assert halt(halted, 4, "no image", NOW + 1) is not None
    assert halt(record(phase=Phase.FAILED), 3, "no image", NOW) is None


def test_a_status_that_cannot_be_read_is_shown_as_stuck() -> None:
    shown = unreadable("status: no phase")
    message = "status: no phase; Muster does nothing with it until its status can be read"
    assert (shown.phase, shown.reason, shown.message) == (Phase.PENDING, "StatusUnreadable", message)
    assert shown.conditions == (Condition(ConditionType.STUCK, True, "StatusUnreadable", message, 0, -inf),)
    assert shown.phase_at == -inf
