"""Bytes into lines, and values out of objects that nobody promised anything about."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from muster.api.errors import Unreachable
from muster.client import lines
from muster.client.lines import split_lines
from muster.client.reading import items, mapping, moment, text, whole


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ((b"a\nb\n",), [b"a", b"b"]),
        ((b"a", b"b\nc", b"\n", b""), [b"ab", b"c"]),
        ((b"a\n\nlast",), [b"a", b"", b"last"]),
        ((), []),
    ],
)
async def test_lines_do_not_depend_on_chunks(parts: tuple[bytes, ...], found: list[bytes]) -> None:
    assert [line async for line in split_lines(chunks(*parts))] == found


async def test_a_line_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_LINE", 100)
    with pytest.raises(Unreachable, match="more than 100 bytes"):
        async for _ in split_lines(chunks(*[b"x" * 30] * 4)):
            pass


@pytest.mark.parametrize("value", [None, 7, "x", [], [1, "a", None], {"a": 1}, True])
def test_odd_values_read_as_nothing(value: Any) -> None:
    holder = {"key": value}
    assert isinstance(mapping(value), dict)
    assert all(isinstance(item, dict) for item in items(value))
    assert isinstance(text(holder, "key"), str)
    assert isinstance(whole(holder, "key"), int)
    assert moment(value) is None


def test_values_that_are_there() -> None:
    assert whole({"rank": "12"}, "rank") == 12
    assert whole({"rank": "-1"}, "rank", -5) == -5
    assert moment("1970-01-01T00:01:00Z") == moment("1970-01-01T01:01:00.000000+01:00") == moment("1970-01-01T00:01:00")
