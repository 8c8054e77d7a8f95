"""Results on standard output, messages on standard error, colours on terminals only, and no foreign escape sequences.

Texts that come from a cluster (reasons, messages, names, log lines, errors of the API server) are written by others.
Each is made printable before it becomes part of a line. As a second guard, whatever a terminal could obey is replaced
here, except for the colours that this program sets.
"""

import io
import os
import re
import sys
from typing import IO, Any

import click

from muster.api.values.printable import printable


def prepare_streams() -> None:
    """Replace closed standard streams by /dev/null, and have them print what their encoding lacks as escapes.

    A scheduler or ``>&-`` may start a process without them. The first free descriptor is opened, so no file that is
    opened later takes the number of a standard stream.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 - open until the end
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def colourful(stream: IO[Any]) -> bool:
    """Return whether ``stream`` is a terminal that wants colours (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


_OBEYED = re.compile(
    "(\x1b\\[[0-9;]*m)|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""A colour (group 1), or a character that drives a terminal: a control, a direction mark, half of a surrogate pair."""


def data(*lines: str) -> None:
    """Print lines of the result. A file or a pipe gets them as they are."""
    stream = sys.stdout
    for text in lines:
        click.echo(_harmless(text) if stream.isatty() else text, color=colourful(stream))


def say(*lines: str) -> None:
    """Print messages."""
    stream = sys.stderr
    for text in lines:
        click.echo(_harmless(text), err=True, color=colourful(stream))


def plain(text: str) -> str:
    """Return text of several lines from outside, each of them printable."""
    return "\n".join(map(printable, text.split("\n")))


def _harmless(text: str) -> str:
    return _OBEYED.sub(lambda found: found[1] or "\N{REPLACEMENT CHARACTER}", text)
