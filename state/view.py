"""The view: what is seen of one experiment right now, kept incrementally.

Every change of a pod costs O(1) here, so that a decision can read counts and a few notable members instead of
looping over the gang. The view belongs to the event loop; a decision only reads it. Nothing in it needs to survive
the daemon: it is rebuilt from the first full list, and a decision before that list is forbidden (the daemon's rule,
not the view's).
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from math import inf

import msgspec

from muster.state.pod import Pod
from muster.state.roll import RollAnswer


@dataclass(slots=True)
class Tally:
    """The pods of one epoch. ``members`` is keyed by rank; the other dicts are keyed by uid and hold what their
    name says."""

    members: dict[int, Pod] = field(default_factory=dict)
    live: dict[str, Pod] = field(default_factory=dict)
    failed: dict[str, Pod] = field(default_factory=dict)
    idle: dict[str, Pod] = field(default_factory=dict)
    """Live, but the main container has not started."""
    leaving: dict[str, Pod] = field(default_factory=dict)
    """Live and terminating, and not done."""
    disrupted: dict[str, Pod] = field(default_factory=dict)
    jobs: Counter[tuple[str, int]] = field(default_factory=Counter)
    """Pods at work of each job (group, job index), for groups that run some members at a time."""
    pods: int = 0
    working: int = 0
    """Live, and the member is not done: a sidecar that runs on after ``main`` takes no place of another member."""
    scheduled: int = 0
    started: int = 0
    ready: int = 0
    succeeded: int = 0

    def add(self, pod: Pod) -> None:
        """Count a pod in."""
        self.members[pod.rank] = pod
        self._count(pod, 1)
        for held in self._notable(pod):
            held[pod.uid] = pod

    def remove(self, pod: Pod) -> None:
        """Count a pod out, by the very record that was counted in."""
        if (member := self.members.get(pod.rank)) and member.uid == pod.uid:
            del self.members[pod.rank]
        self._count(pod, -1)
        for held in self._notable(pod):
            held.pop(pod.uid, None)

    def exchange(self, pod: Pod) -> None:
        """Hold a pod's newer record, which says the same, in all places of its older one."""
        if (member := self.members.get(pod.rank)) and member.uid == pod.uid:
            self.members[pod.rank] = pod
        for held in (self.live, self.failed, self.idle, self.leaving, self.disrupted):
            if pod.uid in held:
                held[pod.uid] = pod

    def _count(self, pod: Pod, step: int) -> None:
        done = pod.succeeded
        working = pod.live and not done
        self.pods += step
        self.working += step * working
        self.jobs[pod.group, pod.job] += step * working
        self.scheduled += step * pod.scheduled
        self.started += step * pod.started
        self.ready += step * (pod.ready and working and not pod.terminating)
        self.succeeded += step * done

    def _notable(self, pod: Pod) -> list[dict[str, Pod]]:
        """Where the pod is held besides ``members``. It is asked twice per watch event, so it asks the pod once."""
        held = [self.live] if pod.live else []
        if pod.succeeded:
            return held
        if pod.live:
            if not pod.started:
                held.append(self.idle)
            if pod.terminating:
                held.append(self.leaving)
        if pod.failed:
            held.append(self.failed)
        if pod.disruption:
            held.append(self.disrupted)
        return held


NOBODY = Tally()
"""The tally of an epoch without pods. Never changed: ``View.change`` makes a fresh one for the first pod."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The API server would not do what a decision asked. ``final`` refusals are not worth repeating."""

    reason: str
    message: str
    final: bool


SHOWN_RANKS = 64
"""How many missing ranks are named; more help nobody."""


class ProbeResult(msgspec.Struct, frozen=True):
    """What an epoch's coordinator said last, boiled down once per answer so that a decision need not walk the ranks."""

    epoch: int
    answer: RollAnswer
    since: float
    """When the coordinator's state or the set of ranks last changed."""
    served: bool
    """It has served at least once in this epoch."""
    arrived: int
    missing: tuple[int, ...]
    """The first ``SHOWN_RANKS`` missing ranks."""
    passed: bool
    leaving: bool
    """Some rank left in good order: the run is ending, and a closed port is no alarm."""

    @property
    def serving(self) -> bool:
        """The coordinator answers now."""
        return self.answer.coordinator.serving


