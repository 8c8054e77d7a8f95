"""Labels that say whose a run is."""

import re
from typing import Any

import pytest

from muster.api.values.owners import MOST, NONE, OTHER, PATTERN, OwnerLabels

BOTH = OwnerLabels.of_list("team,example.com/cost-center=a1|b2")


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"team": "vision", "other": "x"}, (("label_team", "vision"),)),
        (
            {"team": "nlp", "example.com/cost-center": "b2"},
            (("label_example_com_cost_center", "b2"), ("label_team", "nlp")),
        ),
        ({"example.com/cost-center": "c3"}, (("label_example_com_cost_center", OTHER),)),
        ({"team": 'x"} 1\nmuster_up 0'}, (("label_team", OTHER),)),
        ({"team": "x" * 64}, (("label_team", OTHER),)),
        ({"team": ["vision"]}, (("label_team", OTHER),)),
        ({"team": ""}, ()),
        ({}, ()),
        (None, ()),
        ("team", ()),
        (["team"], ()),
    ],
)
def test_the_labels_of_the_list_are_read_and_what_is_no_value_of_kubernetes_is_other(
    labels: Any, expected: tuple[tuple[str, str], ...]
) -> None:
    assert BOTH.of(labels) == expected


def test_without_a_list_nothing_is_read() -> None:
    assert NONE.of({"team": "vision"}) == ()
    assert OwnerLabels.of_list("") == NONE


@pytest.mark.parametrize("text", ["a.b,a-b", ",".join(f"l{n}" for n in range(MOST + 1))])
def test_a_list_that_metrics_cannot_hold_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"at most|one name"):
        OwnerLabels.of_list(text)


@pytest.mark.parametrize("text", ["team", "team=a|b,example.com/x", "a,b", ""])
def test_the_form_of_the_list(text: str) -> None:
    assert re.fullmatch(PATTERN, text)


@pytest.mark.parametrize("text", ["team,", "-a", "a b", "team=", "team=a|", "a/b/c", '"', "a;b"])
def test_another_form_is_none(text: str) -> None:
    assert not re.fullmatch(PATTERN, text)
