"""The tally: the pods of one epoch, counted per gang, per group and per job as they change.

Each change of a pod costs O(1), so that a decision reads counts and a few notable pods, and never loops over the gang.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from muster.api.gang import Attempts
from muster.api.values.accelerators import Devices
from muster.state.view.roll import RankState
from muster.state.view.stage import Shown, Stage, shown
from muster.state.vocabulary.pod import PATIENT, SCHEDULING_GATED, Pod

K = TypeVar("K")


@dataclass(slots=True)
class Counts:
    """The number of pods, by how far they have come."""

    pods: int = 0
    working: int = 0
    """Live, and the member is not done: a sidecar that still runs after ``main`` takes no place of another member."""
    scheduled: int = 0
    started: int = 0
    ready: int = 0
    """Working, ready and not terminating."""
    succeeded: int = 0
    placed: int = 0
    """On a node, and some container may still run: the pod holds what it has asked for."""

    def shift(
        self, step: int, working: int, scheduled: int, started: int, ready: int, succeeded: int, placed: int
    ) -> None:
        """Count one pod in (``step`` 1) or out (-1); the flags are 0 or 1."""
        self.pods += step
        self.working += step * working
        self.scheduled += step * scheduled
        self.started += step * started
        self.ready += step * ready
        self.succeeded += step * succeeded
        self.placed += step * placed


NO_PODS = Counts()
"""The counts of a group or job without pods. Never changed."""


@dataclass(slots=True)
class Tally(Counts):
    """The pods of one epoch. ``members`` is keyed by rank; the other dicts of pods are keyed by uid.

    A rank has one pod, that of its current attempt: another one of its name cannot exist beside it. Pods of other
    attempts are held in ``older``, and in ``alive`` while they may run, and are not counted.
    A rank that is done stays done, whatever becomes of its pod. Once the pod is removed, the rank is counted as if a
    pod that has succeeded existed. A rank that is given up counts in the same way, but not as succeeded.
    """

    members: dict[int, Pod] = field(default_factory=dict)
    alive: dict[str, Pod] = field(default_factory=dict)
    failed: dict[str, Pod] = field(default_factory=dict)
    idle: dict[str, Pod] = field(default_factory=dict)
    """Live, but the main container has not started."""
    held: dict[str, Pod] = field(default_factory=dict)
    """Idle on a node, because a container of it cannot be made."""
    unplaced: dict[str, Pod] = field(default_factory=dict)
    """Idle without a node, because the scheduler found none."""
    gated: dict[str, Pod] = field(default_factory=dict)
    """Idle without a node, because a scheduling gate is on the pod."""
    cut_off: dict[str, Pod] = field(default_factory=dict)
    """At work on a node that is NotReady."""
    leaving: dict[str, Pod] = field(default_factory=dict)
    """Live and terminating, and not done."""
    disrupted: dict[str, Pod] = field(default_factory=dict)
    restarted: dict[str, Pod] = field(default_factory=dict)
    """Live, and containers of it were started again in place."""
    outlived: dict[str, Pod] = field(default_factory=dict)
    """Live, and only a container beside the program keeps the pod: the program has ended with 0."""
    restarts: int = 0
    """The number of restarts of containers of its members in their pods."""
    ended_at: float = 0.0
    """The time at which the last member that is done ended, in wall seconds of its node."""
    last_start: float = 0.0
    """The time at which the last program was started, in wall seconds of its node."""
    groups: dict[str, Counts] = field(default_factory=dict)
    jobs: dict[tuple[str, int], Counts] = field(default_factory=dict)
    """Keyed by group and job index."""
    done: dict[int, None] = field(default_factory=dict)
    """Ranks that are done: a pod has shown it, or the record has it. A dict without values, like two others below: an
    empty set would take 216 bytes of each gang, and an empty dict takes 64."""
    collected: dict[int, tuple[str, int]] = field(default_factory=dict)
    """Group and job of each rank that is done and has no pod."""
    unsaved: dict[int, None] = field(default_factory=dict)
    """Ranks that are done, and not yet in the record."""
    unsaved_gone: dict[int, None] = field(default_factory=dict)
    """Those unsaved ranks whose pod is gone or going, so that only this process knows."""
    gone: dict[int, Pod] = field(default_factory=dict)
    """The last pod of each rank that is not done, whose pod had a node and was removed. A pod that never had a node has
    run nothing."""
    older: dict[str, Pod] = field(default_factory=dict)
    """Pods of other attempts than the current one of their rank."""
    lives: tuple[tuple[Attempts, ...], str] = ((), "")
    """The record's attempts, and ranks that are given up; the next two are made from it."""
    attempts: Mapping[int, int] = field(default_factory=dict)
    """The current attempt of each rank that has one other than 0."""
    ignored: frozenset[int] = frozenset()
    """Ranks that have failed and are given up."""
    roll: tuple[RankState, ...] = ()
    """The state of each rank in the coordinator's last answer."""
    devices: dict[Devices, int] = field(default_factory=dict)
    """The device requests of watched pods that are on a node and have not ended, with the number of such pods."""
    missing: dict[Shown, int] = field(default_factory=dict)
    """Members that have a pod, or are done, and have not arrived in ``roll``, by what their pods show."""

    def of_group(self, name: str) -> Counts:
        """Return the counts of that group."""
        return self.groups.get(name, NO_PODS)

    def of_job(self, group: str, job: int) -> Counts:
        """Return the counts of that job."""
        return self.jobs.get((group, job), NO_PODS)

    def add(self, pod: Pod) -> None:
        """Count a pod in."""
        rank = pod.rank
        if (pod.attempt or self.attempts) and pod.attempt != self.attempts.get(rank, 0):
            self._put_aside(pod)
            return
        if (before := self.members.get(rank)) is not None:
            self.remove(before)
        elif rank in self.collected:
            self._count_collected(rank, -1)
        self.members[rank] = pod
        self.gone.pop(rank, None)
        done = rank in self.done
        if not done and pod.succeeded and rank not in self.ignored:
            done = True
            self.done[rank] = self.unsaved[rank] = None
        if done and rank in self.unsaved:
            self.unsaved_gone.pop(rank, None)
            if pod.terminating:
                self.unsaved_gone[rank] = None
        self._count(pod, 1, done)
        if pod.started_at > self.last_start:
            self.last_start = pod.started_at
        for held in self._notable(pod, done):
            held[pod.uid] = pod

    def remove(self, pod: Pod) -> None:
        """Count a pod out, by the very record that was counted in."""
        member = self.members.get(pod.rank)
        if member is None or member.uid != pod.uid:
            if self.older.pop(pod.uid, None) is not None:
                self.alive.pop(pod.uid, None)
            return
        del self.members[pod.rank]
        done = pod.rank in self.done
        self._count(pod, -1, done)
        for held in self._notable(pod, done):
            held.pop(pod.uid, None)

    def begin_again(self, pod: Pod) -> None:
        """Count a done member out: it runs again, in another pod than this one, which is counted now."""
        self.remove(pod)
        for known in (self.done, self.unsaved, self.unsaved_gone):
            known.pop(pod.rank, None)

    def call(self, roll: tuple[RankState, ...]) -> None:
        """Take in the coordinator's state of each rank. Cheap while that is unchanged."""
        before = self.roll
        if roll == before:
            return
        for rank in range(max(len(roll), len(before))):
            old = rank < len(before) and before[rank].arrived
            new = rank < len(roll) and roll[rank].arrived
            if old is new:
                continue
            if (pod := self.members.get(rank)) is not None:
                _shift(self.missing, shown(pod, rank in self.done), 1 if old else -1)
            elif rank in self.collected:
                _shift(self.missing, self._collected_as(rank), 1 if old else -1)
        self.roll = roll

    def _arrived(self, rank: int) -> bool:
        return rank < len(self.roll) and self.roll[rank].arrived

    def collect(self, pod: Pod) -> None:
        """Take in that the pod, which was counted out, is gone for good: if its rank is done, still count the rank."""
        rank = pod.rank
        if rank in self.members or rank in self.collected or pod.attempt != self.attempts.get(rank, 0):
            return
        if rank in self.done or rank in self.ignored:
            self._collect(rank, pod.group, pod.job)
        elif pod.scheduled:
            self.gone[rank] = pod

    def live_again(self, attempts: Mapping[int, int]) -> None:
        """Take in the record's attempt of each rank: facts of its earlier ones no longer count."""
        before, self.attempts = self.attempts, attempts
        changed = {rank for rank in attempts.keys() | before.keys() if attempts.get(rank, 0) != before.get(rank, 0)}
        aside = [pod for pod in self.older.values() if pod.rank in changed]
        for rank in changed:
            if (member := self.members.get(rank)) is not None:
                self.remove(member)
                aside.append(member)
            elif rank in self.collected:
                self._count_collected(rank, -1)
            for known in (self.done, self.unsaved, self.unsaved_gone):
                known.pop(rank, None)
            self.gone.pop(rank, None)
        for pod in aside:
            self.remove(pod)
            self.add(pod)

    def give_up(self, places: Mapping[int, tuple[str, int]]) -> None:
        """Take in the ranks, each with its group and job, that by the record have failed and are not run again."""
        changed = self.ignored ^ places.keys()
        members = [self.members[rank] for rank in changed if rank in self.members]
        collected = [rank for rank in changed if rank in self.collected]
        for pod in members:
            self.remove(pod)
        for rank in collected:
            self._count_collected(rank, -1)
        self.ignored = frozenset(places)
        for rank in places:
            self.gone.pop(rank, None)
        for pod in members:
            self.add(pod)
        for rank in changed & places.keys():
            if rank not in self.members and rank not in self.collected:
                self._collect(rank, *places[rank])

    def remember(self, saved: Mapping[int, tuple[str, int]]) -> None:
        """Take in the ranks that by the record are done; each with its group and job."""
        self.finish(saved)
        self.unsaved = dict.fromkeys(self.done.keys() - saved.keys())
        self.unsaved_gone = {
            rank: None for rank in self.unsaved if (member := self.members.get(rank)) is None or member.terminating
        }

    def succeeded_unseen(self, pod: Pod) -> None:
        """Take in that by the live API this pod, which is no longer seen, has ended with success."""
        if pod.attempt == self.attempts.get(pod.rank, 0) and pod.rank not in self.done:
            self.unsaved[pod.rank] = None
            self.finish({pod.rank: (pod.group, pod.job)})

    def finish(self, ranks: Mapping[int, tuple[str, int]]) -> None:
        """Count these ranks as done; each with its group and job."""
        for rank, (group, job) in ranks.items():
            if rank in self.done:
                continue
            if (member := self.members.get(rank)) is not None:
                self.remove(member)
                self.done[rank] = None
                self.add(member)
            else:
                self.done[rank] = None
                self.gone.pop(rank, None)
                self._collect(rank, group, job)

    def forget_collected(self) -> None:
        """Count no rank whose pod is gone."""
        for rank in list(self.collected):
            self._count_collected(rank, -1)

    def exchange(self, pod: Pod) -> None:
        """Replace a pod's record by a newer one with the same content in every place that holds it."""
        if (member := self.members.get(pod.rank)) and member.uid == pod.uid:
            self.members[pod.rank] = pod
            for held in self._notable(pod, pod.rank in self.done):
                held[pod.uid] = pod
        elif pod.uid in self.older:
            self._put_aside(pod)

    def _collect(self, rank: int, group: str, job: int) -> None:
        self.collected[rank] = group, job
        self._count_collected(rank, 1)
        if rank in self.unsaved:
            self.unsaved_gone[rank] = None

    def _count_collected(self, rank: int, step: int) -> None:
        """Count a rank without a pod as a pod that had a node, ran and succeeded, or was given up."""
        group, job = self.collected[rank] if step > 0 else self.collected.pop(rank)
        self._shift(group, job, step, (False, True, True, False, rank in self.done, False))
        if not self._arrived(rank):
            _shift(self.missing, self._collected_as(rank), step)

    def _collected_as(self, rank: int) -> Shown:
        return Shown(Stage.ENDED if rank in self.done else Stage.CRASHED)

    def _count(self, pod: Pod, step: int, done: bool) -> None:
        working = pod.live and not done and pod.rank not in self.ignored
        placed = pod.live and pod.node != ""
        self.restarts += step * pod.restarts
        flags = working, pod.scheduled, pod.started, pod.ready and working and not pod.terminating, done, placed
        if placed and pod.devices:
            _shift(self.devices, pod.devices, step)
        self._shift(pod.group, pod.job, step, flags)
        if not self._arrived(pod.rank):
            _shift(self.missing, shown(pod, done), step)

    def _shift(self, name: str, index: int, step: int, flags: tuple[bool, bool, bool, bool, bool, bool]) -> None:
        self.shift(step, *flags)
        group, job = self.groups.get(name), self.jobs.get((name, index))
        if group is None:
            group = self.groups[name] = Counts()
        if job is None:
            job = self.jobs[name, index] = Counts()
        group.shift(step, *flags)
        job.shift(step, *flags)
        if not job.pods:
            del self.jobs[name, index]
        if not group.pods:
            del self.groups[name]

    def _notable(self, pod: Pod, done: bool) -> list[dict[str, Pod]]:
        """Return where the pod is held besides ``members``. It runs twice per watch event, so it asks the pod once."""
        held = [self.alive] if pod.live else []
        if pod.rank in self.ignored:
            return held
        if done:
            if pod.exit and pod.exit.finished_at > self.ended_at:
                self.ended_at = pod.exit.finished_at
            return held
        if pod.live:
            if pod.cut_off:
                held.append(self.cut_off)
            if pod.outlived_by:
                held.append(self.outlived)
            if pod.restarts:
                held.append(self.restarted)
            if not pod.started:
                held.append(self.idle)
                if pod.waiting_reason not in PATIENT and not pod.terminating:
                    held.append(self._waiting_place(pod))
            if pod.terminating:
                held.append(self.leaving)
        if pod.failed:
            held.append(self.failed)
        if pod.disruption:
            held.append(self.disrupted)
        return held

    def _put_aside(self, pod: Pod) -> None:
        self.older[pod.uid] = pod
        if pod.live:
            self.alive[pod.uid] = pod
        else:
            self.alive.pop(pod.uid, None)

    def _waiting_place(self, pod: Pod) -> dict[str, Pod]:
        if pod.scheduled:
            return self.held
        return self.gated if pod.waiting_reason == SCHEDULING_GATED else self.unplaced


def _shift(counts: dict[K, int], key: K, step: int) -> None:
    """Count one in or out. A key without any is not kept."""
    if count := counts.get(key, 0) + step:
        counts[key] = count
    else:
        del counts[key]


NO_TALLY = Tally()
"""The tally of an epoch without pods. Never changed: ``View.change`` makes a new one for the first pod."""
