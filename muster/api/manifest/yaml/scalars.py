"""Values of unquoted scalars: YAML 1.2's core schema, without the additions of YAML 1.1.

``true`` and ``false`` are truth values; ``yes``, ``no``, ``on`` and ``off`` are text. Whole numbers are decimal,
without leading zeros and underscores; ``010``, ``0x10``, ``1_000`` and ``190:20:30`` stay text, so that a field of type
number refuses them with a hint instead of reading 8, 16, 1000 or 685230. Values that no field accepts (NaN, infinities,
numbers beyond 64 bits) are refused here.
"""

import re
from typing import Final

Value = str | int | float | bool | None

_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
}
_NOT_FINITE: Final = frozenset(sign + word for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF")) | frozenset(
    (".nan", ".NaN", ".NAN")
)
_INTEGER: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z")
_FLOAT: Final = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\Z")
_MAX_DIGITS: Final = 40
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "null": (type(None),),
}


class ScalarError(ValueError):
    """An unquoted scalar that no field accepts."""


def resolve(text: str) -> Value:
    """Return the value of an unquoted scalar. Raises ``ScalarError``."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    if text in _NOT_FINITE:
        raise ScalarError(f"{text} is not a number Muster accepts, write a finite number")
    if len(text) > _MAX_DIGITS:
        if _FLOAT.match(text):
            raise ScalarError(
                f"a number of {len(text)} characters, write a number that fits in 64 bits, or quote the text"
            )
        return text
    if _INTEGER.match(text):
        number = int(text)
        if not -(2**63) <= number < 2**63:
            raise ScalarError("a number beyond 64 bits, write a smaller one, or quote the text")
        return number
    if _FLOAT.match(text):
        value = float(text)
        if value in (float("inf"), float("-inf")):
            raise ScalarError("a number too large to hold, write a finite number")
        return value
    return text


def resolve_tagged(tag: str, text: str, *, plain: bool) -> Value:
    """Return the value of a scalar with an explicit core tag. Raises ``ScalarError`` for another tag or type."""
    kind = tag.removeprefix("tag:yaml.org,2002:")
    if kind == "str":
        return text
    if kind not in _TYPES:
        raise ScalarError("a YAML tag that is not one of the core types, remove it")
    value = resolve(text)
    allowed = _TYPES[kind]
    if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed) or not plain:
        raise ScalarError(f"the tag !!{kind} does not fit this value, remove the tag")
    return value


def trap(text: str) -> str:
    """Return the hint for a text that looks like a number of YAML 1.1, or a quoted number; empty if it is neither."""
    if len(text) > _MAX_DIGITS:
        return ""
    if _FLOAT.match(text):
        return f"remove the quotes: {text}"
    bare = text.lstrip("+-")
    if not bare[:1].isdigit():
        return ""
    if ":" in bare:
        return "older YAML reads colons as base 60; write one decimal number"
    if "_" in bare:
        return f"write it without underscores: {text.replace('_', '')}"
    if bare[:2].lower() in ("0x", "0o", "0b"):
        return "write it in decimal"
    if bare.isdigit():
        return f"older YAML reads a leading zero as octal; write {bare.lstrip('0') or '0'}"
    return ""
