"""The tally: the pods of one epoch, counted per gang, per group and per job as they change.

Each change of a pod costs O(1), so that a decision reads counts and a few notable pods, and never loops over the gang.
"""

from dataclasses import dataclass, field

from muster.state.pod import PATIENT, SCHEDULING_GATED, Pod


@dataclass(slots=True)
class Counts:
    """How many pods there are, and how far they have come."""

    pods: int = 0
    working: int = 0
    """Live, and the member is not done: a sidecar that runs on after ``main`` takes no place of another member."""
    scheduled: int = 0
    started: int = 0
    ready: int = 0
    """Working, ready and not terminating."""
    succeeded: int = 0

    def shift(self, step: int, working: int, scheduled: int, started: int, ready: int, succeeded: int) -> None:
        """Count one pod in (``step`` 1) or out (-1); the flags are 0 or 1."""
        self.pods += step
        self.working += step * working
        self.scheduled += step * scheduled
        self.started += step * started
        self.ready += step * ready
        self.succeeded += step * succeeded


NO_PODS = Counts()
"""The counts of a group or job without pods. Never changed."""


@dataclass(slots=True)
class Tally(Counts):
    """The pods of one epoch. ``members`` is keyed by rank; the other dicts of pods are keyed by uid."""

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
    ended_at: float = 0.0
    """When the last member that is done ended, in wall seconds of its node."""
    groups: dict[str, Counts] = field(default_factory=dict)
    jobs: dict[tuple[str, int], Counts] = field(default_factory=dict)
    """Keyed by group and job index."""

    def of_group(self, name: str) -> Counts:
        """The counts of that group."""
        return self.groups.get(name, NO_PODS)

    def of_job(self, group: str, job: int) -> Counts:
        """The counts of that job."""
        return self.jobs.get((group, job), NO_PODS)

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
        """Replace a pod's record by a newer one with the same content in every place that holds it."""
        if (member := self.members.get(pod.rank)) and member.uid == pod.uid:
            self.members[pod.rank] = pod
        waiting = self.idle, self.held, self.unplaced, self.gated
        for held in (self.alive, self.failed, self.leaving, self.disrupted, self.cut_off, *waiting):
            if pod.uid in held:
                held[pod.uid] = pod

    def _count(self, pod: Pod, step: int) -> None:
        done = pod.succeeded
        working = pod.live and not done
        flags = working, pod.scheduled, pod.started, pod.ready and working and not pod.terminating, done
        self.shift(step, *flags)
        group, job = self.groups.get(pod.group), self.jobs.get((pod.group, pod.job))
        if group is None:
            group = self.groups[pod.group] = Counts()
        if job is None:
            job = self.jobs[pod.group, pod.job] = Counts()
        group.shift(step, *flags)
        job.shift(step, *flags)
        if not job.pods:
            del self.jobs[pod.group, pod.job]
        if not group.pods:
            del self.groups[pod.group]

    def _notable(self, pod: Pod) -> list[dict[str, Pod]]:
        """Where the pod is held besides ``members``. It runs twice per watch event, so it asks the pod once."""
        held = [self.alive] if pod.live else []
        if pod.succeeded:
            if pod.exit and pod.exit.finished_at > self.ended_at:
                self.ended_at = pod.exit.finished_at
            return held
        if pod.live:
            if pod.cut_off:
                held.append(self.cut_off)
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

    def _waiting_place(self, pod: Pod) -> dict[str, Pod]:
        if pod.scheduled:
            return self.held
        return self.gated if pod.waiting_reason == SCHEDULING_GATED else self.unplaced


NO_TALLY = Tally()
"""The tally of an epoch without pods. Never changed: ``View.change`` makes a new one for the first pod."""
