"""The roll: what one look at a coordinator showed.

A probe produces one `RollAnswer` per look; policies read it and nothing else of the probe. The answer has two
independent parts: what is behind the coordinator's port (`CoordinatorState`), and, when a coordinator serves there, the
state of each rank (`RankState`). Every text in an answer comes from a program of the experiment; the probe has made it
printable and short, but it stays a claim, not a fact.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from muster.api.gang import MAX_MEMBERS
from muster.state.view.places import PlaceReport
from muster.state.view.progress import StepReport
from muster.state.view.recorder.arrivals import CollectiveReport
from muster.state.view.recorder.ras import RasAnswer
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.wall_time import WallTime


class CoordinatorState(StrEnum):
    """The state of the coordinator's port."""

    REFUSED = "refused"
    """Nothing listens: the program has not come as far as opening the port, or it has ended."""
    TIMEOUT = "timeout"
    """No connection, or no answer to a call, within the deadline: network, overload, or a service that hangs."""
    SILENT = "silent"
    """Nothing follows a connection, or its dashboard reports that: a stopped process, or not a coordinator."""
    TLS = "tls"
    """The port wants TLS, which the probe does not have."""
    OTHER_PROTOCOL = "other-protocol"
    """Something answers, but not a coordinator (HTTP/1, another gRPC service), or its answer cannot be read."""
    UNHEALTHY = "unhealthy"
    """The program answers, and reports that it does not serve."""
    SERVING = "serving"
    """The coordinator answered."""

    @property
    def serving(self) -> bool:
        """True if the coordinator answered."""
        return self is CoordinatorState.SERVING


class RankState(StrEnum):
    """The state of one rank, as the coordinator sees it."""

    MISSING = "missing"
    """Never registered in this life of the coordinator."""
    ARRIVED = "arrived"
    """Registered, and waiting for the others: the rendezvous has not passed."""
    CONNECTED = "connected"
    """Past the rendezvous and sending heartbeats. It may be stuck nevertheless: heartbeats do not show progress."""
    FAILED = "failed"
    """The coordinator gave it up; `RollAnswer.errors` has the text."""
    LEFT = "left"
    """Was connected and left in good order."""
    STALE = "stale"
    """A process that runs and belongs to an earlier life of the coordinator, which is gone. It has not arrived in this
    one, though its pod may be ready."""

    @property
    def arrived(self) -> bool:
        """True if it is known to have arrived in this life of the coordinator."""
        return self is not RankState.MISSING and self is not RankState.STALE


_PAST_RENDEZVOUS = frozenset({RankState.CONNECTED, RankState.FAILED, RankState.LEFT})


class Work(NamedTuple):
    """The program, if the coordinator itself runs it and reports on it (Ray's jobs)."""

    name: str
    status: str
    """The coordinator's own word: PENDING, RUNNING, SUCCEEDED."""
    message: str
    ended: bool

    @property
    def sentence(self) -> str:
        """``job run-0 FAILED: exit code 1``."""
        return f"job {self.name} {self.status}{f': {self.message}' if self.message else ''}"


