"""Text from outside, made safe to print: in a log line, a metric label, a status message, on a terminal."""


def printable(text: str | bytes, limit: int | None = None) -> str:
    """The text on one line, at most ``limit`` characters.

    Line breaks and tabs become spaces. Whatever else cannot be printed (NUL, ESC, lone surrogates, direction marks,
    bytes that are no UTF-8) becomes U+FFFD, so that a reader sees that something was there.
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
