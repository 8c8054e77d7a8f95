"""What the Event of a run says of its incident is read again as what was meant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.state.facts.incidents.announcement import announced, announcement
from muster.state.facts.incidents.grouping import Key
from muster.state.facts.incidents.subjects import KINDS, NODES, remedy

NAMES = st.text(st.characters(codec="ascii", categories=("L", "N", "P", "Zs")), min_size=1)


@given(st.sampled_from(KINDS), NAMES)
def test_it_is_read_as_it_was_written(kind: str, subject: str) -> None:
    assert announced(announcement(Key(kind, subject))) == Key(
        kind, subject if kind != NODES else "that failed together"
    )


def test_it_does_not_change_with_the_nodes_that_are_left() -> None:
    assert announcement(Key(NODES, "a and others")) == announcement(Key(NODES, "b and others"))


@pytest.mark.parametrize(
    "words", ["", "part of an incident: ", "part of an incident: node", "part of an incident: moon x", "node a"]
)
def test_other_words_name_none(words: str) -> None:
    assert announced(words) is None


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_something_to_do(kind: str) -> None:
    assert remedy(kind, "x")


def test_a_subject_is_quoted_for_a_shell() -> None:
    assert remedy("node", "n7").endswith("kubectl describe node n7")
    assert remedy("node", "$(reboot)").endswith("kubectl describe node '$(reboot)'")
    assert remedy("moon", "x") == ""
