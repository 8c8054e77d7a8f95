"""Style of lines on a terminal: of an explanation, and of a member's log."""

import os
import re
import sys

import click

from muster.api.values.printable import printable
from muster.client.explaining.style import DIM, Style

TERMINAL = Style(lambda text, colour: click.style(text, fg=colour), None)
"""In colours, with times of day in the zone of this machine."""

_COLOUR = re.compile(r"(\x1b\[[0-9;]*m)")


def rank_prefix(rank: int, width: int = 1) -> str:
    """Return ``rank  3 | ``, as wide as the largest rank needs."""
    return f"rank {rank:>{width}} | "


def log_line(line: str, prefix: str = "") -> str:
    """Return a line of a member's log. A file or a pipe gets it unchanged: it is data, as with kubectl.

    On a terminal it is printable, and in a job of a CI service, whose viewer acts on control characters, but for its
    colours. Of a line that is overwritten by carriage returns (a progress bar) the last is shown there.
    """
    if sys.stdout.isatty():
        line = _printable(line)
        prefix = click.style(prefix, fg=DIM) if prefix else ""
    elif os.environ.get("CI", "").lower() in ("true", "1"):  # set by GitHub, GitLab, Buildkite and others
        parts = _COLOUR.split(line.rstrip("\r").rpartition("\r")[2])
        line = "".join(part if number % 2 else _printable(part) for number, part in enumerate(parts))
    return f"{prefix}{line}"


def _printable(line: str) -> str:
    return "\t".join(map(printable, line.rstrip("\r").rpartition("\r")[2].split("\t")))
