"""The progress of a Ray job in tasks, asked so rarely that the dashboard does not feel it.

``/api/v0/tasks/summarize`` makes the dashboard read up to 10,000 tasks from the GCS: 0.4 to 1.8 s of its CPU with 1,000
tasks, where the list of nodes takes two milliseconds (Ray 2.60, ADR 55). So it is asked while the job runs, after the
roll and never beside it, and at most once in ``PACE`` seconds; after an answer that took long, so rarely that the
dashboard works for it for ``LOAD`` of the time; and after none, or one that cannot be read, not for ``REST`` seconds.
"""

from collections.abc import Callable

import msgspec

from muster.watchers.probes.bounded.cost import MOST_PARTS, parts_of
from muster.watchers.probes.bounded.http import Asking

SUMMARY = "/api/v0/tasks/summarize"
PACE = 60.0
LOAD = 0.005
REST = 600.0
MOST_BYTES = 1 << 20
"""Of a summary: a name of a task takes about 200 bytes."""
FINISHED, FAILED, RUNNING = "FINISHED", "FAILED", "RUNNING"


class _Tasks(msgspec.Struct):
    state_counts: dict[str, int] = {}


class _Cluster(msgspec.Struct):
    summary: dict[str, _Tasks] = {}


class _ByNode(msgspec.Struct):
    node_id_to_summary: dict[str, _Cluster]


class _Answer(msgspec.Struct):
    result: _ByNode
    total: int = 0


class _Data(msgspec.Struct):
    result: _Answer


class _Summary(msgspec.Struct):
    data: _Data


_decoder = msgspec.json.Decoder(_Summary)


class TaskCounter:
    """Asks one dashboard for its tasks, and keeps what it said last."""

    def __init__(self, ask: Asking, port: int, clock: Callable[[], float]) -> None:
        self._ask, self._port, self._clock = ask, port, clock
        self._due = 0.0
        self.sentence = ""
        """``640 of 1,000 tasks finished, 12 running, 3 failed``; empty before the first answer."""

    def forget(self) -> None:
        """Another GCS, or another job: what was counted is not its."""
        self.sentence = ""

    async def look(self) -> None:
        """Ask if it is time to. Raises nothing."""
        began = self._clock()
        if began < self._due:
            return
        self._due = began + REST
        reply = await self._ask.get(self._port, SUMMARY, most=MOST_BYTES)
        if not reply.good or parts_of(reply.body) > MOST_PARTS:
            return
        try:
            self.sentence = read_tasks(reply.body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return
        now = self._clock()
        self._due = now + max(PACE, (now - began) / LOAD)


def read_tasks(body: bytes | bytearray) -> str:
    """Return how many tasks there are, and how far they are. Raises ``msgspec.DecodeError``."""
    answer = _decoder.decode(body).data.result
    counts: dict[str, int] = {}
    for cluster in answer.result.node_id_to_summary.values():
        for tasks in cluster.summary.values():
            for state, count in tasks.state_counts.items():
                counts[state] = counts.get(state, 0) + max(0, count)
    counted = sum(counts.values())
    if not counted:
        return ""
    cut = f" of {answer.total:,}, the others are not counted" if answer.total > counted else ""
    parts = [f"{counts.get(FINISHED, 0):,} of {counted:,} tasks finished{cut}"]
    parts += [f"{counts[state]:,} {state.lower()}" for state in (RUNNING, FAILED) if counts.get(state)]
    return ", ".join(parts)