def probe_result(answer: RollAnswer, epoch: int, before: ProbeResult | None) -> ProbeResult:
    """The new standing after an answer, given the one before it (of any epoch)."""
    earlier = before if before and before.epoch == epoch else None
    serving = answer.coordinator.serving
    if not serving and earlier is not None:  # a silent coordinator does not unsay who came
        answer = _keeping(answer, earlier.answer)
    same = earlier is not None and _roll_of(earlier.answer) == _roll_of(answer)
    again = earlier is not None and earlier.answer.incarnation == answer.incarnation
    return ProbeResult(
        epoch=epoch,
        answer=answer,
        since=earlier.since if earlier and same else answer.at,
        served=serving or (earlier is not None and earlier.served),
        arrived=len(answer.arrived),
        missing=answer.missing[:SHOWN_RANKS],
        passed=answer.passed or (earlier is not None and earlier.passed and again),
        leaving=bool(answer.left) or (earlier is not None and earlier.leaving and again),
    )


def _roll_of(answer: RollAnswer) -> tuple[object, ...]:
    return answer.coordinator, answer.ranks, answer.incarnation


def _keeping(silence: RollAnswer, heard: RollAnswer) -> RollAnswer:
    """What the coordinator said before it fell silent, with the silence of now."""
    return replace(
        heard, at=silence.at, coordinator=silence.coordinator, latency=silence.latency, detail=silence.detail
    )


@dataclass(frozen=True, slots=True)
class LiveRead:
    """The live API was asked for the experiment's pods, and the view holds them as they were then, or newer."""

    at: float
    """The wall second at which it was asked."""
    version: int
    """The resourceVersion of its answer."""


@dataclass(slots=True)
class View:
    """What is seen of one experiment."""

    epochs: dict[int, Tally] = field(default_factory=dict)
    probe: ProbeResult | None = None
    confirmed: int = -1
    """The epoch whose launch the live API has confirmed to this process."""
    launched: int = -1
    """The epoch whose pods were all there at once: from then on a pod that is missing is one that is gone."""
    lost: int = -1
    """The epoch of which the live API has confirmed that a member's pod is gone."""
    look: LiveRead | None = None
    """The last look past the cache."""
    dismissed: dict[str, float] = field(default_factory=dict)
    """Pods (by uid) whose deletion the live API has accepted, and the seconds of grace; until they are seen to go."""
    service: bool = False
    refusal: Refusal | None = None

    def change(self, old: Pod | None, new: Pod | None) -> bool:
        """Exchange one pod's record for its successor (None: was not there, or is gone). True if that is news."""
        if old is not None and new is not None and old.says_the_same(new):
            self.epochs[old.epoch].exchange(new)
            return False
        if old is not None:
            tally = self.epochs[old.epoch]
            tally.remove(old)
            if new is None:
                self.dismissed.pop(old.uid, None)
            if not tally.pods:
                del self.epochs[old.epoch]
        if new is not None:
            if new.epoch not in self.epochs:
                self.epochs[new.epoch] = Tally()
            self.epochs[new.epoch].add(new)
        return True

    def mark_created(self, epoch: int, ranks: Iterable[int], together: int) -> None:
        """Pods of these ranks exist beside those that are seen: with ``together`` of them the epoch is launched."""
        seen = self.of(epoch).members
        if self.launched != epoch and len(seen) + sum(rank not in seen for rank in ranks) >= together:
            self.launched = epoch

    def pods(self) -> Iterator[Pod]:
        """The pods of all epochs: each that may still run, and of each rank the last."""
        for tally in self.epochs.values():
            yield from (tally.live | {pod.uid: pod for pod in tally.members.values()}).values()

    def mark_deleting(self, pods: Iterable[Pod], grace: int | None) -> None:
        """The deletion of these pods is accepted: with that many seconds of grace, or (None) with their own."""
        for pod in pods:
            held = self.of(pod.epoch).members.get(pod.rank)
            if held is not None and held.uid == pod.uid:  # else it has been seen to go already
                self.dismissed[pod.uid] = inf if grace is None else grace

    def dismissed_within(self, pod: Pod, grace: int | None) -> bool:
        """That pod need not be asked again to go within that grace."""
        accepted = self.dismissed.get(pod.uid)
        return accepted is not None and accepted <= (inf if grace is None else grace)

    def of(self, epoch: int) -> Tally:
        """The pods of that epoch (an empty tally where there are none)."""
        return self.epochs.get(epoch, NOBODY)

    def others(self, epoch: int) -> list[Tally]:
        """The tallies of every other epoch: pods that must not run beside it."""
        return [tally for number, tally in self.epochs.items() if number != epoch]

    def observe_probe(self, answer: RollAnswer, epoch: int) -> bool:
        """Take in a coordinator's answer; True if it says something new."""
        before = self.probe
        self.probe = probe_result(answer, epoch, before)
        return before is None or before.epoch != epoch or before.since != self.probe.since

    def probe_result_of(self, epoch: int) -> ProbeResult | None:
        """The latest standing if it is that epoch's, else None."""
        return self.probe if self.probe and self.probe.epoch == epoch else None
