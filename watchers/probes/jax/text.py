"""Foreign text made fit for a status, a log line and a terminal."""

MAX_TEXT = 1000
"""Characters kept of any foreign text."""


def plain(raw: bytes | str, limit: int = MAX_TEXT) -> str:
    """The text on one line, printable characters only, at most `limit` of them.

    Line breaks and tabs become spaces; anything else that is not printable (NUL, ESC, surrogates, direction marks,
    bytes that are no UTF-8) becomes U+FFFD, so that a reader sees that something was there.
    """
    if isinstance(raw, bytes):
        raw = raw[: limit * 4].decode("utf-8", errors="replace")
    return "".join(_plain_character(character) for character in raw[:limit])


def _plain_character(character: str) -> str:
    if character.isprintable():
        return character
    return " " if character in "\n\r\t" else "\N{REPLACEMENT CHARACTER}"
