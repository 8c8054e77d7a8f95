"""Tracebacks that a rank has printed and still runs: a loop in its container that starts the program again and again.

Nothing of a pod shows such a loop (``torchrun --max-restarts``, ``until`` of a shell), because its container runs. Its
log does. It is read on demand with the caller's rights, of few ranks, and the daemon reads none (ADR 42). That a
program failed is not known from a traceback, which it may have caught; what is known is that it printed it.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from muster.api.errors import ApiError
from muster.api.last_words.launchers import is_of_a_launcher
from muster.api.last_words.tracebacks import tracebacks
from muster.api.values.printable import MESSAGE, clean, uncoloured
from muster.api.values.termination_message import place_of
from muster.client.logs.last_lines import PATIENCE
from muster.client.logs.pod_log import tail_of
from muster.client.member import Member
from muster.kube.resources import ResourceClient
from muster.kube.unstructured import moment

MOST_READ = 8
"""Ranks whose logs are read; those that are not ready come first."""
TAIL = 400
MOST_BYTES = 131_072
"""Lines, and bytes of them, that are read of a log. Where these bytes do not reach its end, nothing is known of it."""
LONGEST = 1_024
"""Characters of a line that are looked at."""
AGAIN = 2
"""Tracebacks from which on they are worth a line."""
_CHAINED = ("During handling of the above exception", "The above exception was the direct cause")
"""Lines with which Python continues to the next traceback of one failure."""


@dataclass(frozen=True, slots=True)
class Tracebacks:
    """The tracebacks at the end of the log of a rank that runs."""

    rank: int
    pod: str
    count: int
    first_at: float | None
    """Times of the first and the last of them, by the node's clock, in wall seconds."""
    last_at: float | None
    exception: str
    """The exception of the last one, and where it was raised."""
    raised_at: str


async def read_tracebacks(
    resources: ResourceClient, namespace: str, members: Iterable[Member]
) -> tuple[Tracebacks, ...]:
    """Return the tracebacks of each rank that runs and has printed several, by rank, without unreadable logs."""
    running = (m for m in members if m.started and m.rank >= 0 and m.exit_code is None)
    chosen = sorted(running, key=lambda m: (m.ready, m.rank))[:MOST_READ]
    found = await asyncio.gather(*(_of(resources, namespace, member) for member in chosen))
    return tuple(sorted((each for each in found if each is not None), key=lambda each: each.rank))


async def _of(resources: ResourceClient, namespace: str, member: Member) -> Tracebacks | None:
    try:
        async with asyncio.timeout(PATIENCE):
            read = await tail_of(resources, namespace, member, TAIL, MOST_BYTES)
    except (TimeoutError, ApiError):
        return None
    if sum(len(stamp) + len(text) + 2 for stamp, text in read) >= MOST_BYTES:
        return None
    texts = [uncoloured(text[:LONGEST]) for _, text in read]
    printed = [each for each in tracebacks(texts) if not is_of_a_launcher(each)]
    failures = [each for each in printed if not _goes_on(texts[each.ended + 1 : each.ended + 4], each.front)]
    if len(failures) < AGAIN:
        return None
    first, last = failures[0], failures[-1]
    return Tracebacks(
        member.rank,
        member.pod,
        len(failures),
        moment(read[first.ended][0]),
        moment(read[last.ended][0]),
        clean(last.exception, MESSAGE),
        place_of(last),
    )


def _goes_on(following: Iterable[str], front: str) -> bool:
    """Return True if the next traceback is of the same failure."""
    return any(line.removeprefix(front).lstrip().startswith(_CHAINED) for line in following)
