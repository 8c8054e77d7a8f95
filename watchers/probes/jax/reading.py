"""What a task list means.

The list alone does not tell everything: a task that waits at the rendezvous and one that has left in good order both
are DISCONNECTED with an incarnation. What tells them apart is whether that incarnation has been CONNECTED before, so
a `Life` keeps that for as long as one life of the coordinator lasts. A probe that comes late and has never seen the
rank connected says `ARRIVED`; jax lets processes leave together, so this lasts no longer than the job's last second.
Source: cluster_register_with_barrier in openxla/xla coordination_service.cc, as jax always sets it.
"""

from dataclasses import dataclass, field

from state.roll import RankError, RankState
from watchers.probes.jax.ladder import Generation
from watchers.probes.jax.messages import CONNECTED, DISCONNECTED, ERROR, Task, TaskList, read_tasks
from watchers.probes.jax.methods import Seen
from watchers.probes.jax.text import plain

MAX_ERRORS = 16
_NAMED = 8


@dataclass(frozen=True, slots=True)
class Reading:
    """One task list, understood."""

    ranks: tuple[RankState, ...]
    errors: tuple[RankError, ...]
    expected: int | None
    stray: int
    """Entries whose id no rank of this job can have."""


@dataclass(slots=True)
class Life:
    """What one life of the coordinator has shown so far."""

    incarnation: int | None = None
    """Its identity; None for the generations that have none."""
    seen: Seen | None = None
    """The newest version it reported, for asking what changed since; None for the generations that cannot be asked."""
    preempted: bool = False
    _connected: dict[int, int] = field(default_factory=dict)
    """Rank to the incarnation of it that was last seen connected."""
    _last: tuple[bytes, Reading] | None = None

    def read(self, body: bytes, generation: Generation) -> Reading:
        """Understand one answer. Raises `Malformed`.

        A job at rest answers with the same bytes each time, and gets the same `Reading` without decoding.
        """
        if self._last is not None and self._last[0] == body:
            return self._last[1]
        listed = read_tasks(body)
        if generation is Generation.V2 and self.incarnation is not None and listed.version >= 0:
            self.seen = Seen(self.incarnation, listed.version)
        reading = self._understand(listed, generation)
        self._last = (body, reading)
        return reading

    def _understand(self, listed: TaskList, generation: Generation) -> Reading:
        if generation is Generation.V1_RANK_ZERO:
            # Process 0 registers with its own service at once; before 0.5.3 a registered task bears no incarnation.
            task = listed.tasks.get(0, Task())
            state = self._state(0, task._replace(incarnation=1) if task.state == DISCONNECTED else task)
            return Reading((state,), _errors(listed, (state,)), None, len(listed.tasks) - 1)
        # A coordinator lists ids 0 to n-1; an id beyond the number of entries is not one of them.
        count = len(listed.tasks)
        nobody = Task()
        ranks = tuple(self._state(rank, listed.tasks.get(rank, nobody)) for rank in range(count))
        stray = sum(1 for task_id in listed.tasks if task_id >= count)
        return Reading(ranks, _errors(listed, ranks), count, stray)

    def _state(self, rank: int, task: Task) -> RankState:
        if task.state == CONNECTED:
            self._connected[rank] = task.incarnation
            return RankState.CONNECTED
        if task.state == ERROR:
            return RankState.FAILED
        if task.state == DISCONNECTED and task.incarnation:
            return RankState.LEFT if self._connected.get(rank) == task.incarnation else RankState.ARRIVED
        return RankState.MISSING


def _errors(listed: TaskList, ranks: tuple[RankState, ...]) -> tuple[RankError, ...]:
    """At most `MAX_ERRORS`: one rank per different text first, as one text out of thousands names the culprit."""
    first: list[int] = []
    again: list[int] = []
    texts: set[bytes] = set()
    for rank, state in enumerate(ranks):
        if state is RankState.FAILED:
            text = listed.tasks[rank].text
            (again if text in texts else first).append(rank)
            texts.add(text)
    chosen = (first + again)[:MAX_ERRORS]
    return tuple(RankError(rank, _code(listed.tasks[rank].code), plain(listed.tasks[rank].text)) for rank in chosen)


def _code(code: int) -> int:
    return code if 0 <= code < 1 << 31 else 2  # 2: UNKNOWN


def summary(reading: Reading, asked: int | None) -> str:
    """The roll in one line. `asked` is the number of processes the experiment has."""
    ranks = reading.ranks
    if reading.expected is None:
        return f"rank 0: {ranks[0]}; this jax version does not tell about the other ranks"
    missing = [rank for rank, state in enumerate(ranks) if state is RankState.MISSING]
    failed = [rank for rank, state in enumerate(ranks) if state is RankState.FAILED]
    parts = [f"{len(ranks) - len(missing)}/{len(ranks)} ranks arrived"]
    parts += [_named("missing", missing)] if missing else []
    parts += [_named("failed", failed)] if failed else []
    if asked is not None and asked != reading.expected:
        parts.append(f"process count mismatch: process 0 was told {reading.expected}, the experiment has {asked}")
    if reading.stray:
        parts.append(f"{reading.stray} entries with an impossible rank were dropped")
    return "; ".join(parts)


def _named(what: str, ranks: list[int]) -> str:
    rest = f" and {len(ranks) - _NAMED} more" if len(ranks) > _NAMED else ""
    return f"{what} rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks[:_NAMED]))}{rest}"
