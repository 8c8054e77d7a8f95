"""Repair: a member, or a job, runs again while the epoch continues, or is given up; and the back-off of all restarts.

If a failure rule asks for RestartMember, the member's rank begins its next attempt; RestartJob does so for every rank
of its job, those that have succeeded too; Ignore gives the rank up for the rest of the epoch. The record holds the
attempt of each rank, and it is persisted before a pod of the older attempt is deleted. The next pod is created when no
pod of an older attempt of its rank may still run, when its back-off is over, and when the live API has confirmed that
(``state.policies.startup``). A burst of failures is one write of the status.

A failure that takes the whole gang down goes before all that concern a part of it. A member waits for its next attempt
as the gang would for its next epoch: longer each time, unless it had worked for ``PROGRESS`` seconds.

A repair that the record cannot hold (its lists are bounded) is a restart of the gang.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Final

from msgspec.structs import replace

from muster.api.gang import MAX_ATTEMPTS, MAX_JOB_COUNTS, MAX_MEMBERS, Attempts, JobRestarts
from muster.api.values.rank_ranges import from_ranges, to_ranges
from muster.api.wire.kinds import MAX_RANGES
from muster.state.facts.context import Context
from muster.state.policies import completion
from muster.state.policies.failures.recurrence import PROGRESS
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import NO_RESTARTS, Cause, Record, restarts_of, rows_of
from muster.state.vocabulary.rules import FailureAction, FailureRule


def counted(plan: Plan, number: int, epoch: int, attempt: int = 0) -> float:
    """Return the seconds before restart ``number`` (from 1), which begins that epoch or attempt.

    They are ``initial * factor**(number - 1)``, at most ``max``. ``jitter`` shortens each wait by a share of itself
    that is drawn from uid, epoch and attempt, so that the gangs of a broken node do not come back together, and a
    decision that is taken again gives the same time.
    """
    return _shortened(plan, plan.restarts.backoff.delay(number), epoch, attempt)


def disrupted(plan: Plan, row: int, epoch: int, attempt: int = 0) -> float:
    """Return the seconds after the ``row``-th disruption in a row: none after the first, then as if counted."""
    return counted(plan, row - 1, epoch, attempt) if row > 1 else 0.0


def _shortened(plan: Plan, seconds: float, epoch: int, attempt: int) -> float:
    if not plan.restarts.jitter:
        return seconds
    drawn = int.from_bytes(sha256(f"{plan.uid}/{epoch}/{attempt}/wait".encode()).digest()[:4], "big") / 2**32
    return seconds * (1.0 - plan.restarts.jitter * drawn)


ROW: Final = 72
"""Characters of a row of a status beside its ranges."""
MOST_HELD: Final = MAX_RANGES // 2
"""Characters of all rows: the condition that holds the record of a JobSet has to hold them whole."""


class Repairs:
    """The repairs of one decision, one failure after the other."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._lives = _lives(context.record.attempts)
        self._begun: dict[int, tuple[int, float | None]] = {}
        """Attempt and earliest start of the ranks that begin a new attempt now."""
        self._ignored: set[int] = set()
        self._before = restarts_of(context.record.job_restarts)
        self.jobs: dict[int, JobRestarts] = dict(self._before)

    def __contains__(self, rank: int) -> bool:
        """Return True if the failure of that rank is decided: its job may run again because of another."""
        return rank in self._begun or rank in self._ignored

    def begin(self, rule: FailureRule, cause: Cause) -> None:
        """Begin the next attempts that the rule asks for after the failure of a member."""
        group, rank = self._context.plan.group_of(cause.rank), cause.rank
        if group is None:
            return
        member = group.member(rank - group.first_rank)
        job = group.first_job + member.job
        counts = self.jobs.get(job, NO_RESTARTS)
        if rule.action is FailureAction.IGNORE:
            self._ignored.add(rank)
        elif rule.action is FailureAction.RESTART_MEMBER:
            self._begin_again((rank,), cause, self._wait(rule, job))
            if rule.per_job is not None:
                self.jobs[job] = replace(counts, failures=counts.failures + 1)
        else:
            self._begin_again(group.ranks_of(member.job), cause)
            self._ignored.difference_update(group.ranks_of(member.job))
            charged = counts.counted + rule.counted
            self.jobs[job] = replace(counts, restarts=counts.restarts + 1, counted=charged, failures=0)

    def record(self, totals: Record, cause: Cause) -> Record | None:
        """Return the record ``totals``, which has the cost of these repairs, after them; None if it cannot hold them.

        ``cause`` is that of the first of them.
        """
        before = self._context.record
        lives = {**self._lives, **self._begun}
        attempts, jobs = _attempts(lives), rows_of(self.jobs)
        if not fits(attempts, jobs):  # a time in the past shows only how long a member has worked
            now = self._context.now
            lives = {rank: (attempt, at if at and at > now else None) for rank, (attempt, at) in lives.items()}
            attempts = _attempts(lives)
        if not fits(attempts, jobs):
            return None
        ignored = set(from_ranges(before.ignored, MAX_MEMBERS)) - self._begun.keys() | self._ignored
        done = from_ranges(completion.completed(self._context), MAX_MEMBERS)
        return replace(
            totals,
            attempts=attempts,
            ignored=to_ranges(sorted(ignored)),
            completed=to_ranges([rank for rank in done if rank not in self._begun], MAX_RANGES),
            job_restarts=jobs,
            cause=cause,
        )

    def _wait(self, rule: FailureRule, job: int) -> float | None:
        """Return the seconds that the rule lets a member of that job wait, by the failures before this decision."""
        failures = self._before.get(job, NO_RESTARTS).failures
        return None if rule.backoff is None else rule.backoff.delay(failures + 1)

    def _begin_again(self, ranks: Sequence[int], cause: Cause, seconds: float | None = None) -> None:
        """Give all these ranks one attempt: the one after the newest of them."""
        record = self._context.record
        attempt = 1 + max(self._lives.get(rank, (0, None))[0] for rank in ranks)
        began = self._lives[cause.rank][1] if cause.rank in self._lives else record.epoch_at
        if seconds is None:
            worked = began is None or cause.at - began >= PROGRESS
            wait = disrupted if cause.disruption else counted
            seconds = wait(self._context.plan, 1 if worked else attempt, record.epoch, attempt)
        self._begun |= dict.fromkeys(ranks, (attempt, self._context.now + seconds))


