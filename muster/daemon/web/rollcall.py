"""The roll call: makes the documents of ``schemas`` from the plan, record and view of an experiment.

Every text in it may come from a program of the experiment or from a stranger's object; it is made printable here, once,
so that no reader has to think of it.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import structlog

from muster.api.values.printable import printable
from muster.api.values.rank_ranges import to_ranges
from muster.daemon.web.hurts import hurts
from muster.daemon.web.ranks import Bench, benches, by_standing
from muster.daemon.web.schemas import (
    CauseReport,
    ConditionReport,
    CoordinatorReport,
    DeadlineReport,
    Detail,
    FindingReport,
    GroupReport,
    MissingRank,
    ProgressReport,
    StoryReport,
    Summary,
)
from muster.metrics.arrivals import arrivals
from muster.metrics.catalogue import LONGEST
from muster.metrics.collector import Subject
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.diagnose import diagnose
from muster.state.facts.diagnosis.finding import Finding
from muster.state.facts.sentences import sentence, why_missing
from muster.state.policies import silence
from muster.state.view.probe_result import SHOWN_RANKS, ProbeResult
from muster.state.view.progress import Progress
from muster.state.view.progress import sentence as progress_sentence
from muster.state.view.roll import RankState
from muster.state.view.view import View
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Cause, Condition, ConditionType, Phase, Record, StoryLine
from muster.state.vocabulary.rules import ClockName

log = structlog.get_logger()

TEXT = 1000
"""Characters of any message."""

Clocks = Mapping[ClockName, float]
"""The running clocks of an experiment and the wall second each runs out."""

ClocksOf = Callable[[Plan, Record], Clocks]


def shown_row(subject: Subject, clocks: ClocksOf, now: float) -> Summary | None:
    """The row of one experiment; None, with a line in the log, if that raises: the others must be shown."""
    try:
        return summary(subject, clocks(subject.plan, subject.record), now)
    except Exception:
        log.exception(
            "experiment left out of the page", namespace=subject.plan.namespace, experiment=subject.plan.title
        )
        return None


def summary(subject: Subject, clocks: Clocks, now: float) -> Summary:
    """The row of one experiment."""
    return Summary(**_row(subject, clocks, now))


def detail(subject: Subject, clocks: Clocks, now: float, seats: Iterable[Bench] | None = None) -> Detail:
    """Everything about one experiment. Costs O(ranks). ``seats`` are its ranks, where they are known already."""
    record = subject.record
    case = Context(subject.plan, record, subject.view, now)
    probe = case.probe
    return Detail(
        **_row(subject, clocks, now),
        started_at=stamp(record.started_at),
        finished_at=stamp(record.finished_at),
        groups=[_group(group) for group in subject.plan.groups],
        members={each.value: to_ranges(ranks) for each, ranks in by_standing(seats or benches(case)).items()},
        deadlines=[_deadline(subject.plan, name, end) for name, end in clocks.items()],
        dashboard=_word(subject.plan.dashboard_address(record.epoch)),
        coordinator=_coordinator(case, probe) if probe else None,
        ranks=_by_state(probe.answer.states) if probe else {},
        missing_ranks=[_missing_rank(case, rank) for rank in _missing(case)],
        findings=[_finding(each) for each in diagnose(case)],
        cause=_cause(record.cause) if record.cause else None,
        conditions=[_condition(condition) for condition in record.conditions],
        story=[_story_line(line) for line in record.story],
    )


def stamp(seconds: float | None) -> str:
    """A wall time as RFC 3339 with milliseconds; empty for None, and for one that no calendar has."""
    if seconds is None:
        return ""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return ""


def _group(group: Group) -> GroupReport:
    return GroupReport(
        name=_word(group.name),
        role=group.role.value,
        first_rank=group.first_rank,
        jobs=group.replicas,
        pods=group.completions,
    )


def _deadline(plan: Plan, name: ClockName, end: float) -> DeadlineReport:
    rule = plan.clock(name)
    limit, action = (rule.after, rule.action.value) if rule else (0.0, "")
    return DeadlineReport(clock=name.value, until=stamp(end), limit=limit, action=action)


def _word(text: str) -> str:
    return printable(text, LONGEST)


def _text(text: str) -> str:
    return printable(text, TEXT)


def _row(subject: Subject, clocks: Clocks, now: float) -> dict[str, Any]:
    plan, record, view = subject.plan, subject.record, subject.view
    stuck = record.condition(ConditionType.STUCK)
    roll = None if record.finished or record.phase is Phase.SUSPENDED else arrivals(plan, record, view, now)
    return {
        "namespace": _word(plan.namespace),
        "name": _word(plan.title),
        "kind": plan.subject.kind,
        "operator": _word(plan.operator),
        "engine": plan.engine.value,
        "phase": record.phase.value,
        "since": stamp(record.phase_at),
        "reason": _word(record.reason),
        "message": _text(record.message),
        "stuck": _word(stuck.reason) if stuck and stuck.status else "",
        "epoch": record.epoch_begun,
        "restarts": record.restarts_begun,
        "disruptions": record.disruptions,
        "size": plan.size,
        "ready": record.ready if record.finished else view.of(record.epoch).ready,
        "arrived": roll.arrived if roll else None,
        "missing": roll.missing if roll else None,
        "clocks": {name.value: round(end - now, 3) for name, end in clocks.items()},
        "progress": _progress(seen, now) if (seen := _progress_of(record, view)) else None,
        "hurts": [each.value for each in hurts(plan, record, view, clocks, now)],
    }


def _progress_of(record: Record, view: View) -> Progress | None:
    return view.progress_of(record.epoch) if record.gathering else None


def _progress(progress: Progress, now: float) -> ProgressReport:
    return ProgressReport(
        sentence=_text(progress_sentence(progress, now)),
        step=progress.step,
        per_second=None if progress.rate is None else round(progress.rate, 6),
        slowest_rank=progress.slowest,
        stragglers=to_ranges(progress.stragglers),
        reporting=progress.reporting,
        moved_at=stamp(progress.moved_at),
        longest=progress.longest,
        hangs_after=progress.patience,
        hung=progress.hung,
        scalars={_word(name): value for name, value in progress.scalars},
    )


def _by_state(ranks: Iterable[RankState]) -> dict[str, str]:
    numbers: dict[str, list[int]] = {}
    for rank, state in enumerate(ranks):
        numbers.setdefault(state.value, []).append(rank)
    return {state: to_ranges(found) for state, found in numbers.items()}


def _missing(case: Context) -> Iterable[int]:
    """The first missing ranks as the coordinator, or else the record, names them."""
    if case.record.finished:
        return ()
    if probe := case.probe:
        return probe.missing if silence.known_in(case) else ()
    return case.record.roll.missing[:SHOWN_RANKS] if case.record.roll else ()


def _missing_rank(case: Context, rank: int) -> MissingRank:
    pod = case.tally.members.get(rank)
    group = case.plan.group_of(rank)
    return MissingRank(
        rank=rank,
        group=_word(group.name) if group else "",
        pod=_word(pod.name) if pod else "",
        node=_word(pod.node) if pod else "",
        why=_text(why_missing(case, rank)),
    )


def _finding(found: Finding) -> FindingReport:
    return FindingReport(
        cause=found.cause.value,
        ranks=to_ranges(found.ranks),
        count=found.count,
        sentence=_text(found.sentence),
        evidence=_text(found.evidence),
        next_step=found.next_step,
        group=_word(found.group),
        node=_word(found.node),
    )


def _coordinator(case: Context, probe: ProbeResult) -> CoordinatorReport:
    answer = probe.answer
    return CoordinatorReport(
        address=_word(case.plan.coordinator_address(case.record.epoch)),
        state=answer.coordinator.value,
        detail=_text(answer.detail),
        at=stamp(answer.at),
        latency=round(answer.latency, 6),
        protocol=_word(answer.protocol),
        told=answer.expected,
    )


def _cause(cause: Cause) -> CauseReport:
    return CauseReport(
        epoch=cause.epoch,
        at=stamp(cause.at),
        sentence=_text(sentence(cause)),
        reason=_word(cause.reason),
        message=_text(cause.message),
        pod=_word(cause.pod),
        rank=cause.rank,
        container=_word(cause.container),
        node=_word(cause.node),
        exit_code=cause.exit_code,
        signal=cause.signal,
        disruption=cause.disruption,
    )


def _condition(condition: Condition) -> ConditionReport:
    return ConditionReport(
        type=str(condition.type),
        status=bool(condition.status),
        reason=_word(condition.reason),
        message=_text(condition.message),
        since=stamp(condition.since),
    )


def _story_line(line: StoryLine) -> StoryReport:
    return StoryReport(
        at=stamp(line.at),
        epoch=line.epoch,
        reason=_word(line.reason),
        message=_text(line.message),
        warning=line.warning,
    )
