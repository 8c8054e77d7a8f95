"""The last line that each rank logged, with its time: it shows which rank of a gang has stopped, and since when.

They are read on demand with the caller's rights (``get`` on ``pods/log``); the daemon reads no log (ADR 42).
"""

import asyncio
import contextlib
from collections.abc import Iterable
from dataclasses import dataclass

from muster.api.errors import ApiError, Forbidden
from muster.api.values.printable import MESSAGE, printable
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
    """Last log line of a rank."""

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
    chosen = sorted((m for m in members if m.started and m.rank >= 0), key=lambda m: (m.ready, m.rank))[:MOST_READ]
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
    return tuple(found.get(m.rank) or _unread(m, late) for m in sorted(chosen, key=lambda m: m.rank))


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
