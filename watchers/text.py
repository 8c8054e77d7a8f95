"""Words from outside, made safe to print: in a log line, a metric label, a terminal, a status message."""

from functools import lru_cache
from sys import intern

MESSAGE = 512
"""Longest message we keep of anybody."""

WORD = 253
"""Longest name or reason (a DNS subdomain's length, RFC 1123)."""


def clean(text: str | None, limit: int = WORD) -> str:
    """The first ``limit`` characters; what cannot be printed (controls, newlines, lone surrogates, bidi marks) becomes
    a space."""
    if not text:
        return ""
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else " " for letter in text).strip()


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
