"""Durations are read as AIchor writes them; an error names the position."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.values.durations import MAX_LENGTH, MAX_SECONDS, PATTERN, DurationError, format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1w 2d 5h 6m 20s", 795_980),
        ("4m", 240),
        ("6h", 21_600),
        ("1d", 86_400),
        ("0s", 0),
        ("90m", 5_400),
        ("1h30m", 5_400),
        ("  1h   30m  ", 5_400),
        ("522w 6d", MAX_SECONDS),
    ],
)
def test_a_valid_duration_is_read(text: str, seconds: int) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "position", "says"),
    [
        ("", 1, "it is empty"),
        ("   ", 1, "it is empty"),
        ("h", 1, "a number is expected, not 'h'"),
        ("15", 3, "the unit is missing"),
        ("5 m", 2, "' ' is not a unit"),
        ("5x", 2, "'x' is not a unit"),
        ("1h 2h", 5, "hours are given twice"),
        ("2h 1d", 5, "days come before hours"),
        ("1h -5m", 4, "a number is expected, not '-'"),
        ("1.5h", 2, "'.' is not a unit"),
        ("1234567890s", 1, "more than 9 digits"),
        ("1s 600w", 7, "weeks come before seconds"),
        ("523w", 1, "longer than ten years"),
        ("٣h", 1, "a number is expected"),
        ("1h\n", 3, "a number is expected"),
    ],
)
def test_an_error_names_the_position(text: str, position: int, says: str) -> None:
    with pytest.raises(DurationError, match=re.escape(says)) as raised:
        parse_duration(text)
    assert raised.value.position == position
    assert f"at character {position}" in str(raised.value)


def test_a_text_beyond_the_limit_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(DurationError, match="longer than 64 characters") as raised:
        parse_duration("1s" * 100_000)
    assert len(str(raised.value)) < 3 * MAX_LENGTH


@given(st.integers(0, MAX_SECONDS))
def test_a_formatted_duration_reads_back(seconds: int) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


@given(st.text(max_size=80) | st.text("0123456789wdhms ", max_size=20))
def test_any_text_is_a_duration_or_a_duration_error(text: str) -> None:
    position, seconds = 1, 0
    try:
        seconds = parse_duration(text)
    except DurationError as error:
        position = error.position
    assert 1 <= position <= len(text) + 1
    assert parse_duration(format_duration(seconds)) == seconds <= MAX_SECONDS


@given(st.text("0123456789wdhms ", max_size=20))
def test_the_pattern_of_the_schema_accepts_what_the_parser_accepts(text: str) -> None:
    """The API server may be laxer (it cannot count the seconds), but must not refuse what Muster accepts."""
    try:
        parse_duration(text)
    except DurationError:
        return
    if text == text.strip(" ") and "     " not in text:
        assert re.search(PATTERN, text)


def test_a_negative_duration_cannot_be_printed() -> None:
    with pytest.raises(ValueError, match="not negative"):
        format_duration(-1)
    assert format_duration(0) == "0s"
    assert format_duration(795_980) == "1w 2d 5h 6m 20s"
