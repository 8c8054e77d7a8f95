"""A status of another version is read leniently and kept within bounds; errors are WireErrors."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from muster.api.causes import Cause
from muster.api.conditions import Condition, ConditionType
from muster.api.gang import RollCall
from muster.api.status import STORY_LINES, ExperimentStatus, Phase, StoryLine
from muster.api.wire.kinds import MAX_COUNTER, MAX_MESSAGE, WireError
from muster.api.wire.structs import shape_of

NOON = 1_769_860_800.0
FULL = ExperimentStatus(
    phase=Phase.ASSEMBLING,
    reason="RanksMissing",
    message="3/4 ranks arrived; missing rank 2",
    generation=2,
    epoch=1,
    restarts=1,
    ready=3,
    size=4,
    coordinator="worker-0-0-bcdfg.fold:1234",
    started_at=NOON,
    deadline=NOON + 86_400,
    roll=RollCall(4, 3, missing=(2,)),
    cause=Cause(0, "OOMKilled", pod="fold-worker-0-1-bcdfg", rank=1, exit_code=137, signal=9),
    conditions=(Condition(ConditionType.ASSEMBLED, False, "RanksMissing", "", 2, NOON),),
    story=(StoryLine(NOON, 0, "Started", "16 pods"),),
)


def test_a_written_status_reads_back() -> None:
    wire = FULL.to_object()
    assert wire["observedGeneration"] == 2
    assert wire["startTime"] == "2026-01-31T12:00:00.000000Z"
    assert wire["deadline"] == "2026-02-01T12:00:00Z"
    assert wire["roll"] == {"expected": 4, "arrived": 3, "missing": [2]}
    assert wire["cause"]["exitCode"] == 137
    assert "finishTime" not in wire
    assert ExperimentStatus.from_object(wire) == FULL


def test_changing_a_written_status_does_not_change_the_next_one() -> None:
    wire = FULL.to_object()
    for part in (wire["roll"]["missing"], wire["roll"], wire["cause"], *wire["conditions"], *wire["story"], wire):
        part.clear()
    assert ExperimentStatus.from_object(FULL.to_object()) == FULL


def test_no_status_is_read_as_an_empty_one() -> None:
    assert ExperimentStatus.from_object(None) == ExperimentStatus.from_object({}) == ExperimentStatus()
    assert ExperimentStatus().readiness == ""


def test_fields_of_another_version_are_ignored() -> None:
    status = ExperimentStatus.from_object(
        {"phase": "Dreaming", "dreams": [1], "roll": {"expected": 2, "snoring": True}}
    )
    assert status.phase == "Dreaming"
    assert status.roll == RollCall(2, 0)


def test_known_phases_and_conditions_are_enum_members_and_others_are_text() -> None:
    conditions = [{"type": each, "status": "Unknown"} for each in ("Stuck", "ExampleOrgReviewed")]
    status = ExperimentStatus.from_object({"phase": "Running", "conditions": conditions})
    assert status.phase is Phase.RUNNING
    assert [type(each.type) for each in status.conditions] == [ConditionType, str]
    assert [each.status_text for each in status.conditions] == ["Unknown", "Unknown"]


@pytest.mark.parametrize(("status", "text"), [(True, "True"), (False, "False"), (None, "Unknown")])
def test_a_condition_is_true_false_or_unknown(status: bool | None, text: str) -> None:
    told = replace(FULL, conditions=(replace(FULL.conditions[0], status=status),))
    assert told.to_object()["conditions"][0]["status"] == told.conditions[0].status_text == text
    assert ExperimentStatus.from_object(told.to_object()) == told


def test_long_lists_are_cut_to_their_bounds_when_read_and_when_written() -> None:
    missing, lines = tuple(range(200)), tuple(StoryLine(NOON, 0, f"R{i}", "m" * 5_000) for i in range(100))
    wire = ExperimentStatus(message="x" * 5_000, roll=RollCall(200, 0, missing), story=lines).to_object()
    assert len(wire["message"]) == MAX_MESSAGE
    assert wire["roll"]["missing"] == list(range(64))
    assert [wire["story"][0]["reason"], wire["story"][-1]["reason"]] == ["R36", "R99"], "the newest lines are kept"
    assert {len(line["message"]) for line in wire["story"]} == {MAX_MESSAGE}
    stated = {"roll": {"missing": list(missing)}, "story": [{"reason": f"R{i}"} for i in range(100)]}
    read = ExperimentStatus.from_object(stated)
    assert read.roll is not None
    assert read.roll.missing == tuple(range(64))
    assert (len(read.story), read.story[-1].reason) == (STORY_LINES, "R99")


def test_null_is_absent_but_not_for_a_number_or_a_list() -> None:
    nulls: dict[str, Any] = dict.fromkeys(("reason", "coordinator", "phaseTime", "startTime", "roll", "cause"))
    assert ExperimentStatus.from_object(nulls) == ExperimentStatus()
    assert ExperimentStatus.from_object({"cause": {"exitCode": None, "pod": None}}).cause == Cause(0, "")
    for key in ("epoch", "conditions"):
        with pytest.raises(WireError):
            ExperimentStatus.from_object({key: None})


def test_the_largest_numbers_are_kept() -> None:
    largest = {"epoch": MAX_COUNTER, "ready": f"0/{MAX_COUNTER}"}
    assert largest.items() <= ExperimentStatus.from_object(largest).to_object().items()


CUT = "x" * (MAX_MESSAGE - 1) + "…"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("x" * MAX_MESSAGE, "x" * MAX_MESSAGE),
        (CUT, CUT),
        ("x" * (MAX_MESSAGE + 1), CUT),
        ("x" * (MAX_MESSAGE - 1) + "\U0001f525", CUT),
        ("x" * 5_000 + "\ud800", CUT),
        ("a\ud800b", "a\ufffdb"),
    ],
)
def test_a_text_just_beyond_its_bound_ends_in_an_ellipsis_and_a_lone_surrogate_is_replaced(
    text: str, kept: str
) -> None:
    assert ExperimentStatus.from_object({"message": text}).message == kept


def test_messages_are_bounded_in_bytes_too() -> None:
    status = ExperimentStatus.from_object({"message": "\U0001f525" * 1_000, "reason": "\u00e9" * 64})
    assert MAX_MESSAGE - 4 < len(status.message.encode()) <= MAX_MESSAGE + 2
    assert status.message.startswith("\U0001f525" * 255)
    assert status.message.endswith("…")
    assert status.reason == "\u00e9" * 64


@pytest.mark.parametrize(
    "raw",
    [
        {"epoch": "1"},
        {"epoch": -1},
        {"epoch": None},
        {"epoch": True},
        {"epoch": MAX_COUNTER + 1},
        {"epoch": 10**30},
        {"startTime": "yesterday"},
        {"startTime": "2026-01-31T12:00:00Z\n"},
        {"startTime": 7},
        {"ready": 3},
        {"ready": "3"},
        {"ready": "-3/4"},
        {"ready": "²/4"},
        {"ready": "3/" + "4" * 5_000},
        {"ready": f"3/{MAX_COUNTER + 1}"},
        {"message": ["x"]},
        {"conditions": {}},
        {"conditions": [{"type": "A", "status": "Maybe"}]},
        {"conditions": [{"type": "A"}]},
        {"conditions": [{"status": "True"}]},
        {"roll": []},
        {"roll": {"missing": [True]}},
        {"story": [None]},
        {"story": [{}]},
        {"story": [{"reason": ["x"]}]},
        {"story": [{"reason": "R", "warning": 1}]},
        {"cause": {"exitCode": 1.5}},
        {"phase": 7},
    ],
)
def test_a_wrong_type_or_number_is_an_error(raw: dict[str, Any]) -> None:
    with pytest.raises(WireError):
        ExperimentStatus.from_object(raw)


def test_an_error_names_the_field_and_what_is_expected() -> None:
    with pytest.raises(WireError) as caught:
        ExperimentStatus.from_object({"cause": {"exitCode": "x" * 99}})
    expected = f"a whole number from -{MAX_COUNTER} to {MAX_COUNTER} is expected, not '{'x' * 59}…"
    assert str(caught.value) == f"cause: exitCode: {expected}"


def test_the_cache_distinguishes_equal_values_of_different_types() -> None:
    line = {"reason": "R", "epoch": 1, "warning": True}
    ExperimentStatus.from_object({"story": [line]})
    for change in ({"epoch": True}, {"epoch": 1.0}, {"warning": 1}):
        with pytest.raises(ValueError):
            ExperimentStatus.from_object({"story": [line | change]})


fields = st.sampled_from([field.key for field in shape_of(ExperimentStatus).fields]) | st.text()
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(fields, values, max_size=5))
def test_a_hostile_status_raises_only_wire_errors(raw: dict[str, Any]) -> None:
    try:
        status = ExperimentStatus.from_object(raw)
    except WireError:
        return
    assert ExperimentStatus.from_object(status.to_object()) == status
