"""Reports how long no rank of a running gang has printed a line or made a step, if that is longer than usual.

It is a hint and no verdict: programs that print rarely are silent while they work. Lines are read with the caller's
rights, so ``muster get`` reports it; the daemon reads no log (ADR 42), so its page has it of steps alone, as has
``muster top``, which knows the status only.
"""

import asyncio
from collections.abc import Iterable, Sequence
from itertools import pairwise

from muster.api.errors import ApiError
from muster.api.status import Phase
from muster.client.logs.last_lines import LONGEST, PATIENCE
from muster.client.logs.pod_log import tail_of
from muster.client.member import Member
from muster.client.snapshot import Snapshot
from muster.kube.resources import ResourceClient
from muster.kube.unstructured import moment
from muster.state.summary.quiet import LEAST, hint, of_steps

MOST_READ = 32
"""Ranks of the largest gang whose logs are read for this."""
LINES = 20
"""Last lines of each rank; their times show what is usual."""


async def of_gang(resources: ResourceClient, seen: Snapshot, members: Sequence[Member], now: float) -> str:
    """Return ``no rank has printed a line for 12m (usual: 4 s)``; that of steps where a log cannot be read."""
    status, running = seen.status, [member for member in members if member.running]
    if status.phase is not Phase.RUNNING or not running or len(running) < len(members) or len(running) > MOST_READ:
        return of_steps(status, now)
    try:
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as readers:
            tasks = [readers.create_task(_times(resources, seen.namespace, member)) for member in running]
    except (TimeoutError, ExceptionGroup):
        return of_steps(status, now)
    times = [task.result() for task in tasks]
    last = max((found[-1] for found in times if found), default=0.0)
    if not last or any(found is None for found in times):
        return of_steps(status, now)
    what = "printed a line"
    if status.steps is not None and status.steps.epoch == status.epoch:
        what, last = "printed a line or made a step", max(last, status.steps.at)
    return hint(what, now - last, _usual(filter(None, times)), LEAST)


async def _times(resources: ResourceClient, namespace: str, member: Member) -> list[float] | None:
    """Return the times of the last lines of a rank; None if its log cannot be read."""
    try:
        lines = await tail_of(resources, namespace, member, LINES, LINES * LONGEST)
    except ApiError:
        return None
    return [at for stamp, _ in lines if (at := moment(stamp)) is not None]


def _usual(times: Iterable[Sequence[float]]) -> float | None:
    """Return the longest time but one between two lines of a rank: one pause, as of its start, is not usual."""
    gaps = sorted(later - earlier for found in times for earlier, later in pairwise(found))
    return gaps[-2] if len(gaps) > 2 else None
