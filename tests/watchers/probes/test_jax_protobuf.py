"""The hand-written protobuf codec: it reads what jaxlib sends, and raises Malformed for anything else."""

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.values.printable import printable
from muster.state.view.turns import at_once
from muster.watchers.probes.jax.rpc import (
    Malformed,
    bytes_field,
    fields,
    fixed64_field,
    integer_field,
    read_varint,
    signed,
    varint,
)
from muster.watchers.probes.jax.task_list import MAX_TASKS, MAX_TEXT, Task, read_entries, read_mismatch, tasks_in_turns

I64 = st.integers(-(1 << 63), (1 << 63) - 1)
U64 = st.integers(0, (1 << 64) - 1)
read_tasks = at_once(tasks_in_turns)


@given(I64)
def test_a_varint_round_trips(value: int) -> None:
    wire = varint(value)
    number, end = read_varint(wire, 0)
    assert (signed(number), end) == (value, len(wire))


def test_minus_one_takes_ten_bytes_as_in_protobuf() -> None:
    assert varint(-1) == b"\xff" * 9 + b"\x01"
    assert integer_field(2, -1) == b"\x10" + b"\xff" * 9 + b"\x01"


@given(U64, st.binary(max_size=300), I64)
def test_fields_are_read_in_order(identity: int, content: bytes, value: int) -> None:
    fixed32 = b"\x0d" + bytes(4)  # nothing of it is read
    message = fixed64_field(3, identity) + fixed32 + bytes_field(200, content) + integer_field(1, value)
    assert list(fields(message)) == [(3, identity), (200, content), (1, value % (1 << 64))]


@pytest.mark.parametrize(
    "wire",
    [
        b"\x80",  # a varint that is cut off
        b"\x08" + b"\xff" * 10,  # one of more than ten bytes
        b"\x08" + b"\xff" * 9 + b"\x7f",  # one of more than 64 bits
        b"\x0a\x05abc",  # a string shorter than its length
        b"\x0a\xff\xff\xff\xff\x0f",  # one of four gigabytes
        b"\x09\x01\x02",  # half a fixed64
        b"\x0d\x01",  # half a fixed32
        b"\x0b\x0c",  # a group
    ],
)
def test_broken_bytes_are_malformed(wire: bytes) -> None:
    with pytest.raises(Malformed):
        list(fields(wire))


@given(st.binary(max_size=400))
def test_readers_raise_nothing_but_malformed_for_any_bytes(wire: bytes) -> None:
    for read in (lambda: list(fields(wire)), lambda: read_tasks(wire), lambda: read_entries(wire, 2)):
        with suppress(Malformed):
            read()


@given(st.lists(st.binary(max_size=40), max_size=8), st.binary(max_size=10))
def test_a_task_entry_raises_nothing_but_malformed_for_any_bytes(entries: list[bytes], tail: bytes) -> None:
    wire = b"".join(bytes_field(1, entry) for entry in entries) + tail
    with suppress(Malformed):
        assert all(0 <= task_id < 1 << 20 for task_id in read_tasks(wire).tasks)


def test_both_generations_of_task_are_read() -> None:
    rest = integer_field(2, 4) + integer_field(3, 14) + bytes_field(4, b"lost") + fixed64_field(6, 99)
    v2 = bytes_field(1, integer_field(1, 5) + rest) + integer_field(2, 17)
    v1 = bytes_field(1, bytes_field(1, bytes_field(1, b"jax_worker") + integer_field(2, 5)) + rest)
    assert read_tasks(v2) == ({5: Task(4, 99, 14, b"lost")}, 17)
    assert read_tasks(v1) == ({5: Task(4, 99, 14, b"lost")}, 0)


