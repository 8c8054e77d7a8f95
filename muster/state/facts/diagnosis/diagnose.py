"""Diagnose an experiment: every member that is missing, or not at work, with one cause, grouped.

The notable members are read (missing from the roll, not started, failed, on a node that is not ready …), and never the
others. The page, ``muster explain`` and the tests ask for all of them; the decision about a gang that is stuck reads a
few (``failures.known``).
"""

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, filterfalse, islice
from typing import Final, NamedTuple

from muster.api.values.rank_ranges import of_ranks
from muster.state.facts import gates
from muster.state.facts.causes import table
from muster.state.facts.causes.cause import MissingCause, serves
from muster.state.facts.causes.table import ORDER, Causes
from muster.state.facts.context import Context
from muster.state.facts.diagnosis import hangs
from muster.state.facts.diagnosis.classifier import Diagnosis, Finding, given_up, of_coordinator, of_member, why_missing
from muster.state.facts.hang import HUNG
from muster.state.facts.sentences import NAMED_RANGES, expected_name, of_device, placed, why_idle
from muster.state.view.stage import Stage, stage_of
from muster.state.vocabulary.plan import Engine
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import RANKS_ENDED, Phase

STACKS: Final = "muster stacks NAME -n NAMESPACE"
LOGS: Final = "muster logs NAME -n NAMESPACE --rank RANK"
OF_PODS: Final = {LOGS: "kubectl logs POD -n NAMESPACE", STACKS: "kubectl exec POD -n NAMESPACE -- py-spy dump --pid 1"}
"""Commands for pods that a selector chose: no command of Muster finds them by a name."""
WITHOUT_HELP: Final = " (for stacks it needs spec.assist, or py-spy in the image)"
"""The words after the command if no known part of Muster in the process answers for its stacks."""
RESTART: Final = " (muster restart NAME -n NAMESPACE)"
"""The words that are left out for kinds that the command does not restart."""
UNKNOWN: Final = {
    " -c CONTAINER": "",
    "kubectl describe node NODE": "kubectl get pod -n NAMESPACE POD -o wide",
    ": kubectl drain NODE --ignore-daemonsets": "",
    "of node NODE": "of its node",
}
"""The words in place of those with a name that is not known."""
_WORDS = re.compile(r"\b(NAME|NAMESPACE|POD|CONTAINER|RANK|NODE)\b")


def next_step(context: Context, cause: MissingCause, rank: int, node: str) -> str:
    """Return the next step for that member, with the names of its objects: a command can be copied unchanged."""
    plan, pod = context.plan, context.tally.members.get(rank)
    names = {
        "NAME": plan.title,
        "NAMESPACE": plan.namespace,
        "POD": pod.name if pod else expected_name(context, plan.member(rank)),
        "CONTAINER": _container(pod) if pod else "",
        "RANK": str(rank),
        "NODE": node or (pod.node if pod else ""),
    }
    text = cause.watched if cause.watched and plan.engine is Engine.WATCH else cause.next_step
    text = (cause.step(context) if cause.step is not None else "") or text
    words = {ours: theirs for ours, theirs in UNKNOWN.items() if not all(names[each] for each in _WORDS.findall(ours))}
    words |= {} if _answers_for_stacks(context) else {STACKS: STACKS + WITHOUT_HELP}
    words |= OF_PODS if plan.watching.chosen else {}
    words |= {RESTART: ""} if "/" in plan.title else {}
    for ours, theirs in words.items():
        text = text.replace(ours, theirs)
    return _WORDS.sub(lambda word: names[word[0]], text)


def _container(pod: Pod) -> str:
    """Return the container that keeps the pod, or was started again last."""
    return pod.holder.rpartition(" ")[2] or (pod.last_exit.container if pod.last_exit else "")


def _answers_for_stacks(context: Context) -> bool:
    """Return True if members have ``spec.assist``, or have reported steps: then ``muster`` in them answers."""
    record = context.record
    reports = context.view.progress_of(record.epoch) is not None or record.steps is not None
    return reports or any(group.pod.assist for group in context.plan.groups)


MOST = 64
"""Members that a sentence of the status is made from."""
SHOWN = 3
"""Findings that such a sentence names."""


class Listed(NamedTuple):
    """Members in a sentence."""

    sentence: str
    ranks: frozenset[int]
    """The ranks that it names with their pods."""


def listed(context: Context, ranks: Iterable[int], total: int) -> Listed:
    """Name ranks, ``total`` in all: ``rank 2 (POD, why)``, or ``ranks 8-15: node n7 is not ready (first: POD)``.

    This is for the status, which has one sentence per experiment. Several members are grouped as on the page and in
    ``muster explain``. The order depends on causes and ranks alone, so the same state has the same sentence in every
    daemon. At most ``MOST`` members are read, so a step costs the same for any number of missing members.
    """
    looked_at = list(islice(ranks, MOST))
    if total == 1 and len(looked_at) == 1:
        return Listed(why_missing(context, looked_at[0]), frozenset(looked_at))
    return as_findings(context, looked_at, total)


