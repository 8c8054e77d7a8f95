"""The Event of a run names its incident, in words and for programs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.state.facts.incidents.grouping import Key, announced, announcement, line
from muster.state.facts.incidents.subjects import KINDS, NODES, remedy

NAMES = st.text(st.characters(codec="ascii", categories=("L", "N", "P", "Zs")), min_size=1)


@given(st.sampled_from(KINDS), NAMES)
def test_it_is_read_as_it_was_written(kind: str, subject: str) -> None:
    told = line(Key(kind, subject), 1.0, 0)
    assert announced(told.about) == Key(kind, subject if kind != NODES else "that failed together")
    assert told.message == announcement(Key(kind, subject))
    assert remedy(kind, subject)


def test_it_does_not_change_with_the_nodes_that_are_left() -> None:
    assert announcement(Key(NODES, "a and others")) == announcement(Key(NODES, "b and others"))


@pytest.mark.parametrize("about", ["", "=", "node", "node=", "moon=x", "node a", announcement(Key("node", "a"))])
def test_what_names_no_subject_is_about_none(about: str) -> None:
    assert announced(about) is None


def test_a_subject_is_quoted_for_a_shell() -> None:
    assert remedy("node", "n7").endswith("kubectl describe node n7")
    assert remedy("node", "$(reboot)").endswith("kubectl describe node '$(reboot)'")
    assert remedy("moon", "x") == ""
