"""How ``muster`` speaks: data on standard output, talk on standard error, colour only where somebody sees it."""

import os
import sys
from typing import IO, Any

import click

GOOD, BAD, BUSY, DIM = "green", "red", "yellow", "bright_black"

PHASE_COLOURS = {
    "Succeeded": GOOD,
    "Running": GOOD,
    "Failed": BAD,
    "Restarting": BUSY,
    "Assembling": BUSY,
    "Pending": BUSY,
    "Suspended": DIM,
}


def colourful(stream: IO[Any]) -> bool:
    """Whether ``stream`` is a terminal that wants colours (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def data(text: str) -> None:
    """A line of what was asked for."""
    stream = sys.stdout
    click.echo(text, color=colourful(stream))


def say(text: str) -> None:
    """A line of talk."""
    stream = sys.stderr
    click.echo(text, err=True, color=colourful(stream))


def phase_word(phase: str) -> str:
    """A phase in its colour."""
    return click.style(phase, fg=PHASE_COLOURS.get(phase))
