"""The state of each rank of an experiment, for page and document, and the number of ranks that have arrived.

The pod shows the state of a rank. If its program runs, and the coordinator can be asked, the coordinator's answer
decides, or else the roll of the record.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from muster.api.values.printable import printable
from muster.state.facts.causes.table import Causes, of_shown
from muster.state.facts.context import Context
from muster.state.policies.gathering import lateness
from muster.state.policies.gathering.lateness import known
from muster.state.view.roll import RankState
from muster.state.view.stage import RUNS, Stage, shown
from muster.state.view.view import View
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Phase, Record


class Standing(StrEnum):
    """The state of a rank."""

    ARRIVED = "arrived"
    RUNNING = "running"
    """The program runs; whether it has arrived cannot be asked."""
    NOT_ARRIVED = "missing"
    """The program runs, and has not registered with the coordinator."""
    STARTING = "starting"
    """The pod waits for a node in the usual way, or is on one and starts."""
    NO_POD = "no pod yet"
    QUEUED = "queued"
    UNSCHEDULABLE = "no node"
    IMAGE = "image not pulled"
    CONTAINER = "container cannot start"
    NODE = "node not ready"
    TERMINATING = "being deleted"
    FAILED = "failed"
    LOST = "pod lost"
    UNKNOWN = "unknown"
    ENDED = "ended"
    STOPPED = "stopped after the end"
    """The pod ended after the experiment did: Muster stopped it."""


class Seat(NamedTuple):
    """One rank. ``again`` if it is not the first attempt of this epoch, or its containers were restarted."""

    rank: int
    standing: Standing
    again: bool
    pod: str
    node: str


class Bench(NamedTuple):
    """The seats of one group."""

    group: Group
    seats: list[Seat]


_BY_STAGE = {
    Stage.QUEUED: Standing.QUEUED,
    Stage.UNSCHEDULABLE: Standing.UNSCHEDULABLE,
    Stage.SCHEDULING: Standing.STARTING,
    Stage.CANNOT_START: Standing.CONTAINER,
    Stage.STARTING: Standing.STARTING,
    Stage.NODE_NOT_READY: Standing.NODE,
    Stage.TERMINATING: Standing.TERMINATING,
    Stage.RUNNING: Standing.RUNNING,
    Stage.READY: Standing.RUNNING,
    Stage.ENDED: Standing.ENDED,
    Stage.CRASHED: Standing.FAILED,
    Stage.UNKNOWN: Standing.UNKNOWN,
}


def benches(case: Context) -> list[Bench]:
    """Return all ranks, by group. Costs O(ranks)."""
    roll = _Roll(case)
    return [Bench(group, list(_seats(case, group, roll))) for group in case.plan.groups]


def by_standing(found: Iterable[Bench]) -> dict[Standing, list[int]]:
    """Return the ranks of each state that occurs, in the order of `Standing`."""
    ranks: dict[Standing, list[int]] = {standing: [] for standing in Standing}
    for bench in found:
        for seat in bench.seats:
            ranks[seat.standing].append(seat.rank)
    return {standing: numbers for standing, numbers in ranks.items() if numbers}


def _seats(case: Context, group: Group, roll: "_Roll") -> Iterator[Seat]:
    tally = case.tally
    members, done, ignored, attempts = tally.members, tally.done, tally.ignored, tally.attempts
    for rank in range(group.first_rank, group.first_rank + group.size):
        pod = members.get(rank)
        if rank in ignored:
            standing = Standing.FAILED
        elif rank in done:
            standing = Standing.ENDED
        elif pod is None:
            standing = roll.without_pod(rank)
        else:
            standing = roll.present(rank, pod)
        again = attempts.get(rank, 0) > 0 or (pod is not None and pod.restarts > 0)
        yield Seat(rank, standing, again, printable(pod.name) if pod else "", printable(pod.node) if pod else "")


class _Roll:
    """The coordinator's answer, or else the record's, about single ranks."""

    def __init__(self, case: Context) -> None:
        record, probe = case.record, case.probe
        self._over_at = record.finished_at
        self._gone = case.tally.gone
        self._launched = case.launched and not case.plan.sequential and record.gathering
        self._empty = Standing.QUEUED if record.phase is Phase.QUEUED else Standing.NO_POD
        self._passive = case.plan.asked is None
        self._states: tuple[RankState, ...] = ()
        self._missing: frozenset[int] | None = None
        if record.finished or self._passive:
            return
        if not lateness.known_in(case):
            return
        if probe is not None and not probe.answer.partial:
            self._states = probe.answer.states
        elif probe is None and (roll := record.roll) is not None and len(roll.missing) == roll.expected - roll.arrived:
            self._missing = frozenset(roll.missing)

    def without_pod(self, rank: int) -> Standing:
        """Return the state of a rank that has no pod and is not done."""
        return Standing.LOST if self._launched or rank in self._gone else self._empty

    def present(self, rank: int, pod: Pod) -> Standing:
        """Return the state of a rank that has a pod."""
        shows = shown(pod, done=False)
        stage = shows.stage
        if stage is Stage.CRASHED and self._stopped(pod):
            return Standing.STOPPED
        if stage not in RUNS:
            return Standing.IMAGE if of_shown(shows) is Causes.IMAGE_PULL else _BY_STAGE[stage]
        if self._passive:
            return Standing.ARRIVED if stage is Stage.READY else Standing.RUNNING
        if rank < len(self._states):
            return _BY_ROLL[self._states[rank]]
        if self._missing is not None:
            return Standing.NOT_ARRIVED if rank in self._missing else Standing.ARRIVED
        return Standing.RUNNING

    def _stopped(self, pod: Pod) -> bool:
        """Return True if the pod ended in a second after that of the experiment's end, as in ``muster get``."""
        return self._over_at is not None and pod.exit is not None and pod.exit.finished_at > self._over_at


_BY_ROLL = {
    RankState.MISSING: Standing.NOT_ARRIVED,
    RankState.ARRIVED: Standing.ARRIVED,
    RankState.CONNECTED: Standing.ARRIVED,
    RankState.FAILED: Standing.FAILED,
    RankState.LEFT: Standing.ENDED,
    RankState.STALE: Standing.NOT_ARRIVED,
}


class ArrivalCounts(NamedTuple):
    """The ranks that have arrived; ``missing`` is the rest of the plan's size."""

    arrived: int
    missing: int


def arrivals(plan: Plan, record: Record, view: View, now: float) -> ArrivalCounts | None:
    """Return the counts of the record's epoch; None if they are not known at ``now``, in wall seconds.

    They are not known if the coordinator reports rank 0 only, or has served and no longer answers. The coordinator's
    answer counts, then the record (a daemon that has just started has no answer yet). Without a coordinator that can be
    asked, a member has arrived when its pod is ready or done, as in the rendezvous policy.
    """
    size = plan.size
    if plan.asked is None:
        tally = view.of(record.epoch)
        arrived = tally.ready + tally.succeeded
    elif standing := view.probe_result_of(record.epoch):
        silent = not standing.served and record.roll is not None and record.roll.arrived > 0
        if standing.answer.partial or silent or not known(plan.asked, standing, now):
            return None
        arrived = standing.arrived
    else:
        arrived = record.roll.arrived if record.roll else 0
    arrived = min(arrived, size)
    return ArrivalCounts(arrived, size - arrived)
