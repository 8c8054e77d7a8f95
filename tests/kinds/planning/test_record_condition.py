"""A record reads back from the condition it was written to; hostile content is an error and never a fresh start."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from muster.api.causes import EpochEvidence, FindingThen
from muster.api.gang import Attempts
from muster.api.values.rank_ranges import to_ranges
from muster.kinds.planning import run_object
from muster.kinds.planning.run_object import MOST, TYPE, from_object, to_condition, with_record, without_record
from muster.state.policies.failures.repair import fits
from muster.state.vocabulary.record import Record, StatusError
from tests.builders import sure
from tests.state.vocabulary.test_stored_record import FULL, RECORDS

OWN = {"type": "Completed", "status": "False", "reason": "x", "message": "y"}


def _status(message: object) -> dict[str, Any]:
    return {"conditions": [{"type": TYPE, "status": "True", "message": message}]}


@given(RECORDS)
def test_a_record_reads_back_without_its_story(kept: Record) -> None:
    """Everything that decisions read survives."""
    wire = msgspec.json.decode(msgspec.json.encode(with_record({"conditions": [OWN]}, kept)))
    assert from_object(wire) == replace(kept, story=())


def test_the_record_is_the_first_condition_and_is_there_once() -> None:
    """The columns of kubectl show the last condition."""
    once = with_record({"conditions": [OWN], "restarts": 2}, FULL)
    twice = with_record(once, FULL)
    assert [each["type"] for each in twice["conditions"]] == [TYPE, "Completed"]
    assert without_record(twice) == {"conditions": [OWN], "restarts": 2}
    bare = {"restarts": 0}
    assert without_record(with_record(bare, FULL)) == bare, "the kind's own controller leaves an empty list out"


def test_the_condition_is_what_a_metav1_condition_allows() -> None:
    """The schemas of CRDs check it."""
    made = to_condition(FULL)
    assert made["status"] == "True"
    assert made["reason"] == "Persisted"
    assert made["lastTransitionTime"] == "1970-01-01T00:00:09Z"


def test_a_status_without_the_condition_has_no_record() -> None:
    """The object is new."""
    for status in (None, {}, {"conditions": None}, {"conditions": [OWN, 3, None]}, {"conditions": "text"}):
        assert from_object(status) is None


def test_a_record_that_does_not_fit_loses_sentences_and_then_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """What decides an epoch stays."""
    monkeypatch.setattr(run_object, "MOST", 4_000)
    completed = ",".join(map(str, range(0, 4_000, 3)))
    message = to_condition(replace(FULL, completed=completed))["message"]
    assert len(message) <= 4_000
    read = sure(from_object(_status(message)))
    assert (read.epoch, read.restarts, read.phase, read.message) == (FULL.epoch, FULL.restarts, FULL.phase, "")
    assert completed.startswith(read.completed)
    assert len(read.completed) > 100


@pytest.mark.parametrize(
    "message",
    [None, 3, "", "{", "[]", "{}", "null", "[" * 30_000, "1" * 30_000, "x" * (MOST + 1), '{"phase":"Dreaming"}',
     '{"phase":"Running","epoch":-1}',
     '{"phase":"Running","epoch":1e400}', '{"phase":["Running"]}'],
)  # fmt: skip
def test_a_condition_that_is_no_record_is_an_error(message: object) -> None:
    """Forgetting an epoch would run two of them at once."""
    with pytest.raises(StatusError):
        from_object(_status(message))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)


@given(JSON, JSON)
def test_no_status_raises_anything_else(status: object, inner: object) -> None:
    """Others may write a status."""
    for each in (status, {"conditions": inner}, _status(inner), _status(msgspec.json.encode(inner).decode())):
        try:
            assert from_object(each) is None
        except StatusError:
            continue
        without_record(each)


def test_attempts_and_restarts_of_jobs_that_a_decision_lets_a_record_have_are_never_lost() -> None:
    rows: list[Attempts] = []
    while fits((*rows, more := Attempts(to_ranges(range(len(rows), 100_000, 2_000)), 7, 1e9)), ()):
        rows.append(more)
    assert len(rows) > 40
    full = replace(FULL, attempts=tuple(rows), completed=",".join(map(str, range(0, 12_000, 2))), message="w" * 1024)
    message = to_condition(full)["message"]
    read = sure(from_object(_status(message)))
    assert len(message) <= MOST
    assert read.attempts == full.attempts


def test_a_record_that_does_not_fit_loses_the_evidence_of_its_oldest_epochs_first() -> None:
    said = tuple(FindingThen("Hung", "w" * 500, "v" * 1_000, "2", 1) for _ in range(18))
    rows = tuple(
        EpochEvidence(epoch=epoch, at=1.0, phase="Running", next="Failed", findings=said[6 * epoch : 6 * epoch + 6])
        for epoch in range(3)
    )
    fits = replace(FULL, story=(), evidence=rows)
    assert from_object(_status(to_condition(fits)["message"])) == fits
    many = ",".join(map(str, range(0, 5_000, 2)))
    message = to_condition(replace(fits, completed=many))["message"]
    read = sure(from_object(_status(message)))
    assert len(message) <= MOST
    assert [row.epoch for row in read.evidence] == [2], "the newest"
    assert (read.completed, read.message) == (many, FULL.message)
