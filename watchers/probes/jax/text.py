"""Foreign text made fit for a status, a log line and a terminal."""

from muster.api.printing import printable

MAX_TEXT = 1000
"""Characters kept of any foreign text."""


def plain(raw: bytes | str, limit: int = MAX_TEXT) -> str:
    """The text on one line, printable characters only, at most `limit` of them."""
    return printable(raw, limit)
