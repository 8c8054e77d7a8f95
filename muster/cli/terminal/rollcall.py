"""The roll call of the daemon's HTTP server, and a row with one mark for each rank."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import aiohttp
import msgspec

from muster.api.values.printable import printable
from muster.cli.terminal.colours import BAD, BUSY, DIM, GOOD

LARGEST_ROW = 64
"""Ranks that are shown one by one; a larger gang is shown by counts."""
LARGEST_GANG = 1_000_000

MARKS = {
    "connected": ("●", "#", GOOD),
    "arrived": ("●", "#", BUSY),
    "missing": ("○", ".", BAD),
    "failed": ("✗", "x", BAD),
    "left": ("✓", "v", DIM),
}
"""Per state of a rank (``muster.state.view.roll.RankState``): the mark, the mark without UTF-8, and the colour."""


@dataclass(frozen=True, slots=True)
class RollSummary:
    """Which ranks have arrived. ``states`` has the ranks that the coordinator names."""

    size: int
    arrived: int | None
    states: dict[int, str]
    missing: tuple[tuple[int, str], ...]
    """Rank and sentence of the first that are missing."""
    clocks: dict[str, float]
    """Seconds each running clock has left."""

    @property
    def sentence(self) -> str:
        """``3/4 arrived, missing 2``; empty where the number of arrived ranks is not known."""
        if self.arrived is None or not self.size:
            return ""
        absent = sorted(
            {rank for rank, _ in self.missing} | {r for r, state in self.states.items() if state == "missing"}
        )
        shown = ", ".join(map(str, absent[:8])) + (f" and {len(absent) - 8} more" if len(absent) > 8 else "")
        return f"{self.arrived}/{self.size} arrived" + (f", missing {shown}" if absent else "")

    def marks(self) -> list[tuple[str, str, str]]:
        """Mark, plain mark and colour per rank, in order of rank; empty for a gang that is too large to be shown so."""
        if self.size > LARGEST_ROW:
            return []
        other = "arrived" if self.arrived == self.size else "missing"
        return [MARKS.get(self.states.get(rank, other), MARKS["missing"]) for rank in range(self.size)]


def read_rollcall(document: Any) -> RollSummary | None:
    """What the daemon's ``/experiments/<namespace>/<name>.json`` says; None where it is no such document."""
    if not isinstance(document, dict):
        return None
    ranks, missed, clocks = document.get("ranks"), document.get("missingRanks"), document.get("clocks")
    size = document.get("size")
    if not isinstance(size, int) or not 0 <= size <= LARGEST_GANG:
        return None
    arrived = document.get("arrived")
    return RollSummary(
        size=size,
        arrived=arrived if isinstance(arrived, int) else None,
        states={rank: state for state, ranges in _texts(ranks) for rank in _numbers(ranges, size)},
        missing=tuple(
            (entry["rank"], printable(str(entry.get("why", ""))))
            for entry in (missed if isinstance(missed, list) else ())
            if isinstance(entry, dict) and isinstance(entry.get("rank"), int)
        ),
        clocks={
            printable(name): float(left)
            for name, left in (clocks.items() if isinstance(clocks, dict) else ())
            if isinstance(left, int | float)
        },
    )


async def fetch_roll(session: aiohttp.ClientSession, daemon: str, namespace: str, name: str) -> RollSummary | None:
    """The present roll call; None where the daemon does not answer with one."""
    try:
        async with session.get(f"{daemon}/experiments/{namespace}/{name}.json") as answer:
            return read_rollcall(msgspec.json.decode(await answer.read())) if answer.status == 200 else None
    except (aiohttp.ClientError, TimeoutError, asyncio.IncompleteReadError, msgspec.DecodeError):
        return None


def _texts(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        yield from ((key, text) for key, text in value.items() if isinstance(text, str))


def _numbers(ranges: str, size: int) -> Iterator[int]:
    """The numbers in ``0-3,7`` that are below ``size``."""
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        if first.isdecimal() and (not last or last.isdecimal()):
            yield from range(int(first), min(int(last or first), size - 1) + 1)
