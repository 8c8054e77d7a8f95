"""Words from outside, made safe to print: in a log line, a metric label, a terminal, a status message."""

from functools import lru_cache
from sys import intern

from muster.api.printing import printable

MESSAGE = 512
"""Longest message we keep of anybody."""

WORD = 253
"""Longest name or reason (a DNS subdomain's length, RFC 1123)."""


def clean(text: str | None, limit: int = WORD) -> str:
    """``printable`` of what may be missing, without blanks around it."""
    return printable(text, limit).strip() if text else ""


@lru_cache(maxsize=8192)
def word(text: str | None) -> str:
    """``clean`` for what many objects have in common (nodes, reasons, groups): one string for all of them."""
    return intern(clean(text))


@lru_cache(maxsize=8192)
def small_number(text: str | None) -> int:
    """A label's value as a number; -1 if it is missing, negative or nonsense."""
    if text and len(text) <= 9 and text.isascii() and text.isdigit():
        return int(text)
    return -1
