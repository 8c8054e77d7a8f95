"""A line for each incident: what it is, how much it holds, since when, and what to do."""

from collections.abc import Sequence
from typing import Final

import click

from muster.api.values.accelerators import USUAL, words
from muster.api.values.printable import printable
from muster.client.explaining.style import BAD
from muster.client.explaining.times import since
from muster.kube.unstructured import moment
from muster.rollcall.document import IncidentReport

HEADINGS: Final = ("SUBJECT", "CAUSE", "RUNS", "ACCELERATORS", "SINCE", "WHAT TO DO")
SHOWN: Final = 3
"""Incidents above the experiments."""


def row(one: IncidentReport, now: float) -> tuple[str, ...]:
    """Return the cells of one incident."""
    return (
        printable(f"{one.kind} {one.subject}"),
        printable(one.cause) or "-",
        str(len(one.runs)),
        _accelerators(one) or "-",
        since(moment(one.since), now) or "-",
        printable(one.remedy),
    )


def above(found: Sequence[IncidentReport], now: float) -> list[str]:
    """Return the lines above a list of experiments: the first incidents, and how many more there are."""
    lines = []
    for each in found[:SHOWN]:
        held, ago = _accelerators(each), since(moment(each.since), now)
        said = (
            printable(each.sentence)
            + (f", since {ago}" if ago else "")
            + (f"; holds {held} accelerators" if held else "")
        )
        lines.append(click.style(f"incident: {said}", fg=BAD))
    if len(found) > SHOWN:
        lines.append(f"and {len(found) - SHOWN} more incidents: muster incidents")
    return lines


def _accelerators(one: IncidentReport) -> str:
    return printable(words(USUAL.of(tuple(one.devices.items()))))
