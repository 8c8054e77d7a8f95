"""Fields of objects of any shape."""

from typing import Any

import pytest

from muster.kube.unstructured import items, mapping, moment, text, whole


@pytest.mark.parametrize("value", [None, 7, "x", [], [1, "a", None], {"a": 1}, True])
def test_odd_values_read_as_empty(value: Any) -> None:
    holder = {"key": value}
    assert isinstance(mapping(value), dict)
    assert all(isinstance(item, dict) for item in items(value))
    assert isinstance(text(holder, "key"), str)
    assert isinstance(whole(holder, "key"), int)
    assert moment(value) is None


def test_values_are_read_as_they_are() -> None:
    assert whole({"rank": "12"}, "rank") == 12
    assert whole({"rank": "-1"}, "rank", -5) == -5
    assert moment("1970-01-01T00:01:00Z") == moment("1970-01-01T01:01:00.000000+01:00") == moment("1970-01-01T00:01:00")
