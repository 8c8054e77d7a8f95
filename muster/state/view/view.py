"""The view: the present state of one experiment, as the watches show it, kept incrementally.

The view belongs to the event loop of the daemon, which changes it as events arrive. A decision lets it take in the
record (``View.remember``), and then only reads it. Nothing in it needs to survive the daemon: it is rebuilt from the
first full list, and the daemon decides nothing before that list.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from math import inf

from msgspec import structs

from muster.api.values.rank_ranges import from_ranges
from muster.state.view.engine_facts import EngineFacts
from muster.state.view.own import OwnState, Remark
from muster.state.view.places import Places, places_in_turns
from muster.state.view.probe_result import ProbeResult, probe_result
from muster.state.view.progress import Progress, progress_in_turns, resumed, steps_progress
from muster.state.view.recorder.arrivals import Arrivals, CollectiveReport, arrivals_in_turns
from muster.state.view.recorder.collectives import Collectives, collectives_in_turns
from muster.state.view.recorder.judgement import judged_in_turns
from muster.state.view.recorder.ras import RasSeen, ras_in_turns
from muster.state.view.roll import RollAnswer, StaleMembers, joined
from muster.state.view.sent_reports import SentReports
from muster.state.view.tally import NO_TALLY, Tally
from muster.state.view.turns import Turns, WriteBudget, finished
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Record, attempts_of
from muster.state.vocabulary.wall_time import WallTime, step
from muster.state.vocabulary.workload import Workload

LAST_STATE_PATIENCE = 10.0
"""Seconds for which a pod that is gone stays in the view, until the watch brings its last state."""


@dataclass(slots=True)
class View:
    """The view of one experiment."""

    epochs: dict[int, Tally] = field(default_factory=dict)
    engine: EngineFacts = field(default_factory=EngineFacts)
    probe: ProbeResult | None = None
    progress: Progress | None = None
    sent: SentReports = field(default_factory=SentReports)
    """The reports that the next ``hear`` counts."""
    collectives: Collectives | None = None
    ras: RasSeen | None = None
    arrivals: Arrivals | None = None
    places: Places | None = None
    writes: WriteBudget = field(default_factory=WriteBudget)
    oldest: int = 0
    """The oldest epoch whose ranks stay done when their pods are gone."""
    unsaved_since: WallTime | None = None
    """The wall second since which a rank of the record's epoch is done and the record does not have it."""
    done_at: WallTime | None = None
    """The wall second at which a further rank of the record's epoch was seen to be done; None if none was yet."""
    failed_at: WallTime | None = None
    """The wall second at which a failed member of the record's epoch was first seen; None while there is none."""
    _done: tuple[int, int] = (-1, 0)
    """The epoch of these two, and how many ranks were done then."""
    workloads: dict[str, Workload] = field(default_factory=dict)
    """The Workloads of Kueue that the experiment controls, by uid."""
    queue_problem: str = ""
    """The reason why no Workload can be seen or made now; empty while they can."""
    admission: Workload | None = None
    """The Workload that Kueue has made for an object that it suspends and resumes itself."""
    own: OwnState | None = None
    """The report of a watched object's own controller."""
    remark: Remark | None = None
    remark_problem: str = ""
    """The newest Event with a reason why pods of a watched object are missing, and why none can be read."""
    _remembered: tuple[object, ...] | None = None
    _stale: StaleMembers = field(default_factory=StaleMembers)

    def change(self, old: Pod | None, new: Pod | None) -> bool:
        """Replace one pod's record (None: did not exist, or is gone). True if a tracked field changed."""
        if old is not None and (tally := self.epochs.get(old.epoch)) is not None:
            if new is not None and old.same_content(new):
                tally.exchange(new)
                return False
            tally.remove(old)
            if new is None:
                if old.uid not in self.engine.vanished:  # else it may run still, and its deletion stays accepted
                    self.engine.deleting.pop(old.uid, None)
                self.engine.stopping.pop(old.uid, None)
                self.engine.not_found.pop(old.uid, None)
                if old.epoch >= self.oldest:
                    tally.collect(old)
            if self._empty(old.epoch, tally) and (new is None or new.epoch != old.epoch):
                del self.epochs[old.epoch]
        if new is not None:
            self._tally(new.epoch).add(new)
            if self.engine.lost_attempts:
                self.engine.lost_attempts.pop((new.epoch, new.rank, new.attempt), None)
        return True

    def clear(self) -> None:
        """Forget all pods."""
        self.epochs.clear()
        self._remembered = None

    def remember(self, plan: Plan, record: Record, now: float) -> None:
        """Take in the persisted record: which ranks are done, which attempts count, whether its epoch is launched.

        Ranks of older epochs, and of a finished experiment, are forgotten when their pods are gone. ``now`` is in wall
        seconds. It is cheap while the record is unchanged, and a second call changes nothing.
        """
        self._take_in(plan, record)
        self._note_ends(record, now)
        self.mark_created(record.epoch, (), plan.together)

    def _take_in(self, plan: Plan, record: Record) -> None:
        """Hold the record's ranks and attempts, if they are new."""
        facts = record.epoch, record.completed, record.finished, record.attempts, record.ignored
        if facts != self._remembered:
            self._remembered = facts
            self.oldest = record.epoch + record.finished
            for epoch in [epoch for epoch in self.epochs if epoch < self.oldest]:
                self.epochs[epoch].forget_collected()
                if self._empty(epoch, self.epochs[epoch]):
                    del self.epochs[epoch]
            saved = _places(plan, record.completed)
            wanted = not record.finished and (saved or record.attempts or record.ignored)
            if wanted or record.epoch in self.epochs:
                tally = self._tally(record.epoch)
                lives = record.attempts, record.ignored
                if lives != tally.lives:
                    tally.lives = lives
                    tally.live_again(attempts_of(record.attempts))
                    tally.give_up(_places(plan, record.ignored))
                if not record.finished:
                    tally.remember(saved)

    def _note_ends(self, record: Record, now: float) -> None:
        """Note when members of the record's epoch were first seen to have ended."""
        tally = self.of(record.epoch)
        if not tally.unsaved:
            self.unsaved_since = None
        elif self.unsaved_since is None or self.unsaved_since > now:
            self.unsaved_since = now
        epoch, known = self._done
        if epoch != record.epoch:  # facts that the record holds are no news
            known, self.done_at, self.failed_at = len(tally.done) - len(tally.unsaved), None, None
        if not tally.failed:
            self.failed_at = None
        elif self.failed_at is None or self.failed_at > now:
            self.failed_at = now
        if len(tally.done) > known:
            self.done_at = now
        self._done = record.epoch, len(tally.done)

    def mark_created(self, epoch: int, ranks: Iterable[int], together: int) -> None:
        """Note that pods of these ranks exist beside those seen: with ``together`` of them the epoch is launched."""
        if self.engine.launched == epoch:
            return
        tally = self.of(epoch)
        absent = sum(rank not in tally.members and rank not in tally.collected for rank in ranks)
        if tally.pods + absent >= together:
            self.engine.launched = epoch

    def mark_stopping(self, pods: Iterable[Pod]) -> None:
        """Note that the API server has accepted to stop these pods."""
        self.engine.stopping.update((pod.uid, None) for pod in pods if self._holds(pod))

    def mark_deleting(self, pods: Iterable[Pod], grace: int | None) -> None:
        """Note that the API server has accepted the deletion of these pods, with that grace in seconds (None: own)."""
        seconds = inf if grace is None else grace
        self.engine.deleting.update((pod.uid, seconds) for pod in pods if self._holds(pod))

    def mark_not_found(self, pod: Pod, now: float) -> bool:
        """Note that a live read did not find that pod; True if the watch is given time to bring its last state first.

        A live list may be ahead of the watch, and shows only that the pod is gone: not that it succeeded, nor that it
        was evicted. ``now`` is in monotonic seconds.
        """
        tally = self.of(pod.epoch)
        if pod.epoch < self.oldest or not pod.scheduled or pod.rank in tally.done or not self._holds(pod):
            return False
        if pod.uid in tally.older:
            return False
        return now - self.engine.not_found.setdefault(pod.uid, now) < LAST_STATE_PATIENCE

    def look_for_vanished(self, gone: Iterable[Pod], altered: Iterable[Pod], succeeded: Iterable[Pod]) -> None:
        """Take in the live API's answer on pods that are no longer seen; ``succeeded`` are some of ``gone``."""
        self.engine.found(gone, altered)
        for pod in succeeded:
            if pod.epoch >= self.oldest:
                self._tally(pod.epoch).succeeded_unseen(pod)

    def pods(self) -> Iterator[Pod]:
        """Yield the pods of all epochs and attempts."""
        for tally in self.epochs.values():
            yield from tally.members.values()
            yield from tally.older.values()

    def alive(self) -> Iterator[Pod]:
        """Yield those of all epochs and attempts that may still run."""
        return chain.from_iterable(tally.alive.values() for tally in self.epochs.values())

    def _tally(self, epoch: int) -> Tally:
        tally = self.epochs.get(epoch)
        if tally is None:
            tally = self.epochs[epoch] = Tally()
            if self.probe is not None and self.probe.epoch == epoch:
                tally.call(self.probe.answer.states)
        return tally

    def of(self, epoch: int) -> Tally:
        """Return the pods of that epoch (an empty tally if there are none)."""
        return self.epochs.get(epoch, NO_TALLY)

    def others(self, epoch: int) -> list[Tally]:
        """Return the tallies of every other epoch: pods that must not run beside it."""
        return [tally for number, tally in self.epochs.items() if number != epoch]

    def observe_probe(self, answer: RollAnswer, epoch: int) -> bool:
        """Take in a coordinator's answer; True if the roll, the coordinator's state or a hang changed."""
        return finished(self.observe_in_turns(answer, epoch))

    def observe_in_turns(self, answer: RollAnswer, epoch: int) -> Turns[bool]:
        """Take in that answer in turns. Each thing that is seen changes at once, at the end of its turns."""
        hang_changed = yield from self._observe_progress(answer, epoch)
        hang_changed = (yield from self._observe_collectives(answer, epoch)) or hang_changed
        hang_changed = (yield from self._observe_ras(answer, epoch)) or hang_changed
        hang_changed = (yield from self._observe_places(answer, epoch)) or hang_changed
        yield
        before = self.probe
        read = answer.reports, answer.collectives, answer.ras, answer.places
        if any(found is not None for found in read):  # this view has them
            answer = replace(answer, reports=None, collectives=None, ras=None, places=None, stacks=())
        members = self.of(epoch).members
        if answer.identities:
            answer = joined(answer, {pod.ip: rank for rank, pod in members.items()})
        answer = self._stale.mark(answer, epoch, members)
        self.probe = probe_result(answer, epoch, before)
        if epoch in self.epochs:
            self.epochs[epoch].call(self.probe.answer.states)
        return before is None or before.epoch != epoch or before.since != self.probe.since or hang_changed

    def _observe_progress(self, answer: RollAnswer, epoch: int) -> Turns[bool]:
        """Take in what the ranks have reported; True if the gang hangs now, or no longer does.

        The first step that this daemon sees is evidence, too: the record may have a hang.
        """
        before = self.progress_of(epoch)
        if answer.reports or (answer.reports is not None and not (before is not None and before.sent)):
            members = self.of(epoch).members
            self.progress = yield from progress_in_turns(answer.reports, epoch, answer.at, before, members=members)
        after = self.progress
        if after is before or after is None:
            return False
        first = after.moved and before is not None and not before.moved
        return first or (before is not None and before.hung) is not after.hung

    def hear(self, record: Record, now: float, since: float) -> None:
        """Count the reports that were sent since the last call, and the silence since then.

        This daemon could hear reports since ``since``, in wall seconds. Reports from the gang's own store are better:
        they are of all ranks, and outlive the daemon.
        """
        known = self.progress_of(record.epoch)
        if known is not None and not known.sent:
            return
        if self.own is not None and self.own.report is not None and self.own.reported != self.sent.reported:
            self.sent.reported = self.own.reported
            self.sent.add(self.own.report, record.epoch, now)
        steps = record.steps
        if known is None and steps is not None and steps.hung_after and steps.epoch == record.epoch:
            known = resumed(steps, max(now, since))
        hung = known is not None and known.hung
        if (reports := self.sent.taken(record.epoch)) is not None:
            members = self.of(record.epoch).members
            known = steps_progress(reports, record.epoch, now, known, sent=True, members=members)
        if known is not None:
            # A hang lasts until a report comes: that none could be heard is no sign of life.
            moved_at = known.moved_at if hung else min(max(known.moved_at, since), now)
            workers = self.sent.workers(now) if self.sent.epoch == record.epoch else frozenset()
            self.progress = structs.replace(known, read_at=now, moved_at=moved_at, workers=workers)

    def take_over(self) -> None:
        """Forget answers and reports of an earlier leadership: this daemon leads from now on."""
        self.probe, self.collectives, self.arrivals, self.places, self.sent = None, None, None, None, SentReports()
        self.ras = None
        if self.progress is not None and self.progress.sent:
            self.progress = None

    def _observe_collectives(self, answer: RollAnswer, epoch: int) -> Turns[bool]:
        """Take in which collectives the processes have entered; True if that is news for a decision."""
        if answer.collectives is None:
            return False
        before = self.arrivals.news if self.arrivals else ()
        self.arrivals = yield from arrivals_in_turns(answer.collectives, epoch, answer.at, self.arrivals)
        turned = before != (self.arrivals.news if self.arrivals else ())
        return (yield from self._count_collectives(answer.collectives, epoch, answer.at)) or turned

    def _observe_ras(self, answer: RollAnswer, epoch: int) -> Turns[bool]:
        """Take in what NCCL reports about collectives; True if that is news for a decision."""
        if answer.ras is None:
            return False
        ranks = defaultdict[str, list[int]](list)
        for rank, pod in self.of(epoch).members.items():
            ranks[pod.ip].append(rank)
        rank_of = {ip: found[0] for ip, found in ranks.items() if ip and len(found) == 1}
        self.ras = seen = yield from ras_in_turns(answer.ras, epoch, answer.at, rank_of, self.ras)
        if seen.reports:
            return (yield from self._count_collectives(seen.reports, epoch, answer.at))
        before = self.collectives_of(epoch)  # the former knowledge is void
        self.collectives = Collectives(epoch, answer.at, answer.at, looks=0, longest=0.0, moved=True)
        return before is None or bool(before.behind)

    def _count_collectives(self, reports: Iterable[CollectiveReport], epoch: int, now: float) -> Turns[bool]:
        before, progress = self.collectives_of(epoch), self.progress_of(epoch)
        pause = progress.pause if progress else 0.0
        seen = yield from collectives_in_turns(reports, epoch, now, before, pause=pause)
        if seen is None:
            self.collectives = None
            return False
        self.collectives = after = yield from judged_in_turns(seen, before)
        if before is None:
            return bool(after.behind or after.awaited)
        return (before.behind, before.unsure, before.awaited) != (after.behind, after.unsure, after.awaited)

    def _observe_places(self, answer: RollAnswer, epoch: int) -> Turns[bool]:
        """Take in the places of the ranks; True if that is news for a decision."""
        if answer.places is None:
            return False
        before, size, stacks = self.places_of(epoch), len(answer.states), dict(answer.stacks)
        turns = places_in_turns(answer.places, stacks, epoch, answer.at, before, size, self.progress_of(epoch))
        self.places = after = yield from turns
        return (before.news if before else ()) != (after.news if after else ())

    def forget_coordinator(self) -> None:
        """Forget what the coordinator and the programs reported: their pods are stopped, within the same epoch."""
        self.probe, self._stale, self.sent = None, StaleMembers(), SentReports(reported=self.sent.reported)
        self.progress = self.collectives = self.ras = self.arrivals = self.places = None
        for tally in self.epochs.values():
            tally.call(())

    def clock_stepped(self, seconds: float) -> None:
        """Move the times of this view: the wall clock was set, and they are of the clock as it was."""
        self.engine.live_read = None  # one of before cannot be compared with times of now
        self.arrivals = None
        for holder in (self, self.engine, self.writes):
            step(holder, seconds)

    def probe_result_of(self, epoch: int) -> ProbeResult | None:
        """Return the latest probe result if it is that epoch's, else None."""
        return self.probe if self.probe and self.probe.epoch == epoch else None

    def progress_of(self, epoch: int) -> Progress | None:
        """Return the progress if it is that epoch's, else None: also if no program reports."""
        return self.progress if self.progress and self.progress.epoch == epoch else None

    def collectives_of(self, epoch: int) -> Collectives | None:
        """Return the state of that epoch's processes in their collectives; None if they do not report it."""
        return self.collectives if self.collectives and self.collectives.epoch == epoch else None

    def arrivals_of(self, epoch: int) -> Arrivals | None:
        """Return which processes of that epoch come last to their collectives; None if that is not known."""
        return self.arrivals if self.arrivals and self.arrivals.epoch == epoch else None

    def places_of(self, epoch: int) -> Places | None:
        """Return the places of the ranks of that epoch; None if they do not report them."""
        return self.places if self.places and self.places.epoch == epoch else None

    def _holds(self, pod: Pod) -> bool:
        """Return True if the pod has not been seen to go."""
        tally = self.of(pod.epoch)
        held = tally.members.get(pod.rank)
        if pod.uid in self.engine.vanished:
            return True
        return (held is not None and held.uid == pod.uid) or pod.uid in tally.older

    def _empty(self, epoch: int, tally: Tally) -> bool:
        """Return True if no pod is counted, and the tally holds no attempts or given-up ranks of the record's epoch."""
        return not (tally.pods or tally.older or (epoch >= self.oldest and any(tally.lives)))


def _places(plan: Plan, ranges: str) -> dict[int, tuple[str, int]]:
    """Return group and job of each of these ranks."""
    members = map(plan.member, from_ranges(ranges, plan.size)) if ranges else ()
    return {member.rank: (member.group, member.job) for member in members if member}
