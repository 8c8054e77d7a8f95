"""Patterns of failure rules are of RE2 and bounded: no pattern can hold the daemon up."""

import pytest

from muster.api.values.patterns import MAX_PATTERN, MAX_TEXT, PatternError, compiled, found_in


def test_a_pattern_is_found_anywhere_in_the_text() -> None:
    assert found_in(r"CUDA error: (out of memory|device)", "rank 3: CUDA error: out of memory")
    assert not found_in(r"^CUDA", "rank 3: CUDA error")


@pytest.mark.parametrize("pattern", ["(", "a{1000}{1000}", "(?=a)", r"(a)\1", "x" * (MAX_PATTERN + 1)])
def test_what_re2_does_not_take_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        compiled(pattern)


def test_a_pattern_that_takes_exponential_time_elsewhere_is_answered() -> None:
    assert not found_in("^(a+)+$", "a" * (MAX_TEXT - 1) + "b")


def test_the_end_of_a_long_text_is_searched() -> None:
    assert found_in("killed$", "x" * 2 * MAX_TEXT + "killed")
    assert not found_in("killed", "killed" + "x" * MAX_TEXT)