def as_findings(context: Context, ranks: Iterable[int], total: int) -> Listed:
    """Name ranks by cause, also if there is one: ``rank 3: node n7 is not ready (POD)``."""
    findings = list(grouped(context, diagnoses(context, islice(ranks, MOST))))
    shown = [f"{each.sentence} ({_first(context, each)})" for each in findings[:SHOWN]]
    rest = total - sum(each.count for each in findings[:SHOWN])
    sentence = "; ".join(shown) + (f"; and {rest} more" if rest > 0 else "")
    return Listed(sentence, frozenset(rank for each in findings[:SHOWN] for rank in each.ranks))


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
    shown = (
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
    return name, stage_of(pod, done), cause, meets, heard, node, pod.sandboxed, pod.ready, *shown


def _with_device(context: Context, rank: int, found: Diagnosis) -> Diagnosis:
    """Return the diagnosis with the member's device that is reported as Unhealthy: evidence for any cause."""
    pod = context.tally.members.get(rank)
    device = of_device(pod.unhealthy) if pod is not None else ""
    return found._replace(what=f"{found.what}{device}", evidence=f"{found.evidence}{device}") if device else found


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


def diagnose(context: Context, most: int | None = None) -> tuple[Finding, ...]:
    """Return the findings, the most decisive first; none if all members are at work, or not wanted.

    Members with one cause, and one node or image or reason of it, are one finding. ``most``: members that are read
    in a decision, which costs the same for any number of them.
    """
    record = context.record
    if record.finished or record.phase is Phase.SUSPENDED:
        return ()
    found = diagnoses(context, islice(_notable(context), most))
    found |= hangs.diagnoses(context, most or context.plan.size)
    if context.probe is not None:
        found |= given_up(context, context.probe)
    if (coordinator := context.plan.asked) is not None:
        wrong = of_coordinator(context, coordinator)
        if wrong is not None:
            found[coordinator.rank] = wrong
    found = hangs.as_recorded(context, HUNG) | found
    counted = _of_count(context, found)
    return (*grouped(context, found), *([counted] if counted else []))


def _notable(context: Context) -> Iterator[int]:
    """Yield the ranks to read, each once."""
    seen: set[int] = set()
    for rank in chain(_away(context), _from_roll(context)):
        if rank not in seen:
            seen.add(rank)
            yield rank


def _away(context: Context) -> Iterator[int]:
    """Yield ranks whose pod shows that they are not at work, and ranks without a pod."""
    tally, record = context.tally, context.record
    waiting = (tally.cut_off, tally.failed, tally.idle, tally.leaving)
    yield from (pod.rank for held in waiting for pod in held.values())  # the tally holds no rank that is given up there
    ranks: Iterable[int] = range(context.plan.size)
    if tally.pods < context.plan.size:
        for rank in filterfalse(tally.members.__contains__, ranks):
            if rank not in tally.collected:
                yield rank
    yield from (pod.rank for pod in tally.restarted.values() if not pod.ready)
    if record.blocked is not None and record.blocked.reason == RANKS_ENDED:
        yield from sorted(gates.ended_early(context))


def _from_roll(context: Context) -> Iterator[int]:
    """Yield ranks missing from the roll, or, if no coordinator can be asked, ranks whose pod is not ready."""
    tally = context.tally
    if context.plan.asked is None:
        if tally.ready + tally.succeeded < tally.started:
            for rank, pod in tally.members.items():
                if stage_of(pod, rank in tally.done) in (Stage.RUNNING, Stage.UNKNOWN):
                    yield rank
    elif not serves(context):
        yield from tally.members
    elif (probe := context.probe) is None:
        yield from context.record.roll.missing if context.record.roll else ()
    elif not probe.answer.partial and probe.arrived < context.plan.expected:
        yield from probe.answer.missing


def _of_count(context: Context, found: Collection[int]) -> Finding | None:
    """Return a finding of members without a cause of their own, if the coordinator counts arrivals and names none.

    Members with another cause are taken off first. Any one of the rest that runs may be missing.

    ``found`` are the ranks with a cause. A candidate has a pod that runs; the coordinator has arrived.
    """
    coordinator, probe, tally = context.plan.coordinator, context.probe, context.tally
    if coordinator is None or probe is None or probe.answer.joined is None or not probe.serving:
        return None
    size = context.plan.expected
    missing = size - probe.arrived - sum(rank != coordinator.rank for rank in found)
    ranks = sorted(rank for rank in tally.members if rank not in found and rank not in tally.done)
    ranks = [rank for rank in ranks if rank != coordinator.rank]
    if missing <= 0 or not ranks:
        return None
    which = of_ranks(ranks, NAMED_RANGES)
    has = "has" if missing == 1 else "have"
    known = missing == len(ranks)
    what = f"{missing} of {size} {has} not arrived; "
    what += f"by their number {which}" if known else f"the store does not show which of {which}"
    cause = Causes.NOT_ARRIVED
    return Finding(
        cause=cause,
        ranks=tuple(ranks) if known else (),
        count=missing,
        what=what,
        evidence="; ".join(filter(None, (probe.answer.detail, probe.answer.partial))),
        next_step=next_step(context, cause, ranks[0], ""),
    )
