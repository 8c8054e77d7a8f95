"""JSONPaths of printer columns: Kubernetes' dialect, and the paths that are refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.local.apiserver.tables.jsonpath import LONGEST, compile_path

OBJECT: dict[str, Any] = {
    "metadata": {"labels": {"example.com/role": "leader", "app": "x"}},
    "spec": {"size": 3, "dash-ed": 1, "items": [{"n": 1}, {"n": 2}, {"n": 3}]},
    "status": {
        "conditions": [
            {"type": "Other", "status": "?"},
            {"type": "Ready", "status": "True", "ready": True},
            {"status": "no type"},
        ]
    },
}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        (".spec.size", [3]),
        ("spec.size", [3]),
        ("{.spec.size}", [3]),
        ("$.spec.size", [3]),
        (" .spec.size ", [3]),
        (".spec.dash-ed", [1]),
        (".spec['size']", [3]),
        (r".metadata.labels.example\.com/role", ["leader"]),
        (r".metadata.labels['example\.com/role']", ["leader"]),
        (".metadata.labels['example.com/role']", ["leader"]),
        (".spec.items[0].n", [1]),
        (".spec.items[-1].n", [3]),
        (".spec.items[9].n", []),
        (".spec.items[*].n", [1, 2, 3]),
        (".metadata.labels.*", ["leader", "x"]),
        (".metadata.labels.*.deeper", []),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type == 'Ready')].status", ["True"]),
        (".status.conditions[?(@['type']=='Ready')].status", ["True"]),
        (".status.conditions[?(@.ready==true)].status", ["True"]),
        (".absent.field", []),
        (".spec.size.deeper", []),
        (".", [OBJECT]),
    ],
)
def test_a_path_of_the_kubernetes_dialect_finds_its_values(path: str, values: list[Any]) -> None:
    assert compile_path(path)(OBJECT) == values


def test_a_filter_does_not_select_an_item_without_the_field() -> None:
    assert compile_path('.status.conditions[?(@.type!="Ready")].status')(OBJECT) == ["?"]


@pytest.mark.parametrize(
    "path",
    [
        ".a[?(",
        ".a[",
        "..a",
        ".a..b",
        ".*[*,*][*,*][*,*]",
        ".a['b','c']",
        ".a[0:10:1]",
        ".a[?(@..b=='c')]",
        ".a[?(@[*]=='c')]",
        ".a[?(@[?(@.x=='y')]=='c')]",
        ".a[?match(@.b, '(a*)*b')]",
        ".a[?search(@.b, '(a*)*b')]",
        ".a[?(@.b =~ /(a*)*b/)]",
        ".a[?(@.b==1e999)]",
        ".a[999999999999999999999999]",
        "." + "a" * (LONGEST + 1),
    ],
)
def test_a_path_outside_the_subset_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="JSONPath"):
        compile_path(path)


@given(st.text(alphabet="$@.*[]?()'\"\\=!<>&|,:-~^0a \u00e9\x00", max_size=30))
def test_every_text_is_either_refused_or_evaluated(text: str) -> None:
    try:
        find = compile_path(text)
    except ValueError:
        return
    assert isinstance(find(OBJECT), list)


def test_a_deeply_nested_filter_is_either_refused_or_evaluated() -> None:
    text = "[?(" + "!" * (LONGEST - 10) + "@.a)]"
    try:
        find = compile_path(text)
    except ValueError:
        return
    assert find(OBJECT) == []
