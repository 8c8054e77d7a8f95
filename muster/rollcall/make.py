"""Makes the roll call of an experiment from its plan, record and view at one moment, and documents of its fleet."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from muster.api.goodput import Basis, Bucket, whole_seconds
from muster.api.values.printable import WORD, printable
from muster.api.values.rank_ranges import to_ranges
from muster.rollcall.document import (
    ArrivalReport,
    CauseReport,
    ConditionReport,
    CoordinatorReport,
    DeadlineReport,
    Detail,
    FindingReport,
    GroupReport,
    IncidentReport,
    MissingRank,
    NodeFailureReport,
    NodeListing,
    NodeReport,
    ProgressReport,
    StoryReport,
    Summary,
    TimeReport,
    made,
)
from muster.rollcall.seats import Bench, arrivals, benches, by_standing
from muster.state.facts.context import Context, held
from muster.state.facts.diagnosis.classifier import why_missing
from muster.state.facts.diagnosis.diagnose import diagnose
from muster.state.facts.hang import bridges, slow, works
from muster.state.facts.incidents.incident import Incident
from muster.state.facts.nodes.history import Failure
from muster.state.facts.nodes.suspects import Suspect, counted
from muster.state.facts.sentences import sentence
from muster.state.policies.deadline import running
from muster.state.policies.gathering import lateness
from muster.state.summary import quiet
from muster.state.summary.hurt import Hurt, advice, incident_sentence, near, suspicion
from muster.state.summary.hurt import hurts as with_facts
from muster.state.summary.status import of_arrivals, of_progress
from muster.state.view.probe_result import SHOWN_RANKS, ProbeResult
from muster.state.view.progress import Progress
from muster.state.view.roll import RankState
from muster.state.view.view import View
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import ConditionType, Phase, Record


def hurts(plan: Plan, record: Record, view: View, now: float) -> tuple[Hurt, ...]:
    """Return the problems of that experiment, in the order of `Hurt`: for the filters and rows of the page.

    Beside the status (``muster.state.summary.hurt``) the daemon sees the roll and every running clock.
    """
    roll = None if record.finished else arrivals(plan, record, view, now)
    deadline_near = any(end - now < near(clock.after) for clock, end in running(plan, record))
    return with_facts(record, missing=roll is not None and bool(roll.missing), deadline_near=deadline_near)


MOST_LISTED: Final = 200
"""Most nodes of a listing."""


def summary(case: Context) -> Summary:
    """Return the row of one experiment."""
    return made(Summary, case.record, **_row(case))


def detail(case: Context, seats: Iterable[Bench] | None = None) -> Detail:
    """Return everything about one experiment. Costs O(ranks). ``seats`` are its ranks, if they are known already."""
    plan, record, probe = case.plan, case.record, case.probe
    return made(
        Detail,
        record,
        **_row(case),
        groups=[made(GroupReport, group, jobs=group.replicas, pods=group.completions) for group in plan.groups],
        members={each.value: to_ranges(ranks) for each, ranks in by_standing(seats or benches(case)).items()},
        deadlines=[
            made(DeadlineReport, rule, clock=rule.name.value, until=end, limit=rule.after, action=rule.action.value)
            for rule, end in running(plan, record)
        ],
        time=_time(case),
        dashboard=plan.dashboard_address(record.epoch),
        coordinator=_coordinator(case, probe) if probe else None,
        ranks=_by_state(probe.answer.states) if probe else {},
        missing_ranks=[_missing_rank(case, rank) for rank in _missing(case)],
        findings=[
            made(FindingReport, each, cause=each.cause.value, ranks=to_ranges(each.ranks)) for each in diagnose(case)
        ],
        slow=_slow(case),
        cause=made(CauseReport, record.cause, sentence=sentence(record.cause)) if record.cause else None,
        conditions=[made(ConditionReport, each, status=bool(each.status)) for each in record.conditions],
        story=[made(StoryReport, line) for line in record.story],
    )


def incident(found: Incident) -> IncidentReport:
    """Return the document of one incident."""
    return made(
        IncidentReport,
        found,
        kind=found.key.kind,
        subject=found.key.subject,
        phases=[printable(each, WORD) for each in found.phases],
        namespace=found.alone,
        since=found.began,
        devices={printable(name, WORD): count for name, count in found.devices},
        runs=[printable(f"{run.namespace}/{run.name}", WORD) for run in found.runs],
        sentence=incident_sentence(found),
    )


def node_listing(
    failed: Mapping[str, Sequence[Failure]],
    found: Iterable[Suspect],
    now: float,
    role: Callable[[str], bool | None],
    *,
    dropped: int,
    looked: bool,
) -> NodeListing:
    """Return the nodes that failed runs. ``role`` is True for a control-plane node, None if that is not known."""
    suspects = {each.node: each for each in found}
    proofs = {name: proof for name, failures in failed.items() if (proof := counted(failures))}
    order = sorted(proofs, key=lambda name: (name not in suspects, -len(proofs[name]), name))
    return NodeListing(
        nodes=[_node(name, proofs[name], suspects.get(name), now, role) for name in order[:MOST_LISTED]],
        hidden=max(0, len(order) - MOST_LISTED),
        dropped=dropped,
        looked=looked,
    )


def _node(
    name: str, proof: Iterable[Failure], suspect: Suspect | None, now: float, role: Callable[[str], bool | None]
) -> NodeReport:
    return made(
        NodeReport,
        None,
        node=name,
        suspect=suspicion(suspect, now) if suspect else "",
        advice=advice(name, control_plane=role(name)) if suspect else "",
        failures=[
            made(NodeFailureReport, each, certain=each.sure, last=each.at) for each in sorted(proof, reverse=True)
        ],
    )


def _time(case: Context) -> TimeReport | None:
    """Return the time buckets until now."""
    if case.record.goodput is None:
        return None
    sums = case.record.goodput.at(case.now)
    seconds = whole_seconds({bucket: sums.of(bucket) for bucket in Bucket}, sums.bucket)
    basis = Basis.PHASE if case.record.steps is None else Basis.STEPS
    passed = {bucket.value: whole for bucket, whole in seconds.items() if whole}
    return TimeReport(basis=basis.value, seconds=passed, counting=sums.bucket)


def _row(case: Context) -> dict[str, Any]:
    """Return the fields that the record does not have under the same name."""
    plan, record, view, now = case.plan, case.record, case.view, case.now
    stuck = record.condition(ConditionType.STUCK)
    roll = None if record.finished or record.phase is Phase.SUSPENDED else arrivals(plan, record, view, now)
    progress = view.progress_of(record.epoch) if record.gathering else None
    return {
        "namespace": plan.namespace,
        "name": plan.title,
        "kind": plan.subject.word,
        "operator": plan.operator,
        "engine": plan.engine.value,
        "since": record.phase_at,
        "stuck": stuck.reason if stuck and stuck.status else "",
        "epoch": record.epoch_begun,
        "restarts": record.restarts_begun,
        "size": plan.size,
        "ready": record.ready if record.finished else case.tally.ready,
        "arrived": roll.arrived if roll else None,
        "missing": roll.missing if roll else None,
        "clocks": {clock.name.value: round(end - now, 3) for clock, end in running(plan, record)},
        "devices": {} if record.finished else {printable(name, WORD): count for name, count in held(plan, view)},
        "progress": _progress(progress, case) if progress else None,
        "hint": quiet.seen(case) if works(case) and not (stuck and stuck.status) else "",
        "problems": [each.value for each in hurts(plan, record, view, now)],
    }


def _progress(progress: Progress, case: Context) -> ProgressReport:
    return made(
        ProgressReport,
        progress,
        hung=progress.hung and not bridges(case, progress),
        sentence=of_progress(progress, case.now),
        per_second=None if progress.rate is None else round(progress.rate, 6),
        slowest_rank=progress.slowest,
        stragglers=to_ranges(progress.stragglers),
        hangs_after=progress.patience,
        scalars={printable(name, WORD): value for name, value in progress.scalars},
    )


def _slow(case: Context) -> ArrivalReport | None:
    seen = slow(case)
    return ArrivalReport(sentence=of_arrivals(seen), ranks=to_ranges(seen.members)) if seen else None


def _by_state(ranks: Iterable[RankState]) -> dict[str, str]:
    numbers: dict[str, list[int]] = {}
    for rank, state in enumerate(ranks):
        numbers.setdefault(state.value, []).append(rank)
    return {state: to_ranges(found) for state, found in numbers.items()}


def _missing(case: Context) -> Iterable[int]:
    """Return the first missing ranks as the coordinator, or else the record, names them."""
    if case.record.finished:
        return ()
    if probe := case.probe:
        return probe.missing if lateness.known_in(case) else ()
    return case.record.roll.missing[:SHOWN_RANKS] if case.record.roll else ()


def _missing_rank(case: Context, rank: int) -> MissingRank:
    pod, group = case.tally.members.get(rank), case.plan.group_of(rank)
    return made(
        MissingRank,
        None,
        rank=rank,
        group=group.name if group else "",
        pod=pod.name if pod else "",
        node=pod.node if pod else "",
        why=why_missing(case, rank),
    )


def _coordinator(case: Context, probe: ProbeResult) -> CoordinatorReport:
    answer = probe.answer
    return made(
        CoordinatorReport,
        answer,
        address=case.plan.coordinator_address(case.record.epoch),
        state=answer.coordinator.value,
        latency=round(answer.latency, 6),
    )
