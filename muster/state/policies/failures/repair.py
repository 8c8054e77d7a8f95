"""Repair: a member, or a job, runs again while the epoch goes on, or is given up.

Where a failure rule says RestartMember, the member's rank begins its next attempt; RestartJob does so for every rank of
its job, those that have succeeded too; Ignore gives the rank up for the rest of the epoch. The record holds the attempt
of each rank, and it is persisted before a pod of the older attempt is deleted. The next pod is created when no pod of
an older attempt of its rank may run any more, when its back-off is over, and when the live API has confirmed that
(``state.policies.startup``). A burst of failures is one write of the status.

A failure that takes the whole gang down goes before all that concern a part of it. A member waits for its next attempt
as the gang would for its next epoch: longer each time, unless it had worked for ``PROGRESS`` seconds.

A repair that the record cannot hold (its lists are bounded) is a restart of the gang.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from muster.api.gang import MAX_MEMBERS
from muster.api.restart_counts import MAX_ATTEMPTS, MAX_JOB_COUNTS
from muster.api.values.rank_ranges import from_ranges, to_ranges
from muster.api.wire.kinds import MAX_RANGES
from muster.state.facts.context import Context, Fail
from muster.state.policies import completion
from muster.state.policies.failures import avoidance, restart_reasons
from muster.state.policies.failures.cost import backoff, budget
from muster.state.policies.failures.cost.disruptions import PROGRESS
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import NO_RESTARTS, Attempts, Cause, JobRestarts, Record, restarts_of, rows_of
from muster.state.vocabulary.rules import FailureAction, FailureRule

ROW: Final = 72
"""Characters of a row of a status beside its ranges."""
MOST_HELD: Final = MAX_RANGES // 2
"""Characters of all rows: the condition that holds the record of a JobSet has to hold them whole."""


class Repairs:
    """The repairs of one decision, one failure after the other."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._totals = context.record
        self._begun: dict[int, tuple[int, float | None]] = {}
        """Attempt and earliest start of the ranks that begin a new attempt now."""
        self._ignored: set[int] = set()
        self.jobs: dict[int, JobRestarts] = dict(restarts_of(context.record.job_restarts))

    def __contains__(self, rank: int) -> bool:
        """Whether what follows the failure of that rank is decided: its job may run again because of another."""
        return rank in self._begun or rank in self._ignored

    def add(self, rule: FailureRule, cause: Cause) -> Fail | None:
        """Do what the rule says of a failed member; why that may not be done, if it may not."""
        plan, rank = self._context.plan, cause.rank
        group = plan.group_of(rank)
        if group is None:
            return None
        if refused := budget.refused(plan, self._totals, rule, cause):
            return refused
        restarts = rule.action is not FailureAction.IGNORE
        if restarts and rule.counted and (over := budget.spent(plan, self._totals, cause)):
            return over
        name = budget.limited(plan, rule)
        self._totals = budget.charged(self._totals, counted=restarts and rule.counted, rule=name)
        if restarts:
            self._totals = replace(
                self._totals,
                disruptions=self._totals.disruptions + cause.disruption,
                restart_reasons=restart_reasons.counted(self._totals.restart_reasons, cause.reason),
            )
            self._totals = avoidance.failed_on(plan, self._totals, cause)
        self._begin(rule, cause, group)
        return None

    def record(self, cause: Cause) -> Record | None:
        """The record after these repairs, the first of which was for that cause; None where it cannot hold them."""
        before = self._context.record
        lives = {**_lives(before.attempts), **self._begun}
        attempts, jobs = _attempts(lives), rows_of(self.jobs)
        if not fits(attempts, jobs):  # what lies in the past shows only how long a member has worked
            now = self._context.now
            lives = {rank: (attempt, at if at and at > now else None) for rank, (attempt, at) in lives.items()}
            attempts = _attempts(lives)
        if not fits(attempts, jobs):
            return None
        ignored = set(from_ranges(before.ignored, MAX_MEMBERS)) - self._begun.keys() | self._ignored
        done = from_ranges(completion.completed(self._context), MAX_MEMBERS)
        return replace(
            self._totals,
            attempts=attempts,
            ignored=to_ranges(sorted(ignored)),
            completed=to_ranges([rank for rank in done if rank not in self._begun], MAX_RANGES),
            job_restarts=jobs,
            cause=cause,
        )

    def _begin(self, rule: FailureRule, cause: Cause, group: Group) -> None:
        rank = cause.rank
        first = (rank - group.first_rank) // group.completions * group.completions + group.first_rank
        job = group.first_job + (rank - group.first_rank) // group.completions
        counts = self.jobs.get(job, NO_RESTARTS)
        if rule.action is FailureAction.IGNORE:
            self._ignored.add(rank)
        elif rule.action is FailureAction.RESTART_MEMBER:
            self._begin_again((rank,), cause, self._wait(rule, job))
            if rule.per_job is not None:
                self.jobs[job] = replace(counts, failures=counts.failures + 1)
        else:
            self._begin_again(range(first, first + group.completions), cause)
            self._ignored.difference_update(range(first, first + group.completions))
            charged = counts.counted + rule.counted
            self.jobs[job] = replace(counts, restarts=counts.restarts + 1, counted=charged, failures=0)

    def _wait(self, rule: FailureRule, job: int) -> float | None:
        """Seconds that the rule lets a member of that job wait, by the failures before this decision."""
        before = restarts_of(self._context.record.job_restarts).get(job, NO_RESTARTS).failures
        return None if rule.backoff is None else rule.backoff.delay(before + 1)

    def _begin_again(self, ranks: Iterable[int], cause: Cause, seconds: float | None = None) -> None:
        """One attempt for all of them, the next one of each."""
        record = self._context.record
        lives = _lives(record.attempts)
        attempt = 1 + max(lives.get(rank, (0, None))[0] for rank in ranks)
        began = lives[cause.rank][1] if cause.rank in lives else record.epoch_at
        worked = began is None or cause.at - began >= PROGRESS
        wait = backoff.disrupted if cause.disruption else backoff.counted
        if seconds is None:
            seconds = wait(self._context.plan, 1 if worked else attempt, record.epoch, attempt)
        for rank in ranks:
            self._begun[rank] = attempt, self._context.now + seconds


