"""Status is read leniently from other versions, stays bounded, and never raises anything but a ValueError."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.status import MAX_MESSAGE, MAX_STORY, Cause, Condition, ExperimentStatus, Roll, StoryLine

FULL = ExperimentStatus(
    phase="Assembling",
    reason="RanksMissing",
    message="3/4 ranks arrived; missing rank 2",
    observed_generation=2,
    epoch=1,
    restarts=1,
    ready="3/4",
    coordinator="worker-0-0-bcdfg.fold:1234",
    start_time="2026-01-31T12:00:00.000000Z",
    deadline="2026-02-01T12:00:00.000000Z",
    roll=Roll(expected=4, arrived=3, missing=(2,), changed_time="2026-01-31T12:00:01.123456Z"),
    cause=Cause(
        epoch=0, pod="fold-worker-0-1-bcdfg", rank=1, exit_code=137, signal=9, reason="OOMKilled", disruption=False
    ),
    conditions=(Condition(type="Assembled", status="False", reason="RanksMissing", observed_generation=2),),
    story=(StoryLine(time="2026-01-31T12:00:00.000000Z", epoch=0, reason="Started", message="16 pods"),),
)


def test_what_is_written_reads_back() -> None:
    wire = FULL.to_object()
    assert wire["observedGeneration"] == 2
    assert wire["roll"] == {"expected": 4, "arrived": 3, "missing": [2], "changedTime": "2026-01-31T12:00:01.123456Z"}
    assert wire["cause"]["exitCode"] == 137
    assert "finishTime" not in wire
    assert ExperimentStatus.from_object(wire) == FULL


def test_no_status_is_an_empty_one() -> None:
    assert ExperimentStatus.from_object(None) == ExperimentStatus.from_object({}) == ExperimentStatus()


def test_fields_of_another_version_are_ignored() -> None:
    status = ExperimentStatus.from_object(
        {"phase": "Dreaming", "dreams": [1], "roll": {"expected": 2, "snoring": True}}
    )
    assert status.phase == "Dreaming"
    assert status.roll == Roll(expected=2)


def test_long_things_are_cut_to_size() -> None:
    status = ExperimentStatus.from_object(
        {
            "message": "x" * 5_000 + "\ud800",
            "roll": {"missing": list(range(200))},
            "story": [{"reason": f"R{i}"} for i in range(100)],
        }
    )
    assert status.message is not None
    assert len(status.message) == MAX_MESSAGE
    assert status.roll is not None
    assert status.roll.missing == tuple(range(64))
    assert len(status.story) == MAX_STORY
    assert status.story[-1].reason == "R99"  # the newest lines are kept


def test_messages_of_wide_characters_are_cut_to_bytes() -> None:
    status = ExperimentStatus.from_object({"message": "\U0001f525" * 1_000, "reason": "\u00e9" * 64})
    assert status.message is not None
    assert MAX_MESSAGE - 4 < len(status.message.encode()) <= MAX_MESSAGE + 2
    assert status.message.startswith("\U0001f525" * 255)
    assert status.message.endswith("…")
    assert status.reason == "\u00e9" * 64


def test_half_characters_become_whole_ones() -> None:
    status = ExperimentStatus.from_object({"reason": "a\ud800b"})
    assert status.reason == "a\ufffdb"


@pytest.mark.parametrize(
    "raw",
    [
        {"epoch": "1"},
        {"epoch": -1},
        {"epoch": 10**30},
        {"startTime": "yesterday"},
        {"conditions": {}},
        {"conditions": [{"type": "A", "status": "Maybe"}]},
        {"roll": []},
        {"story": [None]},
        {"cause": {"exitCode": 1.5}},
        {"observed_generation": "x", "phase": 7},
    ],
)
def test_the_wrong_type_is_a_value_error(raw: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        ExperimentStatus.from_object(raw)


fields = st.sampled_from([field.alias or name for name, field in ExperimentStatus.model_fields.items()]) | st.text()
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(fields, values, max_size=5))
def test_a_hostile_status_raises_nothing_else(raw: dict[str, Any]) -> None:
    try:
        status = ExperimentStatus.from_object(raw)
    except ValueError:
        return
    assert ExperimentStatus.from_object(status.to_object()) == status
