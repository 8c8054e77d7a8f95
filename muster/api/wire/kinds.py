"""The kinds of values that a status holds: how each is written, read and bounded.

Reading is lenient in size and strict in type: a text that is too long is cut, a list that is too long is trimmed; a
value of another type, and a number out of its bounds, is a ``WireError``.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Any, Final

from muster.api.errors import MusterError
from muster.api.values.rank_ranges import RANGES, check_ranges
from muster.api.values.timestamps import PATTERN, micro_time, seconds_of, whole_time

MAX_COUNTER: Final = 2**53
MAX_MESSAGE: Final = 1_024
MAX_RANGES: Final = 32_768
"""Characters. Ranges of 10,000 ranks take fewer, however they lie."""
REMEMBERED: Final = 2048
"""Times that are remembered, so that they are not parsed again."""
NEVER: Final = object()
"""Equal to no value of a field."""

_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_TIME: Final = re.compile(PATTERN)
_SHOWN: Final = 60
"""Characters of a wrong value that an error shows."""


class WireError(MusterError, ValueError):
    """A status that cannot be read. The message begins with the path of the field."""


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """One kind of value.

    ``zero`` is what an absent field without a default is read as; ``none`` the value that a field with a default
    leaves out; with ``null``, an explicit null counts as absent.
    """

    schema: dict[str, Any]
    read: Callable[[Any], Any]
    write: Callable[[Any], Any]
    zero: object = None
    none: object = NEVER
    null: bool = False


def as_it_is(value: Any) -> Any:
    """Return a value that looks the same on the wire."""
    return value


def wrong(value: object, expected: str) -> WireError:
    """Return the error for a value that is not what is expected."""
    shown = repr(value)
    return WireError(f"{expected} is expected, not {shown if len(shown) <= _SHOWN else shown[:_SHOWN] + '…'}")


def text(longest: int) -> Kind:
    """Return text of at most that many characters."""
    cut = _cut(longest)

    def read(value: object) -> str:
        if not isinstance(value, str):
            raise wrong(value, "text")
        return cut(value)

    return Kind({"type": "string", "maxLength": longest}, read, cut, "", "", null=True)


def _cut(longest: int) -> Callable[[str], str]:
    """Cut to that many characters and as many bytes: messages quote what others wrote, and etcd counts bytes."""

    def cut(value: str) -> str:
        short = value if len(value) <= longest else value[: longest - 1] + "…"
        if short.isascii():
            return short
        whole = _SURROGATES.sub("\ufffd", short).encode()
        if len(whole) <= longest + 2:  # the ellipsis is one character and three bytes
            return whole.decode()
        return whole[: longest - 1].decode(errors="ignore") + "…"

    return cut


def member_of(words: type[StrEnum]) -> Kind:
    """Return text that is read as a member of an enum, if it is one; another version may write other words."""
    plain, known = text(128), {word.value: word for word in words}

    def read(value: object) -> str:
        name: str = plain.read(value)
        return known.get(name, name)

    return replace(plain, read=read, write=str)


def whole(low: int, high: int, none: object = NEVER) -> Kind:
    """Return a whole number within bounds."""

    def read(value: object) -> int:
        if type(value) is not int or not low <= value <= high:
            raise wrong(value, f"a whole number from {low} to {high}")
        return value

    return Kind({"type": "integer", "minimum": low, "maximum": high}, read, as_it_is, 0, none)


def _boolean(value: object) -> bool:
    if type(value) is not bool:
        raise wrong(value, "true or false")
    return value


def _time(write: Callable[[float], str]) -> Kind:
    return Kind({"type": "string", "pattern": PATTERN, "minLength": 1, "maxLength": 40}, _moment, write, 0.0, null=True)


def _moment(value: object) -> float:
    if not isinstance(value, str) or (at := _parsed(value)) is None:
        raise wrong(value, "a time such as 2026-01-31T12:00:00.000000Z")
    return at


@lru_cache(REMEMBERED)
def _parsed(value: str) -> float | None:
    return seconds_of(value) if _TIME.fullmatch(value) else None


_TRUTHS: Final = {"True": True, "False": False, "Unknown": None}
_TRUTH_WORDS: Final = {value: word for word, value in _TRUTHS.items()}


def _truth(value: object) -> bool | None:
    if not isinstance(value, str) or value not in _TRUTHS:
        raise wrong(value, "True, False or Unknown")
    return _TRUTHS[value]


def listed(item: Kind, most: int, *, newest: bool) -> Kind:
    """Return a list on the wire, a tuple in Python, of at most ``most`` items: the first or ``newest`` are kept."""
    kept = slice(-most, None) if newest else slice(most)

    def read(value: object) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise wrong(value, "a list")
        return tuple(map(item.read, value[kept]))

    def write(value: tuple[Any, ...]) -> list[Any]:
        return [*map(item.write, value[kept])]

    return Kind({"type": "array", "maxItems": most, "items": item.schema}, read, write, ())


def rank_ranges(longest: int) -> Kind:
    """Return ascending ranges of ranks such as ``0-3,7``; what is longer is cut between two ranges."""

    def read(value: object) -> str:
        if not isinstance(value, str) or len(value) > longest or not check_ranges(value):
            raise wrong(value, "ascending ranges of ranks such as 0-3,7")
        return value

    return Kind({"type": "string", "pattern": RANGES, "maxLength": longest}, read, as_it_is, "", "", null=True)


def optional(kind: Kind) -> Kind:
    """Return the kind that also takes None, which is not written."""
    return replace(kind, zero=None, none=None, null=True)


Name = Annotated[str, text(253)]
Reason = Annotated[str, text(128)]
Message = Annotated[str, text(MAX_MESSAGE)]
Counter = Annotated[int, whole(0, MAX_COUNTER)]
Count = Annotated[int, whole(0, MAX_COUNTER, none=0)]
"""A counter that is not written while it is 0."""
Integer = Annotated[int, whole(-MAX_COUNTER, MAX_COUNTER)]
Rank = Annotated[int, whole(0, MAX_COUNTER, none=-1)]
"""A rank; -1 is none."""
RankRanges = Annotated[str, rank_ranges(MAX_RANGES)]
"""Ranks, as ascending ranges."""
Signal = Annotated[int, whole(-MAX_COUNTER, MAX_COUNTER, none=0)]
"""A signal; 0 is none."""
Flag = Annotated[bool, Kind({"type": "boolean"}, _boolean, as_it_is, False)]
Mark = Annotated[bool, Kind({"type": "boolean"}, _boolean, as_it_is, False, none=False)]
"""A flag that is not written while it is False."""
Truth = Annotated[
    bool | None,
    Kind({"type": "string", "pattern": "^(True|False|Unknown)$", "maxLength": 7}, _truth, _TRUTH_WORDS.__getitem__),
]
"""The status of a condition; None is Unknown."""
Time = Annotated[float, _time(micro_time)]
"""Wall seconds since 1970; on the wire RFC 3339 in UTC with microseconds."""
WholeTime = Annotated[float, _time(whole_time)]
"""A time in whole seconds, for people."""
