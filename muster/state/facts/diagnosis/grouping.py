"""Groups of members with the same diagnosis: one finding for each, and its sentence in the status.

The status has one sentence per experiment. If it names one member, it is that member with its pod. If it names
several, they are grouped as on the page and in ``muster explain``: ``ranks 8-15: node n7 is not ready (first: POD)``.
The order depends on causes and ranks alone, so the same state has the same sentence in every daemon. At most ``MOST``
members are read, so a step costs the same for any number of missing members.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from muster.state.facts.causes import table
from muster.state.facts.causes.cause import MissingCause
from muster.state.facts.causes.table import ORDER
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.classifier import of_member, why_missing
from muster.state.facts.diagnosis.finding import Diagnosis, Finding
from muster.state.facts.diagnosis.next_steps import next_step
from muster.state.facts.sentences import expected_name, of_device, placed, why_idle
from muster.state.view.stage import stage_of
from muster.state.vocabulary.pod import Pod

MOST = 64
"""Members that a sentence of the status is made from."""
SHOWN = 3
"""Findings that such a sentence names."""


class Listed(NamedTuple):
    """Members in a sentence."""

    sentence: str
    ranks: frozenset[int]
    """The ranks that it names with their pods."""


def named(context: Context, ranks: Iterable[int], total: int) -> str:
    """Name ranks, ``total`` in all: ``rank 2 (POD, why)``, or ``ranks 8-15: node n7 is not ready (first: POD)``."""
    return listed(context, ranks, total).sentence


def listed(context: Context, ranks: Iterable[int], total: int) -> Listed:
    """Return the sentence of ``named``, and the ranks that it names."""
    looked_at = list(islice(ranks, MOST))
    if total == 1 and len(looked_at) == 1:
        return Listed(why_missing(context, looked_at[0]), frozenset(looked_at))
    return _listed(context, looked_at, total)


def as_findings(context: Context, ranks: Iterable[int], total: int) -> str:
    """Return the sentence by cause, also for one member: ``rank 3: node n7 is not ready (POD)``."""
    return _listed(context, ranks, total).sentence


def _listed(context: Context, ranks: Iterable[int], total: int) -> Listed:
    findings = list(grouped(context, diagnoses(context, islice(ranks, MOST))))
    shown = [f"{each.sentence} ({_first(context, each)})" for each in findings[:SHOWN]]
    rest = total - sum(each.count for each in findings[:SHOWN])
    said = "; ".join(shown) + (f"; and {rest} more" if rest > 0 else "")
    return Listed(said, frozenset(rank for each in findings[:SHOWN] for rank in each.ranks))


def _first(context: Context, finding: Finding) -> str:
    """Return the pod to read first, with the reason for which it waits."""
    rank = finding.ranks[0]
    pod = context.tally.members.get(rank)
    name = placed(context, rank, pod.name if pod else expected_name(context, context.plan.member(rank)))
    first = name if finding.count == 1 else f"first: {name}"
    waits = pod is not None and not pod.started and pod.live and not pod.terminating
    return f"{first}, {why_idle(pod)}" if pod is not None and waits else first


def diagnoses(context: Context, ranks: Iterable[int]) -> dict[int, Diagnosis]:
    """Return the cause of each of these members. Members that look alike are diagnosed once."""
    found: dict[int, Diagnosis] = {}
    alike: dict[tuple[object, ...], Diagnosis] = {}
    for rank in ranks:
        pod = context.tally.members.get(rank)
        key = _looks(context, rank, pod)
        if key not in alike:
            alike[key] = of_member(context, rank)
        found[rank] = alike[key]
    return found


def _looks(context: Context, rank: int, pod: Pod | None) -> tuple[object, ...]:
    """Return the input of a member's diagnosis without its evidence: members with equal input are one finding."""
    tally, coordinator = context.tally, context.plan.coordinator
    group, done = context.plan.group_of(rank), rank in tally.done
    name = group.name if group else ""
    if pod is None:
        return name, done, rank in tally.gone
    meets = coordinator is not None and coordinator.rank == rank
    said = (
        pod.waiting_reason,
        pod.waiting_message,
        pod.holder,
        pod.outlived_by,
        pod.disruption,
        pod.exit,
        pod.restarts,
    )
    cause, heard = table.of_pod(context, pod), tally.roll[rank] if rank < len(tally.roll) else None
    node = pod.node if cause.names_node else ""
    return name, stage_of(pod, done), cause, meets, heard, node, pod.sandboxed, pod.ready, *said


def _with_device(context: Context, rank: int, found: Diagnosis) -> Diagnosis:
    """Return the diagnosis with the member's device that is reported as Unhealthy: evidence for any cause."""
    pod = context.tally.members.get(rank)
    said = of_device(pod.unhealthy) if pod is not None else ""
    return found._replace(what=f"{found.what}{said}", evidence=f"{found.evidence}{said}") if said else found


def grouped(context: Context, found: dict[int, Diagnosis]) -> Iterator[Finding]:
    """Yield the findings in their order: by cause, and then by the first rank."""
    found = {rank: _with_device(context, rank, each) for rank, each in found.items()}
    shared: dict[tuple[MissingCause, str, str], list[int]] = {}
    for rank in sorted(found):
        each = found[rank]
        shared.setdefault((each.cause, each.what, each.node), []).append(rank)
    for ranks in sorted(shared.values(), key=lambda ranks: (ORDER[found[ranks[0]].cause], ranks[0])):
        first = found[ranks[0]]
        groups = {group.name for rank in ranks if (group := context.plan.group_of(rank))}
        yield Finding(
            cause=first.cause,
            ranks=tuple(ranks),
            count=len(ranks),
            what=first.what,
            evidence=first.evidence,
            next_step=next_step(context, first.cause, ranks[0], first.node),
            group=groups.pop() if len(groups) == 1 else "",
            node=first.node,
        )
