"""The roll: what one look at a coordinator showed.

A probe produces one `RollAnswer` per look; policies read it and nothing else of the probe. The answer says two
independent things: what is behind the coordinator's port (`CoordinatorState`), and, when a coordinator serves there,
where each rank stands (`RankState`). Every text in an answer comes from a program of the experiment; the probe has
made it printable and short, but it stays a claim, not a fact.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from muster.api.gang import MAX_MEMBERS
from muster.state.view.places.report import PlaceReport
from muster.state.view.progress import StepReport
from muster.state.view.recorder.ras_answer import RasAnswer
from muster.state.view.recorder.report import CollectiveReport
from muster.state.vocabulary.wall_time import WallTime


class CoordinatorState(StrEnum):
    """What is behind the coordinator's port."""

    REFUSED = "refused"
    """Nothing listens: the program has not come as far as opening the port, or it has ended."""
    TIMEOUT = "timeout"
    """No connection, or no answer to a call, within the deadline: network, overload, or a service that hangs."""
    SILENT = "silent"
    """Nothing follows a connection, or its dashboard reports so: a stopped process, or not a coordinator."""
    TLS = "tls"
    """The port wants TLS, which the probe does not have."""
    OTHER_PROTOCOL = "other-protocol"
    """Something answers, but not a coordinator (HTTP/1, another gRPC service), or its answer cannot be read."""
    UNHEALTHY = "unhealthy"
    """It answers, and says of itself that it does not serve."""
    SERVING = "serving"
    """The coordinator answered."""

    @property
    def serving(self) -> bool:
        """Whether the coordinator answered."""
        return self is CoordinatorState.SERVING

    @property
    def refused(self) -> bool:
        """Whether nothing listens at the port."""
        return self is CoordinatorState.REFUSED


class RankState(StrEnum):
    """Where one rank stands, as the coordinator sees it."""

    MISSING = "missing"
    """Never registered in this life of the coordinator."""
    ARRIVED = "arrived"
    """Registered, and waiting for the others: the rendezvous has not passed."""
    CONNECTED = "connected"
    """Past the rendezvous and sending heartbeats. It may be stuck all the same: heartbeats do not show progress."""
    FAILED = "failed"
    """The coordinator gave it up; `RollAnswer.errors` has the text."""
    LEFT = "left"
    """Was connected and left in good order."""
    STALE = "stale"
    """Its process runs and belongs to an earlier life of the coordinator, which is gone. It has not arrived in this
    one, and what it shows of itself (a ready pod) does not say so."""

    @property
    def arrived(self) -> bool:
        """It is known to have arrived in this life of the coordinator."""
        return self is not RankState.MISSING and self is not RankState.STALE


_PAST_RENDEZVOUS = frozenset({RankState.CONNECTED, RankState.FAILED, RankState.LEFT})


class Work(NamedTuple):
    """The program, where the coordinator itself runs it and reports on it (Ray's jobs)."""

    name: str
    status: str
    """In the coordinator's own word: PENDING, RUNNING, SUCCEEDED."""
    message: str
    ended: bool
    succeeded: bool

    @property
    def sentence(self) -> str:
        """``job run-0 FAILED: exit code 1``."""
        return f"job {self.name} {self.status}{f': {self.message}' if self.message else ''}"


