"""The ends of logs: the last line of each rank of a gang, and the tracebacks of ranks that still run.

Logs are read on demand with the caller's rights (``get`` on ``pods/log``); the daemon reads no log (ADR 42).
"""

import asyncio
import contextlib
from collections.abc import Iterable
from dataclasses import dataclass

from muster.api.errors import ApiError, Forbidden
from muster.api.last_words import is_of_a_launcher, tracebacks
from muster.api.values.printable import MESSAGE, clean, printable, uncoloured
from muster.api.values.termination_message import place_of
from muster.client.logs.gang_log import AT_ONCE
from muster.client.logs.pod_log import tail_of
from muster.client.member import Member
from muster.client.snapshot import Snapshot
from muster.kube.resources import ResourceClient
from muster.kube.unstructured import moment

MOST_READ = 1024
"""Ranks of a gang whose logs are read; those that have ended or are not ready come first."""
PATIENCE = 5.0
"""Seconds for one log: a kubelet that is cut off does not answer."""
PATIENCE_FOR_ALL = 15.0
"""Seconds for all logs of a gang."""
LONGEST = 4096
"""Bytes of a line that are asked for; a progress bar can be one line of megabytes."""
PARTING = 20
"""Lines that are asked for after the end: a program that is stopped may log until it is gone."""


@dataclass(frozen=True, slots=True)
class LastLine:
    """Last log line of a rank: it shows which rank of a gang has stopped, and since when."""

    rank: int
    pod: str
    exit_code: int | None
    """None while the rank runs."""
    at: float | None
    """Time of the line, by the node's clock, in wall seconds; None if no line was written."""
    text: str
    unread: str = ""
    """Why the log could not be read."""


async def read_last_lines(
    resources: ResourceClient, experiment: Snapshot, members: Iterable[Member]
) -> tuple[LastLine, ...]:
    """Return the last line of each member whose container has started, by rank. Raises ``Forbidden``.

    After the end of the experiment it is the last one until then, where that is among the last ``PARTING`` lines.
    """
    namespace, before = experiment.namespace, experiment.status.finished_at
    started = sorted((m for m in members if m.started and m.rank >= 0), key=lambda m: (m.ready, m.rank))
    chosen, others = started[:MOST_READ], started[MOST_READ:]
    found: dict[int, LastLine] = {}
    waiting = iter(chosen)

    async def read() -> None:
        for member in waiting:
            found[member.rank] = await _last_line(resources, namespace, member, before)

    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_FOR_ALL):
            if first := next(waiting, None):  # a missing right is met once, and not by all
                found[first.rank] = await _last_line(resources, namespace, first, before, allowed=False)
            async with asyncio.TaskGroup() as readers:
                for _ in range(AT_ONCE):
                    readers.create_task(read())
    late = f"not read within {PATIENCE_FOR_ALL:g} s"
    lines = [found.get(m.rank) or _unread(m, late) for m in chosen]
    lines += [_unread(m, f"at most {MOST_READ:,} are read") for m in others]
    return tuple(sorted(lines, key=lambda line: line.rank))


async def _last_line(
    resources: ResourceClient, namespace: str, member: Member, before: float | None, *, allowed: bool = True
) -> LastLine:
    count = 1 if before is None else PARTING
    try:
        async with asyncio.timeout(PATIENCE):
            lines = await tail_of(resources, namespace, member, count, count * LONGEST)
    except TimeoutError:
        return _unread(member, f"no answer within {PATIENCE:g} s")
    except ApiError as error:
        if isinstance(error, Forbidden) and not allowed:
            raise
        return _unread(member, printable(error.message, MESSAGE))
    read = [(moment(stamp), text) for stamp, text in lines]
    until = [(at, text) for at, text in read if before is None or (at is not None and at <= before)]
    at, text = next(reversed(until or read), (None, ""))
    state = text.rpartition("\r")[2]  # of a progress bar the last state
    return LastLine(member.rank, member.pod, member.exit_code, at, printable(state, MESSAGE))


def _unread(member: Member, why: str) -> LastLine:
    return LastLine(member.rank, member.pod, member.exit_code, None, "", why)


MOST_FAILED = 8
"""Ranks whose logs are read; those that are not ready come first."""
TAIL = 400
MOST_BYTES = 131_072
"""Lines, and bytes of them, that are read of a log. Where these bytes do not reach its end, nothing is known of it."""
LONGEST_LINE = 1_024
"""Characters of a line that are looked at."""
AGAIN = 2
"""Tracebacks from which on they are worth a line."""
_CHAINED = ("During handling of the above exception", "The above exception was the direct cause")
"""Lines with which Python continues to the next traceback of one failure."""


@dataclass(frozen=True, slots=True)
class Tracebacks:
    """The tracebacks at the end of the log of a rank that runs: a loop may start its program again and again.

    Nothing of a pod shows such a loop (``torchrun --max-restarts``, ``until`` of a shell), because its container runs.
    That a program failed is not known from a traceback, which it may have caught; what is known is that it printed it.
    """

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
    chosen = sorted(running, key=lambda m: (m.ready, m.rank))[:MOST_FAILED]
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
    texts = [uncoloured(text[:LONGEST_LINE]) for _, text in read]
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