class RankError(NamedTuple):
    """The reason why the coordinator gave a rank up."""

    rank: int
    code: int
    """A gRPC (absl) status code: 14 is a lost heartbeat, 13 most often a failed shutdown barrier."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RollAnswer:
    """One look at a coordinator."""

    at: WallTime
    """The time of the answer."""
    coordinator: CoordinatorState
    latency: float = 0.0
    """Seconds the answering call (or, without an answer, the whole look) took; 0 for a change that was waited for."""
    detail: str = ""
    """One printable line of at most 1,000 characters, for people."""
    expected: int | None = None
    """The number of processes the coordinator waits for; None when it does not report it."""
    states: tuple[RankState, ...] = ()
    """The state of each member that the coordinator knows: of ``identities[i]``, or without identities of rank i. Empty
    when no coordinator serves."""
    identities: tuple[str, ...] = ()
    """The pod IP, or ``of_rank``, for each entry of ``states``, if the coordinator does not know its members by rank.

    The ranks of ``errors`` are then places in this list.
    """
    partial: str = ""
    """The reason why ``states`` covers the coordinator only, in words; empty when it covers every member."""
    lacks: str = ""
    """The part of a serving coordinator that does not serve itself, with the evidence; empty: none."""
    joined: int | None = None
    """The number of members that have registered, if the coordinator counts them without naming them."""
    errors: tuple[RankError, ...] = ()
    """The failed ranks' errors, different texts first, capped; `states` is complete."""
    work: Work | None = None
    """The coordinator's report on the program; None if it does not run it, or does not know it."""
    unmet: str = ""
    """The request of the program that no member can meet, in words; empty if none is known."""
    incarnation: int | None = None
    """Identity of this life of the coordinator. Protocols before jaxlib 0.10 have none."""
    protocol: str = ""
    """"v2", "v1-watch", "v1-job", "v1-task0" (JAX generations), "tcpstore-v1", "tcpstore-v2" (PyTorch), or "" when
    nothing was understood."""
    reports: tuple[StepReport, ...] | None = None
    """The last report of each rank that reports; None if this look did not read it."""
    collectives: tuple[CollectiveReport, ...] | None = None
    """The collectives that each reporting process has entered; None if this look did not read them."""
    ras: RasAnswer | None = None
    """NCCL's report of the same; None if this look has no answer of it."""
    places: tuple[PlaceReport, ...] | None = None
    """The place of each rank that reports it; None if this look did not read it."""
    stacks: tuple[tuple[int, tuple[str, ...]], ...] = ()
    """The stacks of ranks in one call, with ``places``: of one rank for each kind of stack."""

    @property
    def arrived(self) -> frozenset[int]:
        """Ranks that ever registered in this life of the coordinator, whatever became of them."""
        return frozenset(rank for rank, state in enumerate(self.states) if state.arrived)

    @property
    def missing(self) -> tuple[int, ...]:
        """Ranks that never registered in this life of the coordinator, ascending."""
        return tuple(rank for rank, state in enumerate(self.states) if not state.arrived)

    @property
    def left(self) -> tuple[int, ...]:
        """Ranks that left in good order, ascending."""
        return tuple(rank for rank, state in enumerate(self.states) if state is RankState.LEFT)

    @property
    def passed(self) -> bool:
        """True if the rendezvous has passed.

        One rank beyond it proves it for all, because the coordinator lets them through together. A ``partial`` answer
        never proves it: in jax 0.4.35 a connected rank 0 has only registered itself.
        """
        return not self.partial and not _PAST_RENDEZVOUS.isdisjoint(self.states)


def of_rank(rank: int) -> str:
    """Return the identity of a member that is known by its rank among others that are known by address."""
    return f"#{rank}"


def joined(answer: RollAnswer, rank_of: Mapping[str, int]) -> RollAnswer:
    """Return an answer by address as an answer by rank. ``rank_of`` gives the rank behind each pod IP.

    A rank without an entry is missing; an address without a rank (a pod that is not a member) is left out.
    """
    ranks = [int(each[1:]) if each.startswith("#") else rank_of.get(each) for each in answer.identities]
    errors = tuple(each._replace(rank=rank) for each in answer.errors if (rank := ranks[each.rank]) is not None)
    known = {rank: state for rank, state in zip(ranks, answer.states, strict=True) if rank is not None}
    size = max(min(answer.expected or 0, MAX_MEMBERS), max(rank_of.values(), default=-1) + 1)
    states = tuple(known.get(rank, RankState.MISSING) for rank in range(size))
    return replace(answer, states=states, identities=(), errors=errors)


STALE_MEMBERS = "StaleMembers"
"""Reason of the status while there are some."""
Life = tuple[str, int]
"""The life of a member: the uid of its pod, and how often its containers were started again."""


@dataclass(slots=True)
class StaleMembers:
    """The members that were connected to the life of the coordinator before the present one.

    When a coordinator begins a new life in one epoch (a Ray head whose container or pod is replaced), they still run,
    ready, in pods that no controller restarts, and the new one does not know them. Until they give up and are started
    again, or join, they are stale. The coordinator's report of its own life (``incarnation``) and the pods show that; a
    probe may learn it from a member itself, too.
    """

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
