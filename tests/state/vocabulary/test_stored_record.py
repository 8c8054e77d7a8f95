"""A record reads back exactly from the status it was written to; an unreadable status is never a fresh start."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import fields, replace

from muster.api.causes import Blocked, ContainerRestarts, EpochEvidence, FindingThen, StackThen, Stuck
from muster.api.gang import (
    Attempts,
    GroupSize,
    HeldDevices,
    JobRestarts,
    NodeFailures,
    RestartReason,
    RollCall,
    RuleUse,
    SameFailure,
    Steps,
)
from muster.api.goodput import Bucket, EpochSteps, Goodput, StepMark
from muster.state.vocabulary.record import (
    Cause,
    Condition,
    ConditionType,
    Phase,
    Record,
    StatusError,
    StoryLine,
    from_status,
    to_status,
)

TIMES = st.integers(1, 2**51 // 10**3).map(lambda micros: micros * 1000 / 10**6)
WORDS = st.text(st.characters(blacklist_categories=["Cs"]), max_size=40)
COUNTS = st.integers(0, 10**6)
CAUSES = st.builds(
    Cause, epoch=COUNTS, reason=WORDS, message=WORDS, at=TIMES, pod=WORDS, uid=WORDS, group=WORDS,
    rank=st.integers(-1, 10**6), container=WORDS, node=WORDS, exit_code=st.none() | st.integers(-(2**31), 2**31),
    signal=st.integers(0, 64), disruption=st.booleans(),
)  # fmt: skip
RECORDS = st.builds(
    Record,
    generation=COUNTS, phase=st.sampled_from(Phase), phase_at=TIMES, reason=WORDS, message=WORDS, epoch=COUNTS,
    restarts=COUNTS, disruptions=COUNTS, consecutive_disruptions=COUNTS, completed=st.sampled_from(["", "0", "0-5,7"]),
    started_at=st.none() | TIMES, epoch_at=st.none() | TIMES,
    scheduled_at=st.none() | TIMES, assembling_at=st.none() | TIMES, assembled_at=st.none() | TIMES,
    ending_at=st.none() | TIMES, broken_at=st.none() | TIMES,
    goodput=st.none() | st.builds(
        Goodput, TIMES, st.sampled_from(["", *Bucket]), *[COUNTS] * 13,
        steps=st.none() | st.builds(EpochSteps, COUNTS, COUNTS, st.integers(-1, 10**6), *[COUNTS] * 11),
        marks=st.lists(st.builds(StepMark, COUNTS, COUNTS), max_size=3).map(tuple),
    ),
    volume_at=st.none() | TIMES, volume_lost_at=st.none() | TIMES,
    delete_at=st.none() | TIMES, retention=st.none() | COUNTS, shape=WORDS, pending_edits=WORDS, restart_request=WORDS,
    groups=st.lists(st.builds(GroupSize, WORDS, COUNTS, COUNTS, COUNTS), max_size=3).map(tuple),
    progressed_at=st.none() | TIMES,
    resume_at=st.none() | TIMES, finished_at=st.none() | TIMES, updated_at=TIMES,
    deadline=st.none() | st.integers(1, 2**37).map(float), ready=COUNTS, size=COUNTS, coordinator=WORDS,
    dashboard=WORDS,
    steps=st.none() | st.builds(
        Steps, epoch=COUNTS, step=COUNTS, per_second=WORDS, reporting=COUNTS, hung_after=COUNTS, at=TIMES,
    ),
    devices=st.lists(st.builds(HeldDevices, WORDS, COUNTS), max_size=3).map(tuple),
    roll=st.none() | st.builds(RollCall, COUNTS, COUNTS, st.lists(COUNTS, max_size=64).map(tuple)),
    in_place=st.none() | st.builds(ContainerRestarts, COUNTS, COUNTS, TIMES, COUNTS, COUNTS, st.none() | CAUSES),
    cause=st.none() | CAUSES, restart_reasons=st.lists(st.builds(RestartReason, WORDS, COUNTS), max_size=5).map(tuple),
    attempts=st.lists(st.builds(Attempts, st.sampled_from(["0", "1-2"]), COUNTS, st.none() | TIMES), max_size=3).map(
        tuple
    ),
    job_restarts=st.lists(st.builds(JobRestarts, st.sampled_from(["0", "1-2"]), COUNTS, COUNTS, COUNTS)).map(tuple),
    ignored=st.sampled_from(["", "1-2"]), gang_restarts=COUNTS,
    conditions=st.lists(
        st.builds(
            Condition, type=st.sampled_from(ConditionType), status=st.booleans(), reason=WORDS, message=WORDS,
            generation=COUNTS, since=TIMES,
        ),
        max_size=9,
    ).map(tuple),
    story=st.lists(st.builds(StoryLine, TIMES, COUNTS, WORDS, WORDS, st.booleans()), max_size=5).map(tuple),
)  # fmt: skip

FULL = Record(
    generation=3, phase=Phase.RESTARTING, phase_at=11.0, reason="BackingOff", message="soon", epoch=2, restarts=1,
    disruptions=1, consecutive_disruptions=1, completed="0-1,3", started_at=1.5, epoch_at=2.0, scheduled_at=3.0,
    assembling_at=4.0, assembled_at=5.0, ending_at=6.0, broken_at=6.5,
    goodput=Goodput(9.25, Bucket.RECOVERY, 5_000, 1_000, queued=1, scheduling=2, startup=3, assembly=4,
                    program_startup=5, checkpoint_save=6, checkpoint_restore=7, data_loading=1, stuck=8,
                    recovery=9, lost=10, other=11, steps=EpochSteps(1, 3_000, 7), marks=(StepMark(7, 3_000),)),
    blocked=Blocked("ImagePullBackOff", 3.5, 4.5), attempts=(Attempts("0-1", 2, 6.25), Attempts("3", 1)), ignored="2",
    job_restarts=(JobRestarts("0", 2, 1, 3),), gang_restarts=2, rule_uses=(RuleUse("oom", 1),),
    renewed=1, best_step=90,
    same_failure=SameFailure("0a1b", "exit code 3", 2, 1, 60, (1, 2), ("node-a",), spread=True, again=True),
    node_failures=(NodeFailures("node-a", 2, True, "NodeLost", 6.5, of_node=True),),
    progressed_at=5.5, delete_at=7.5, retention=86_400, volume_at=8.5, volume_lost_at=9.5,
    resume_at=7.0, finished_at=8.0, updated_at=9.000001, deadline=10.0, ready=3, size=4,
    coordinator="w-0.run:1234", dashboard="w-0.run:8265",
    shape="image=1", pending_edits="spec.image", edit_refused=True, restart_request="anna at noon",
    groups=(GroupSize("worker", 2, 4, 3),),
    steps=Steps(epoch=2, step=1840, per_second="9.81", reporting=4, hung_after=60, at=10.5),
    devices=(HeldDevices("nvidia.com/gpu", 8),),
    roll=RollCall(4, 3, (2,)), restart_reasons=(RestartReason("Error", 1), RestartReason("NodeLost", 1)),
    cause=Cause(1, "OOMKilled", "too big", 4.5, "p-2", "u-2", "worker", 2, "main", "node-a", 137, 9, True, "",
                "step 3", "rank 0 ended with exit code 1", 60, "nvidia.com/gpu GPU-1", True, "2-3",
                "the gang was blocked (Hung: no step)"),
    in_place=ContainerRestarts(9, 8, 7.25, 7, 1, Cause(2, "OOMKilled", "limit 2Gi", 7.25, "p-1", "u-1", "worker", 1)),
    stuck=Stuck("Unschedulable", "no node fits", "2-3", 5.5, 6.5, "RanksMissing", "p-2"),
    evidence=(
        EpochEvidence(1, 6.5, "Running", "Restarting", "OOMKilled", "too big", 2.5, "ranks", "Hung", 3.5, "no step",
                      "in next", RollCall(4, 4), "step 3", "rank 2 has not entered", "rank 2 in next",
                      (FindingThen("Hung", "rank 2: in next", "no step", "2", 1, "node-a"),),
                      (StackThen(2, "next (data.py:41)", "2-3", 2),)),
    ),
    conditions=(Condition(ConditionType.STUCK, True, "RanksMissing", "rank 2", 3, 5.5),),
    story=(StoryLine(1.5, 0, "Started", "starting 4 members"), StoryLine(6.5, 2, "GangRestart", "boom", True, "boom")),
)  # fmt: skip

WIRE = to_status(FULL)


def test_every_field_of_a_record_reads_back() -> None:
    assert from_status(WIRE) == FULL


def test_every_field_of_a_record_is_in_the_example() -> None:
    empty = Record(generation=0, phase=Phase.PENDING, phase_at=0.0)
    assert [field.name for field in fields(Record) if getattr(FULL, field.name) == getattr(empty, field.name)] == []


@given(RECORDS)
def test_a_written_record_reads_back(kept: Record) -> None:
    wire = msgspec.json.decode(msgspec.json.encode(to_status(kept)))
    assert from_status(wire) == kept


def test_absent_values_are_not_written() -> None:
    bare = Record(generation=1, phase=Phase.PENDING, phase_at=5.0)
    assert to_status(bare) == {
        "phase": "Pending", "phaseTime": "1970-01-01T00:00:05.000000Z", "observedGeneration": 1, "epoch": 0,
        "restarts": 0, "disruptions": 0, "consecutiveDisruptions": 0, "restartReasons": [], "ready": "0/0",
        "updateTime": "1970-01-01T00:00:00.000000Z",
        "conditions": [], "story": [],
    }  # fmt: skip
    assert from_status(to_status(bare)) == bare


def test_a_cause_without_a_member_has_no_rank() -> None:
    wire = to_status(replace(FULL, cause=Cause(0, "PendingDeadlineExceeded", "", 4.0)))
    assert wire["cause"].keys() == {"epoch", "reason", "time", "disruption"}


def test_rank_zero_and_exit_code_zero_are_written() -> None:
    cause = replace(FULL.cause or Cause(0, "", "", 0.0), rank=0, exit_code=0, signal=0)
    wire = to_status(replace(FULL, cause=cause))["cause"]
    assert (wire["rank"], wire["exitCode"]) == (0, 0)
    assert "signal" not in wire


def test_an_empty_status_is_no_record() -> None:
    assert from_status({}) is None


HINT = "; if it was edited by hand, remove the status to start over"


@pytest.mark.parametrize(
    "damage",
    [
        {"phase": None}, {"phase": "Dreaming"}, {"epoch": -1}, {"completedRanks": [0]}, {"completedRanks": "5-3"},
        {"completedRanks": "0,0"}, {"completedRanks": "3,1"}, {"completedRanks": "-1"}, {"completedRanks": "0-"},
        {"completedRanks": "all"}, {"completedRanks": "0\n"}, {"completedRanks": "1" * 40_000},
    ],
)  # fmt: skip
def test_an_unreadable_status_is_an_error_that_says_what_to_do(damage: dict[str, Any]) -> None:
    with pytest.raises(StatusError) as caught:
        from_status(WIRE | damage)
    message = str(caught.value)
    assert message.startswith("status: ")
    assert message.endswith(HINT)
    assert "\n" not in message


@pytest.mark.parametrize("counter", ["epoch", "restarts", "disruptions"])
def test_an_impossible_count_is_an_error(counter: str) -> None:
    with pytest.raises(StatusError) as caught:
        from_status(WIRE | {counter: 10**8 + 1})
    assert str(caught.value) == f"status: 100000001 restarts cannot be{HINT}"
    assert from_status(WIRE | {counter: 10**8}) is not None


@pytest.mark.parametrize("nonsense", ["Running", [], [WIRE], 7, 0, "", False])
def test_a_status_that_is_not_a_mapping_is_an_error(nonsense: Any) -> None:
    with pytest.raises(StatusError) as caught:
        from_status(nonsense)
    assert str(caught.value) == f"status: a mapping is expected{HINT}"


def test_a_foreign_condition_is_left_out() -> None:
    other = {"type": "ExampleOrgReviewed", "status": "True"}
    assert from_status(WIRE | {"conditions": [other, *WIRE["conditions"]]}) == FULL


@pytest.mark.parametrize(
    "damage",
    [
        {"story": [{"epoch": "x" * 999, "reason": 7}] * 64}, {"startTime": "y" * 999}, {"phase": "P" * 999},
        {"roll": {"missing": [["x" * 999]] * 64}}, {"ready": "1" * 999}, {"cause": ["c"] * 999},
    ],
)  # fmt: skip
def test_the_error_is_short_for_any_damage(damage: dict[str, Any]) -> None:
    with pytest.raises(StatusError) as caught:
        from_status({"phase": "Running"} | damage)
    assert len(str(caught.value)) <= len("status: ") + 300 + len(HINT)
