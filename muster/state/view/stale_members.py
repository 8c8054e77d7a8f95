"""Members of an earlier life of the coordinator.

When a coordinator begins a new life in one epoch (a Ray head whose container or pod is replaced), the members that were
connected to the life before still run, ready, in pods that no controller restarts, and the new one does not know them.
Until they give up and are started again, or join, they are stale. The coordinator's report of its own life
(``incarnation``) and the pods show that; a probe may learn it from a member itself, too.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from muster.state.view.roll import RankState, RollAnswer
from muster.state.vocabulary.pod import Pod

STALE_MEMBERS = "StaleMembers"
"""Reason of the status while there are some."""
Life = tuple[str, int]
"""The life of a member: the uid of its pod, and how often its containers were started again."""


@dataclass(slots=True)
class StaleMembers:
    """The members that were connected to the life of the coordinator before the present one."""

    _epoch: int = -1
    _incarnation: int | None = None
    _connected: tuple[RankState, ...] = ()
    """The roll at which the next was noted."""
    _lives: dict[int, Life] = field(default_factory=dict)
    """The lives of members that are connected to the present life."""
    _before: dict[int, Life] = field(default_factory=dict)
    """The lives of members that were connected to the life before, and have not been seen otherwise since."""

    def mark(self, answer: RollAnswer, epoch: int, members: Mapping[int, Pod]) -> RollAnswer:
        """Return the answer with the stale among the missing ranks. It looks at the pods only when the roll changes."""
        if not answer.coordinator.serving or answer.incarnation is None:
            return answer
        if epoch != self._epoch:
            self._epoch, self._incarnation, self._lives, self._before = epoch, None, {}, {}
        if answer.incarnation != self._incarnation:
            self._incarnation, self._before, self._connected = answer.incarnation, self._lives, ()
        if answer.states != self._connected:
            self._connected = answer.states
            here = (rank for rank, state in enumerate(answer.states) if state is RankState.CONNECTED)
            self._lives = {rank: life for rank in here if (life := _life(members.get(rank)))}
        if not self._before:
            return answer
        states = list(answer.states)
        for rank, life in list(self._before.items()):
            if rank < len(states) and states[rank] is RankState.MISSING and _life(members.get(rank)) == life:
                states[rank] = RankState.STALE
            else:
                del self._before[rank]  # it has joined, or is another process
        return replace(answer, states=tuple(states))


def _life(pod: Pod | None) -> Life | None:
    """Return the life of a member; None if no process of it runs."""
    if pod is None or not pod.live or not pod.started or pod.terminating or pod.waiting_reason:
        return None
    return pod.uid, pod.restarts
