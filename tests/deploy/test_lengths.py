"""Documents stay within their limits of words, and their sentences are short."""

import pytest

from deploy.lengths.__main__ import GENERATED, GENERATED_SUM, LIMITS, PAGE, SUM, exceeded, lengths
from deploy.lengths.measure import Length, measured


@pytest.mark.drift
def test_no_page_and_no_sum_exceeds_its_limit() -> None:
    assert list(exceeded(lengths())) == [], "shorten it, or raise the limit in deploy/lengths with a reason"


def test_every_word_counts_and_only_prose_has_sentences() -> None:
    page = "# Title\n\nOne two three. Four:\n\n```sh\nls a b\n```\n\n| a | b |\n|---|---|\n\n"
    assert measured(page + "- Five [six](x.md)\n- Seven.\n") == Length(words=22, sentences=4, prose=7)


def test_a_full_stop_within_a_word_and_a_colon_within_a_line_end_no_sentence() -> None:
    assert measured("Set `spec.clocks.run: 8h` of v1.2: it ends e.g.\nall.\n").sentences == 2


@pytest.mark.parametrize(
    ("page", "length", "problem"),
    [
        ("new.md", Length(PAGE + 1, 30, 300), f"new.md: {PAGE + 1} words, at most {PAGE}"),
        ("guide.md", Length(LIMITS["guide.md"] + 1, 900, 900), f"guide.md: {LIMITS['guide.md'] + 1} words"),
        ("new.md", Length(200, 10, 171), "new.md: 17.1 words a sentence, at most 17"),
        ("new.md", Length(SUM + 1, 10, 10), f"all pages: {SUM + 1} words, at most {SUM}"),
        ("cli.md", Length(GENERATED_SUM + 1, 10, 10), f"generated: {GENERATED_SUM + 1} words"),
    ],
)
def test_what_is_too_long_is_named_with_its_limit(page: str, length: Length, problem: str) -> None:
    assert any(each.startswith(problem) for each in exceeded({page: length}))


def test_sentences_of_generated_pages_and_pages_that_are_gone() -> None:
    found = list(exceeded({"cli.md": Length(1, 1, 99)}))
    assert not any("a sentence" in each for each in found)
    assert "guide.md: there is no such page" in found
    assert set(LIMITS) >= GENERATED
