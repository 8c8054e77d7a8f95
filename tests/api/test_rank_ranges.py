"""Ranks as a short text, such as 0-3,7."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.values.rank_ranges import check_ranges, from_ranges, to_ranges


@pytest.mark.parametrize(
    ("numbers", "text"), [((), ""), ((0,), "0"), ((0, 1), "0-1"), ((0, 1, 2, 3, 7), "0-3,7"), ((2, 4, 5, 9), "2,4-5,9")]
)
def test_numbers_are_written_as_ascending_ranges(numbers: tuple[int, ...], text: str) -> None:
    assert to_ranges(numbers) == text
    assert check_ranges(text)


@given(st.sets(st.integers(0, 300)), st.integers(0, 40))
def test_what_is_read_is_what_was_written(numbers: set[int], longest: int) -> None:
    ascending = sorted(numbers)
    assert list(from_ranges(to_ranges(ascending), 301)) == ascending
    short = to_ranges(ascending, longest)
    assert len(short) <= longest
    assert check_ranges(short)
    assert set(from_ranges(short, 301)) <= numbers


def test_a_text_that_is_too_long_loses_its_last_ranges() -> None:
    assert to_ranges([0, 1, 2, 10, 20, 30], 8) == "0-2,10"
    assert to_ranges([0, 1, 2, 10], 6) == "0-2,10"
    assert to_ranges([100], 2) == ""


def test_numbers_beyond_the_size_are_not_made() -> None:
    assert list(from_ranges("2-999999999", 5)) == [2, 3, 4]
    assert list(from_ranges("7,9-11", 10)) == [7, 9]
    assert list(from_ranges("5-6", 5)) == []
    assert list(from_ranges("0-3", 0)) == []


@given(st.text("0123456789-, \n", max_size=12))
def test_whatever_passes_the_check_can_be_read_and_ascends(text: str) -> None:
    if check_ranges(text):
        found = list(from_ranges(text, 1000))
        assert found == sorted(set(found))
