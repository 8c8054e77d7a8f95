"""Spans of time as text: durations as AIchor writes them, and ages as ``kubectl get`` prints them.

A duration such as ``1w 2d 5h 6m 20s`` has weeks, days, hours, minutes and seconds, each at most once, from the longest
to the shortest, with or without spaces between the terms (docs.aichor.ai, spec.timeout). Everything is whole seconds.
The text is read once from left to right, without a regular expression, so that the cost is linear for any text.
"""

from typing import Final

UNITS: Final = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
"""Seconds per unit, longest first."""

NAMES: Final = {"w": "weeks", "d": "days", "h": "hours", "m": "minutes", "s": "seconds"}

MAX_LENGTH: Final = 64
"""Longest accepted text, in characters."""

MAX_SECONDS: Final = 10 * 366 * 86_400
"""Ten years. Anything longer is a mistake, and would overflow Kubernetes' own arithmetic of seconds."""

PATTERN: Final = r"^([0-9]{1,9}w)?( {0,4}[0-9]{1,9}d)?( {0,4}[0-9]{1,9}h)?( {0,4}[0-9]{1,9}m)?( {0,4}[0-9]{1,9}s)?$"
"""The grammar of durations as a pattern, for the API server (a minimum length excludes the empty text)."""

_MAX_DIGITS: Final = 9
_FORM: Final = 'write it like "1w 2d 5h 6m 20s"'


class DurationError(ValueError):
    """A text is not a duration. ``position`` is the first wrong character, counted from 1."""

    def __init__(self, text: str, position: int, what: str) -> None:
        shown = repr(text if len(text) <= MAX_LENGTH else text[:MAX_LENGTH] + "…")
        super().__init__(f"{shown} is not a duration: at character {position}: {what}")
        self.position = position


def parse_duration(text: str) -> int:
    """Return whole seconds of ``text``, from 0 to ``MAX_SECONDS``. Raises ``DurationError``."""
    if len(text) > MAX_LENGTH:
        raise DurationError(text, MAX_LENGTH + 1, f"longer than {MAX_LENGTH} characters")
    total, at, last = 0, 0, ""
    end = len(text.rstrip(" "))
    while at < end:
        while text[at] == " ":
            at += 1
        first = at
        while at < end and text[at] in "0123456789":
            at += 1
        if at == first:
            raise DurationError(text, at + 1, f"a number is expected, not {text[at]!r}; {_FORM}")
        if at - first > _MAX_DIGITS:
            raise DurationError(text, first + 1, f"a number of more than {_MAX_DIGITS} digits")
        if at == end:
            raise DurationError(text, at + 1, f"the unit is missing: one of {', '.join(UNITS)}")
        unit = text[at]
        if unit not in UNITS:
            raise DurationError(text, at + 1, f"{unit!r} is not a unit: one of {', '.join(UNITS)}")
        if unit == last:
            raise DurationError(text, at + 1, f"{NAMES[unit]} are given twice")
        if last and UNITS[unit] > UNITS[last]:
            raise DurationError(text, at + 1, f"{NAMES[unit]} come before {NAMES[last]}: longest unit first, each once")
        total += int(text[first:at]) * UNITS[unit]
        if total > MAX_SECONDS:
            raise DurationError(text, first + 1, f"longer than ten years ({format_duration(MAX_SECONDS)})")
        last = unit
        at += 1
    if not last:
        raise DurationError(text, 1, f"it is empty; {_FORM}")
    return total


def format_duration(seconds: int) -> str:
    """Return ``seconds`` (not negative) in the fewest terms: ``5400`` is ``1h 30m``, ``0`` is ``0s``."""
    if seconds < 0:
        raise ValueError(f"a duration is not negative, this is {seconds} s")
    terms = []
    for unit, length in UNITS.items():
        number, seconds = divmod(seconds, length)
        if number:
            terms.append(f"{number}{unit}")
    return " ".join(terms) or "0s"


def age(seconds: float) -> str:
    """Return ``95s``, ``5m30s``, ``2h15m``, ``3d4h``, ``2y35d`` (apimachinery pkg/util/duration, HumanDuration).

    It has at most two units, and a negative age a leading minus.
    """
    if seconds < 0:
        return f"-{age(-seconds)}"
    whole = int(seconds)
    if whole < 120:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    if minutes < 10:
        return f"{minutes}m{rest}s" if rest else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    hours, minutes = divmod(minutes, 60)
    if hours < 8:
        return f"{hours}h{minutes}m" if minutes else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    days, hours = divmod(hours, 24)
    if days < 8:
        return f"{days}d{hours}h" if hours else f"{days}d"
    if days < 730:
        return f"{days}d"
    years, days = divmod(days, 365)
    return f"{years}y{days}d" if years < 8 and days else f"{years}y"


def often(times: int) -> str:
    """Return ``once``, ``2 times``."""
    return "once" if times == 1 else f"{times} times"


def count_of(number: int, noun: str) -> str:
    """Return ``1 pod``, ``3 pods``, ``2 processes``."""
    return f"{number} {noun}{'' if number == 1 else 'es' if noun.endswith('s') else 's'}"
