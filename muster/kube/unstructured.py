"""Objects as plain dictionaries, and their fields read without trusting their shape.

For the places that show or copy whole objects: SDK, command line, node agent. An object may be older or newer than this
program, or damaged; a missing or odd field then reads as empty.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

Json = dict[str, Any]


def mapping(value: Any) -> Json:
    """``value`` where it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Json]:
    """Return the mappings in a list; none where ``value`` is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text(holder: Mapping[str, Any], key: str) -> str:
    """Return the string under ``key``, or an empty one."""
    value = holder.get(key)
    return value if isinstance(value, str) else ""


def whole(holder: Mapping[str, Any], key: str, default: int = 0) -> int:
    """Return the integer under ``key``, or ``default``. Label values count, as they are strings of digits."""
    value = holder.get(key)
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 19:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def moment(value: Any) -> float | None:
    """Return an RFC 3339 time in wall seconds since 1970, or None where ``value`` is no such time."""
    if not isinstance(value, str):
        return None
    try:
        read = datetime.fromisoformat(value)
    except ValueError:
        return None
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