def fits(attempts: tuple[Attempts, ...], jobs: tuple[JobRestarts, ...]) -> bool:
    """Return True if a status can hold these rows."""
    held = sum(len(each.ranks) + ROW for each in attempts) + sum(len(each.jobs) + ROW for each in jobs)
    return len(attempts) <= MAX_ATTEMPTS and len(jobs) <= MAX_JOB_COUNTS and held <= MOST_HELD


def resume_at(context: Context) -> float | None:
    """Return when the next of the members that wait for their back-off may run again."""
    attempts = context.record.attempts
    if not attempts:
        return None
    times = (each.resume_at for each in attempts)
    return min((at for at in times if at is not None and at > context.now), default=None)


def held_back(context: Context) -> frozenset[int]:
    """Return the ranks whose next pod may not be created yet: for their back-off, or as an older pod may still run.

    If jobs run again as a whole, no member of a job starts beside one of its earlier life.
    """
    waiting = {
        rank
        for each in context.record.attempts
        if each.resume_at is not None and each.resume_at > context.now
        for rank in from_ranges(each.ranks, context.plan.size)
    }
    whole = {group.name: group for group in context.plan.groups if _by_job(context.plan, group)}
    for pod in context.tally.older.values():
        if pod.live and (group := whole.get(pod.group)):
            waiting.update(group.ranks_of(pod.job))
        elif pod.live:
            waiting.add(pod.rank)
    return frozenset(waiting)


def _by_job(plan: Plan, group: Group) -> bool:
    return any(rule.action is FailureAction.RESTART_JOB for rule in plan.failures.of_group(group.name))


@lru_cache(maxsize=64)
def _lives(attempts: tuple[Attempts, ...]) -> Mapping[int, tuple[int, float | None]]:
    return {rank: (each.attempt, each.resume_at) for each in attempts for rank in from_ranges(each.ranks, MAX_MEMBERS)}


def _attempts(lives: Mapping[int, tuple[int, float | None]]) -> tuple[Attempts, ...]:
    alike: defaultdict[tuple[int, float | None], list[int]] = defaultdict(list)
    for rank in sorted(lives):
        alike[lives[rank]].append(rank)
    return tuple(Attempts(to_ranges(ranks), attempt, at) for (attempt, at), ranks in alike.items())
