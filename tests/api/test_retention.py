"""The setting that says how long finished Experiments stay: what it reads, and what its errors say."""

import pytest

from muster.api.values.retention import LONGEST, MOST, NONE, Retention

DAY = 86_400


def test_the_entry_of_a_namespace_is_stronger_than_that_of_all() -> None:
    found = Retention.of_list("30d, ci=12h,archive = keep")
    assert [found.of(name) for name in ("team", "ci", "archive")] == [30 * DAY, DAY // 2, None]


def test_without_an_entry_for_all_only_those_named_are_deleted() -> None:
    found = Retention.of_list("ci=1w 2d")
    assert (found.of("ci"), found.of("team")) == (9 * DAY, None)


@pytest.mark.parametrize("text", ["", "  ", "keep"])
def test_nothing_is_deleted_unless_it_says_so(text: str) -> None:
    assert Retention.of_list(text).of("team") is NONE.of("team") is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("30", "the unit is missing"),
        ("30d,", "it is empty; .*; or write keep"),
        ("ci=", "it is empty"),
        ("Team=1d", "'Team' is not the name of a namespace"),
        ("a=b=1d", "'a=b' is not the name of a namespace"),
        ("=1d", "'' is not the name of a namespace"),
        ("30s", "at least 1m, so that the end can be read"),
        ("0s", "at least 1m"),
        ("11w 11w", "given twice"),
        ("520w 5w", "given twice"),
        ("600w", "longer than ten years"),
        ("1d,ci=2d,3d", "'3d': the time of all other namespaces is given twice"),
        ("ci=2d,ci=3d", "'ci=3d': namespace ci is given twice; remove one"),
        (",".join(f"n{n}=1d" for n in range(MOST + 1)), f"{MOST + 1} entries, and at most {MOST} are read"),
        ("1" * (LONGEST + 1), f"at most {LONGEST} are read"),
    ],
)
def test_what_cannot_be_read_names_the_entry_and_what_to_write(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as said:
        Retention.of_list(text)
    assert len(str(said.value)) < 400