def test_impossible_ids_are_dropped_and_the_last_of_two_entries_stays() -> None:
    wire = b"".join(
        bytes_field(1, integer_field(1, task_id) + integer_field(2, state))
        for task_id, state in [(0, 2), (1, 2), (-1, 3), (1 << 20, 3), (1 << 40, 3), (1, 3)]
    )
    assert {task_id: task.state for task_id, task in read_tasks(wire).tasks.items()} == {0: 2, 1: 3}


def test_a_list_with_too_many_fields_is_malformed() -> None:
    assert len(read_tasks(b"\x0a\x00" * MAX_TASKS).tasks) == 1
    for filler in (b"\x0a\x00", b"\x10\x01"):
        with pytest.raises(Malformed, match="more than 16384 entries"):
            read_tasks(filler * (MAX_TASKS + 2))
    with pytest.raises(Malformed, match="more than 8 fields"):
        read_tasks(bytes_field(1, b"\x10\x02" * 100_000))
    with pytest.raises(Malformed, match="more than 8 fields"):
        read_tasks(bytes_field(1, bytes_field(1, b"\x10\x02" * 100_000)))
    with pytest.raises(Malformed, match="more than 16385 fields"):
        read_entries(b"\x0a\x00" * 100_000, 2)


@pytest.mark.parametrize("field", [b"\x08\x01", b"\x12\x01x", b"\x19" + bytes(8), b"\x15" + bytes(4)])
def test_a_wrong_wire_type_is_malformed(field: bytes) -> None:
    with pytest.raises(Malformed):
        read_tasks(field)


def test_the_incarnation_is_read_from_the_metadata_as_jaxlib_sends_it() -> None:
    container = bytes_field(
        1,
        bytes_field(1, b"type.googleapis.com/tensorflow.ServiceMismatchError")
        + bytes_field(2, b"\x09" + struct.pack("<Q", 0xFEDC_BA98_7654_3210)),
    )
    assert read_mismatch("", container) == 0xFEDC_BA98_7654_3210


def test_without_metadata_the_incarnation_is_read_from_the_text() -> None:
    text = "wrong service incarnation: requested 0, currently 18446744073709551615"
    assert read_mismatch(text, b"") == (1 << 64) - 1
    assert read_mismatch(text, b"\xff") == (1 << 64) - 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Unable to parse request",
        "wrong service incarnation: requested 0, currently 0",
        "wrong service incarnation: requested 0, currently 18446744073709551616",
        "wrong service incarnation: requested 0, currently " + "9" * 5000,
        "wrong service incarnation: requested 0, currently \N{ARABIC-INDIC DIGIT ONE}x",
    ],
)
def test_another_refusal_has_no_incarnation(text: str) -> None:
    assert read_mismatch(text, b"") is None


@given(st.one_of(st.text(st.characters(), max_size=2000), st.binary(max_size=2000)))
def test_text_of_a_coordinator_is_printable_and_short(raw: str | bytes) -> None:
    text = printable(raw, MAX_TEXT)
    assert len(text) <= 1000
    assert text.isprintable()
    text.encode("utf-8")


def test_terminal_escapes_are_replaced() -> None:
    assert printable("a\x00b\x1b[31mc\nd\ud800e\N{RIGHT-TO-LEFT OVERRIDE}f") == "a\ufffdb\ufffd[31mc d\ufffde\ufffdf"
    assert printable(b"ok \xff\xfe") == "ok \ufffd\ufffd"


@given(st.integers(0, 20_000), st.integers(0, 127), U64)
def test_the_fast_path_of_a_task_agrees_with_the_general_one(rank: int, state: int, incarnation: int) -> None:
    number, rest = integer_field(1, rank), integer_field(2, state) + fixed64_field(6, incarnation)
    usual, unusual = bytes_field(1, number + rest), bytes_field(1, rest + number)
    assert read_tasks(usual) == read_tasks(unusual) == ({rank: Task(state, incarnation)}, 0)
    assert read_tasks(bytes_field(1, number + integer_field(2, state))).tasks == {rank: Task(state)}