def fits(attempts: tuple[Attempts, ...], jobs: tuple[JobRestarts, ...]) -> bool:
    """Whether a status can hold these rows."""
    held = sum(len(each.ranks) + ROW for each in attempts) + sum(len(each.jobs) + ROW for each in jobs)
    return len(attempts) <= MAX_ATTEMPTS and len(jobs) <= MAX_JOB_COUNTS and held <= MOST_HELD


def resume_at(context: Context) -> float | None:
    """When the next of the members that wait for their back-off may run again."""
    attempts = context.record.attempts
    if not attempts:
        return None
    times = (each.resume_at for each in attempts)
    return min((at for at in times if at is not None and at > context.now), default=None)


def held_back(context: Context) -> frozenset[int]:
    """The ranks whose next pod may not be created yet: of their back-off, or because an older pod may still run.

    Where jobs run again as a whole, no member of a job starts beside one of its earlier life.
    """
    waiting = {
        rank
        for each in context.record.attempts
        if each.resume_at is not None and each.resume_at > context.now
        for rank in from_ranges(each.ranks, context.plan.size)
    }
    whole = {group.name: group for group in context.plan.groups if _by_job(context.plan, group)}
    for pod in context.tally.previous.values():
        if pod.live and (group := whole.get(pod.group)):
            first = group.first_rank + pod.job * group.completions
            waiting.update(range(first, first + group.completions))
        elif pod.live:
            waiting.add(pod.rank)
    return frozenset(waiting)


def _by_job(plan: Plan, group: Group) -> bool:
    return any(rule.action is FailureAction.RESTART_JOB for rule in plan.failures.of_group(group.name))


def job_index(context: Context, rank: int) -> int | None:
    """The index of that rank's job among the jobs of all groups."""
    group = context.plan.group_of(rank)
    return None if group is None else group.first_job + (rank - group.first_rank) // group.completions


@lru_cache(maxsize=64)
def _lives(attempts: tuple[Attempts, ...]) -> Mapping[int, tuple[int, float | None]]:
    return {rank: (each.attempt, each.resume_at) for each in attempts for rank in from_ranges(each.ranks, MAX_MEMBERS)}


def _attempts(lives: Mapping[int, tuple[int, float | None]]) -> tuple[Attempts, ...]:
    alike: defaultdict[tuple[int, float | None], list[int]] = defaultdict(list)
    for rank in sorted(lives):
        alike[lives[rank]].append(rank)
    return tuple(Attempts(to_ranges(ranks), attempt, at) for (attempt, at), ranks in alike.items())