class RankError(NamedTuple):
    """Why the coordinator gave a rank up."""

    rank: int
    code: int
    """A gRPC (absl) status code: 14 is a lost heartbeat, 13 most often a failed shutdown barrier."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RollAnswer:
    """One look at a coordinator."""

    at: WallTime
    """When the answer was had."""
    coordinator: CoordinatorState
    latency: float = 0.0
    """Seconds the answering call (or, without an answer, the whole look) took; 0 for a change that was waited for."""
    detail: str = ""
    """One printable line of at most 1,000 characters, for people."""
    expected: int | None = None
    """The number of processes the coordinator waits for; None when it does not say."""
    states: tuple[RankState, ...] = ()
    """The state of each member that the coordinator knows: of ``identities[i]``, or where there are no identities of
    rank i. Empty when no coordinator serves."""
    identities: tuple[str, ...] = ()
    """Of each entry of ``states`` the pod IP, or ``of_rank``, where the coordinator does not know its members by rank.

    The ranks of ``errors`` are then places in this list.
    """
    partial: str = ""
    """Why ``states`` covers the coordinator only, in words for a person; empty when it covers every member."""
    lacks: str = ""
    """What belongs to a coordinator that serves, and does not serve itself, with the evidence; empty: nothing."""
    joined: int | None = None
    """How many members have registered, where the coordinator counts them without naming them."""
    errors: tuple[RankError, ...] = ()
    """The failed ranks' errors, different texts first, capped; `failed` is complete."""
    work: Work | None = None
    """What the coordinator says of the program; None where it does not run it, or does not know it."""
    unmet: str = ""
    """What the program asks the coordinator for and no member has, in words; empty where nothing is known of it."""
    incarnation: int | None = None
    """Identity of this life of the coordinator. Protocols before jaxlib 0.10 have none."""
    protocol: str = ""
    """"v2", "v1-watch", "v1-job", "v1-task0" (JAX generations), "tcpstore-v1", "tcpstore-v2" (PyTorch), or "" when
    nothing was understood."""
    preempted: bool = False
    """A member received a preemption notice in this life of the coordinator, as far as the probe was asked to look."""
    reports: tuple[StepReport, ...] | None = None
    """What each rank that reports has reported last; None where this look did not read it."""
    collectives: tuple[CollectiveReport, ...] | None = None
    """Which collectives each process that says so has entered; None where this look did not read it."""
    ras: RasAnswer | None = None
    """What NCCL says of the same; None where this look has no answer of it."""
    places: tuple[PlaceReport, ...] | None = None
    """Where each rank that says so stands; None where this look did not read it."""
    stacks: tuple[tuple[int, tuple[str, ...]], ...] = ()
    """With ``places``: ranks that stand, one for each kind of stack, with their stacks."""

    @property
    def arrived(self) -> frozenset[int]:
        """Ranks that ever registered in this life of the coordinator, whatever became of them."""
        return frozenset(rank for rank, state in enumerate(self.states) if state.arrived)

    @property
    def missing(self) -> tuple[int, ...]:
        """Ranks that never registered in this life of the coordinator, ascending."""
        return tuple(rank for rank, state in enumerate(self.states) if not state.arrived)

    @property
    def failed(self) -> tuple[int, ...]:
        """Ranks the coordinator gave up, ascending."""
        return self._in(RankState.FAILED)

    @property
    def left(self) -> tuple[int, ...]:
        """Ranks that left in good order, ascending."""
        return self._in(RankState.LEFT)

    @property
    def passed(self) -> bool:
        """Whether the rendezvous has passed.

        One rank beyond it proves it for all, because the coordinator lets them through together. A ``partial`` answer
        never proves it: in jax 0.4.35 a connected rank 0 has only registered itself.
        """
        return not self.partial and not _PAST_RENDEZVOUS.isdisjoint(self.states)

    def _in(self, wanted: RankState) -> tuple[int, ...]:
        return tuple(rank for rank, state in enumerate(self.states) if state is wanted)


def of_rank(rank: int) -> str:
    """The identity of a member that is known by its rank among others that are known by address."""
    return f"#{rank}"


def joined(answer: RollAnswer, rank_of: Mapping[str, int]) -> RollAnswer:
    """An answer by address as an answer by rank. ``rank_of`` gives the rank behind each pod IP."""
    errors = tuple(
        error._replace(rank=rank)
        for error in answer.errors
        if (rank := _rank(answer.identities[error.rank], rank_of)) is not None
    )
    return replace(answer, states=by_rank(answer, rank_of), identities=(), errors=errors)


def by_rank(answer: RollAnswer, rank_of: Mapping[str, int]) -> tuple[RankState, ...]:
    """The states of an answer by address, joined to ranks. ``rank_of`` gives the rank behind each pod IP.

    A rank without an entry is missing; an address without a rank (a pod that is not a member) is left out.
    """
    states = {
        rank: state
        for identity, state in zip(answer.identities, answer.states, strict=True)
        if (rank := _rank(identity, rank_of)) is not None
    }
    size = max(min(answer.expected or 0, MAX_MEMBERS), max(rank_of.values(), default=-1) + 1)
    return tuple(states.get(rank, RankState.MISSING) for rank in range(size))


def _rank(identity: str, rank_of: Mapping[str, int]) -> int | None:
    return int(identity[1:]) if identity.startswith("#") else rank_of.get(identity)
