"""The roll call of the daemon's HTTP server, and a row with one mark for each rank."""

import asyncio
import contextlib
from typing import Annotated

import aiohttp
import msgspec

from muster.api.values.rank_ranges import RANGES, from_ranges
from muster.client.explaining.style import BAD, BUSY, DIM, GOOD
from muster.rollcall.document import MissingRank

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


class RollSummary(msgspec.Struct, frozen=True, rename="camel"):
    """Part of the daemon's ``/experiments/<namespace>/<name>.json`` that is read: which ranks have arrived."""

    size: Annotated[int, msgspec.Meta(ge=0, le=LARGEST_GANG)]
    arrived: int | None = None
    ranks: dict[str, Annotated[str, msgspec.Meta(pattern=RANGES)]] = {}
    """The ranks that the coordinator names, by their state."""
    missing_ranks: tuple[MissingRank, ...] = ()
    """The first that are missing."""
    clocks: dict[str, float] = {}
    """Seconds each running clock has left."""

    @property
    def states(self) -> dict[int, str]:
        """Return the state of each rank that the coordinator names."""
        return {rank: state for state, ranges in self.ranks.items() for rank in from_ranges(ranges, self.size)}

    @property
    def sentence(self) -> str:
        """Return ``3/4 arrived, missing 2``; empty where the number of arrived ranks is not known."""
        if self.arrived is None or not self.size:
            return ""
        unnamed = from_ranges(self.ranks.get("missing", ""), self.size)
        absent = sorted({each.rank for each in self.missing_ranks} | {*unnamed})
        shown = ", ".join(map(str, absent[:8])) + (f" and {len(absent) - 8} more" if len(absent) > 8 else "")
        return f"{self.arrived}/{self.size} arrived" + (f", missing {shown}" if absent else "")

    def marks(self) -> list[tuple[str, str, str]]:
        """Mark, plain mark and colour per rank, in order of rank; empty for a gang that is too large to be shown so."""
        if self.size > LARGEST_ROW:
            return []
        states, other = self.states, "arrived" if self.arrived == self.size else "missing"
        return [MARKS.get(states.get(rank, other), MARKS["missing"]) for rank in range(self.size)]


def read_rollcall(document: bytes) -> RollSummary | None:
    """Return the summary in a document; None if it is no roll call."""
    with contextlib.suppress(msgspec.DecodeError):
        return msgspec.json.decode(document, type=RollSummary)
    return None


async def fetch_roll(session: aiohttp.ClientSession, daemon: str, namespace: str, name: str) -> RollSummary | None:
    """Return the present roll call; None where the daemon does not answer with one."""
    try:
        async with session.get(f"{daemon}/experiments/{namespace}/{name}.json") as answer:
            return read_rollcall(await answer.read()) if answer.status == 200 else None
    except (aiohttp.ClientError, TimeoutError, asyncio.IncompleteReadError):
        return None
