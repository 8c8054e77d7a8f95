"""Makes untrusted text safe to print in a log line, a metric label, a status message or a terminal."""

import re
from functools import lru_cache
from sys import intern

MESSAGE = 512
"""Longest message that is kept, in characters."""

DIGITS = 9
"""Most digits of a number in a label: every rank and every epoch is below 10^9."""

WORD = 253
"""Longest name or reason (a DNS subdomain's length, RFC 1123)."""

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
"""An escape sequence of a terminal that chooses a colour (ECMA-48, SGR), which Ray prints also where none reads it."""

_MARKS = str.maketrans(dict.fromkeys(";:,()", "\N{REPLACEMENT CHARACTER}"))


def uncoloured(text: str) -> str:
    """Return the text without the escape sequences that choose a colour."""
    return _COLOUR.sub("", text) if "\x1b" in text else text


def printable(text: str | bytes, limit: int | None = None) -> str:
    """Return the text on one line, at most ``limit`` characters.

    Line breaks and tabs become spaces. Whatever else cannot be printed (NUL, ESC, lone surrogates, direction marks,
    bytes that are not UTF-8) becomes U+FFFD, so that the reader sees that a character was removed.
    """
    if isinstance(text, bytes):
        text = (text if limit is None else text[: limit * 4]).decode("utf-8", errors="replace")
    if limit is not None and len(text) > limit:
        text = f"{text[: limit - 1]}…"
    if text.isprintable():
        return text
    return "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    return " " if character in "\n\r\t" else "\N{REPLACEMENT CHARACTER}"


def bare(text: str, limit: int) -> str:
    """Return ``printable`` of a name that a program gives, without the marks that separate parts of our sentences."""
    return printable(text, limit).translate(_MARKS)


def clean(text: str | None, limit: int = WORD) -> str:
    """Return ``printable`` of an optional text, stripped."""
    return printable(text, limit).strip() if text else ""


def word(text: str | None) -> str:
    """Return ``clean``, interned: for values that many objects share (nodes, reasons, groups).

    Text longer than ``WORD`` is cut before it is cached, which bounds the memory of the cache.
    """
    return _word(text) if text and len(text) <= WORD else _word(clean(text))


@lru_cache(maxsize=8192)
def _word(text: str) -> str:
    return intern(clean(text))


def small_number(text: str | None) -> int:
    """Return a label's value as a number; -1 if it is missing, negative or nonsense."""
    return _small_number(text) if text and len(text) <= DIGITS else -1


@lru_cache(maxsize=8192)
def _small_number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else -1
