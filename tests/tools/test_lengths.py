"""Documents stay within their limits of words, and their sentences are short."""

import pytest

from tools.lengths.__main__ import GENERATED, GENERATED_SUM, LIMITS, PAGE, SUM, dialects, exceeded, lengths
from tools.lengths.dialect import dialect
from tools.lengths.measure import Length, measured


@pytest.mark.drift
def test_no_page_and_no_sum_exceeds_its_limit() -> None:
    assert list(exceeded(lengths())) == [], "shorten it, or raise the limit in tools/lengths with a reason"


def test_every_word_counts_and_only_prose_has_sentences() -> None:
    page = "# Title\n\nOne two three. Four:\n\n```sh\nls a b\n```\n\n| a | b |\n|---|---|\n\n"
    assert measured(page + "- Five [six](x.md)\n- Seven.\n") == Length(words=22, sentences=4, prose=7)


@pytest.mark.parametrize(
    ("page", "length", "problem"),
    [
        ("new.md", Length(PAGE + 1, 30, 300), f"new.md: {PAGE + 1} words, at most {PAGE}"),
        ("guide.md", Length(LIMITS["guide.md"] + 1, 900, 900), f"guide.md: {LIMITS['guide.md'] + 1} words"),
        ("new.md", Length(200, 10, 151), "new.md: 15.1 words a sentence, at most 15"),
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


@pytest.mark.drift
def test_no_page_has_more_words_of_the_dialect_than_it_may() -> None:
    assert list(dialects()) == []


def test_words_of_the_dialect_are_found_in_prose_and_not_in_what_programs_print() -> None:
    assert dialect("The page says so,\nwhich a rank gets\non.") == ["says", "gets on"]
    assert dialect("```\nsays\n```\n\n> told\n\n`stands` <!-- anew --> ![44 of which](x.png)\n") == []
