"""Expansion of $(VAR); the cases are those of Kubernetes' own table (expand_test.go), in our words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.local.node.sources.environment import expand

VARIABLES = {"A": "a", "B": "b", "EMPTY": "", "NESTED": "$(A)"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)", "a"),
        ("__$(A)__$(B)__", "__a__b__"),
        ("$(EMPTY)", ""),
        ("$(UNKNOWN)", "$(UNKNOWN)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$a"),
        ("$$$$(A)", "$$(A)"),
        ("$(NESTED)", "$(A)"),
        ("$(A", "$(A"),
        ("$A ${A} $", "$A ${A} $"),
        ("$()", "$()"),
        ("$(A$(B)", "$(A$(B)"),
        ("cost: 5$", "cost: 5$"),
    ],
)
def test_references_are_expanded_as_in_kubernetes(text: str, expected: str) -> None:
    assert expand(text, VARIABLES) == expected


@given(st.text())
def test_a_text_without_dollars_is_unchanged(text: str) -> None:
    assert expand(text.replace("$", ""), VARIABLES) == text.replace("$", "")


@given(st.text(alphabet="$()AB x", max_size=40))
def test_a_text_with_escaped_dollars_is_unescaped(text: str) -> None:
    assert expand(text.replace("$", "$$"), VARIABLES) == text
