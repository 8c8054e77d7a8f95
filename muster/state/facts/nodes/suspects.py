"""Suspect nodes: a proposal to a person, with proof. Nothing is ever done because of it.

**The evidence** is read from the cause of an end, from a container that was started again, and from the cause of a
Stuck run. Two kinds of failures may be the node's:

- **sure**: Kubernetes reports it of the node itself. These are the rows of the table of causes that name the node, and
  devices that are reported as Unhealthy.
- any other failure of a member, such as an exception, a hang or a container that cannot be made. The program, or its
  owner, may be the reason as well, so it counts only beside such a failure of a run of another namespace (``counted``).

Never the node's: a preemption, an eviction by the API, a deletion, a planned shutdown, memory beyond the pod's own
limit, and causes of the program alone, such as another protocol or an end with exit code 0.

**The rule.** A node is suspect if, since the beginning of the period before the present one (12 to 24 hours ago),

1. failures that may be the node's hit at least ``RUNS`` runs;
2. they are of at least two namespaces, or Kubernetes reports each of them of the node itself;
3. they began at ``MOMENTS`` moments at least, ``APART`` seconds from each other: what happened once is an incident;
4. the last one is less than ``RECENT`` seconds old, so that a node that was fixed ceases to be suspect;
5. they are ``OFTEN`` times as many as were to be expected, and so many that the chance to see as many on any node is
   below ``CHANCE``.

For 5 each namespace is compared with itself. The lives that its runs spent on the node, times the share of its lives
that failed elsewhere, are the failures to be expected here. A namespace with little work elsewhere is taken to be like
all others, with the weight of ``LIKE_OTHERS`` lives. So a node that bears more work, or work of namespaces whose
programs fail everywhere, has more failures to be expected, and is not suspect because of them. The rule cannot
distinguish a sick node from one on which several namespaces try out programs, while those that work run elsewhere.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import exp
from typing import Final

from muster.api.causes import Stuck
from muster.api.gang import MAX_MEMBERS
from muster.api.values.rank_ranges import from_ranges
from muster.state.facts.causes.cause import MissingCause
from muster.state.facts.causes.table import BY_NAME, CAUSES, Causes
from muster.state.facts.nodes.history import DAY, Failure, History, life_of, shares_of
from muster.state.view.view import View
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Cause, Phase, Record

SURE: Final = frozenset(
    reason
    for cause in CAUSES
    if cause.names_node
    for reason in (cause.value, cause.stuck_as, *cause.reasons, cause.charge.reason if cause.charge else "")
    if reason
)
"""Causes, and reasons of ends, that Kubernetes reports of a node."""
_OF_PROGRAM: Final = (
    *(Causes.PROCESS_COUNT, Causes.WRONG_PROTOCOL, Causes.DASHBOARD_NOT_SERVING, Causes.COORDINATOR_NOT_SERVING),
    *(Causes.CONTAINER_RUNS_ON, Causes.INIT_CONTAINER, Causes.GHOST, Causes.LEFT, Causes.ENDED),
)


def _charged(causes: Iterable[MissingCause]) -> set[str]:
    return {each.charge.reason for each in causes if each.charge is not None}


_OWN_REASONS: Final = frozenset(
    {Causes.OOM_KILLED.value, "Evicted", "PodDeleted", "PodAltered"}
    | (_charged(_OF_PROGRAM) - _charged(each for each in CAUSES if each not in _OF_PROGRAM))
)
"""Reasons of ends that are no node's. A pod is evicted for its own excess, unless it is a disruption."""
_PLATFORM_REASONS: Final = frozenset(
    {"UnexpectedAdmissionError", "Evicted"} | _charged(each for each in CAUSES if each.charge and each.charge.platform)
)
"""Reasons of disruptions that may be the node's, if they have one: a device that is lost, a disk that is full."""
MOST_NODES: Final = 8
"""Nodes for which one run's trouble is counted."""
LOOKED_AT: Final = 64
"""Ranks that are read for it."""


def observe(history: History, plan: Plan, old: Record | None, new: Record, view: View, now: float) -> None:
    """Add the failures and the work of nodes from a record that was persisted in the place of ``old``.

    A life that fails where its run has failed before is no more work for the node: else a program that is started again
    and again would make its node look busy.
    """
    again = set()
    for node, failure in _failures(plan, old, new, view, now):
        history.failed(node, failure, now)
        if history.times(node, failure.namespace, failure.run) > 1:
            again.add(node)
    if old is not None and not old.finished and (new.finished or new.epoch != old.epoch):
        tally = view.of(old.epoch)
        shares = shares_of(pod.node for pod in (*tally.members.values(), *tally.gone.values()))
        history.served(plan.namespace, {node: share for node, share in shares.items() if node not in again}, now)


def went_on(history: History, plan: Plan, record: Record, view: View, now: float) -> int:
    """Count an hour of a run that is at work. Return the number of members that were read."""
    if record.phase is not Phase.RUNNING or record.known is not None or record.blocked is not None:
        return 0
    members = view.of(record.epoch).members
    history.served(plan.namespace, shares_of(pod.node for pod in members.values()), now)
    return len(members)


def counted(failures: Sequence[Failure]) -> list[Failure]:
    """Return the failures on one node that may be the node's.

    An unsure failure counts beside such a failure of another namespace, on the same node and within a day of it.
    """
    unsure = [each for each in failures if not each.sure]
    if len({each.namespace for each in unsure}) < 2:
        return [each for each in failures if each.sure]
    return [
        each
        for each in failures
        if each.sure or any(other.namespace != each.namespace and abs(other.at - each.at) <= DAY for other in unsure)
    ]


def _failures(plan: Plan, old: Record | None, new: Record, view: View, now: float) -> Iterator[tuple[str, Failure]]:
    if new.cause is not None and (old is None or new.cause != old.cause):
        yield from _of_end(plan, new.cause, now)
    again = new.in_place.cause if new.in_place is not None else None
    if again is not None and (old is None or old.in_place is None or again != old.in_place.cause):
        yield from _of_end(plan, again, now)
    known = new.known
    if known is not None and (old is None or _what(old.known) != _what(known)):
        yield from _of_stuck(plan, new.epoch, known, view.of(new.epoch).members, now)


def of_node(cause: Cause) -> bool:
    """Return True if Kubernetes or the runtime reports the end of the node itself, or a device as Unhealthy."""
    return cause.reason in SURE or (bool(cause.device) and not cause.disruption)


def _of_end(plan: Plan, cause: Cause, now: float) -> Iterator[tuple[str, Failure]]:
    reason = cause.reason
    if not cause.node or cause.exit_code == 0:
        return
    if of_node(cause) or (reason in _PLATFORM_REASONS if cause.disruption else reason not in _OWN_REASONS):
        at = int(cause.at if 0 < cause.at <= now else now)
        life = life_of(plan.uid, cause.epoch)
        yield cause.node, Failure(at, plan.namespace, plan.title, life, reason, of_node(cause), at)


def _of_stuck(
    plan: Plan, epoch: int, known: Stuck, members: Mapping[int, Pod], now: float
) -> Iterator[tuple[str, Failure]]:
    """Yield the failures of a Stuck run. One that is not sure must have one node: on several it is hardly a node's."""
    cause = BY_NAME.get(known.cause)
    if cause is None or cause in _OF_PROGRAM:
        return
    ranks = islice(from_ranges(known.ranks, min(plan.size, MAX_MEMBERS)), LOOKED_AT)
    nodes = list(dict.fromkeys(pod.node for rank in ranks if (pod := members.get(rank)) is not None and pod.node))
    if cause.names_node or len(nodes) == 1:
        at = int(known.since if 0 < known.since <= now else now)
        for node in nodes[:MOST_NODES]:
            life = life_of(plan.uid, epoch)
            yield node, Failure(at, plan.namespace, plan.title, life, cause.value, cause.names_node, at)


def _what(known: Stuck | None) -> tuple[str, str]:
    return ("", "") if known is None else (known.cause, known.ranks)


RUNS: Final = 3
MOMENTS: Final = 3
APART: Final = 600.0
RECENT: Final = 6 * 3600.0
OFTEN: Final = 3.0
CHANCE: Final = 1e-3
LIKE_OTHERS: Final = 2.0
MOST: Final = 20
"""Suspects that are named."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """A node, and the proof against it. ``since`` is the first of these failures, in wall seconds."""

    node: str
    runs: int
    namespaces: int
    since: float
    expected: float
    """Runs that would have failed on a node like the others."""


def suspects(history: History, now: float) -> tuple[Suspect, ...]:
    """Return the suspect nodes, most runs first. Failures that Kubernetes reports of nodes are also compared alone."""
    since = history.since(now)
    recent = {name: [each for each in some if each.at >= since] for name, some in history.failures().items()}
    certain = {name: [each for each in some if each.sure] for name, some in recent.items()}
    found = {each.node: each for some in (certain, recent) for each in _found(history, some, since, now)}
    return tuple(sorted(found.values(), key=lambda each: (-each.runs, each.node))[:MOST])


def _found(history: History, failures: Mapping[str, list[Failure]], since: float, now: float) -> Iterator[Suspect]:
    failed = Counter(each.namespace for some in failures.values() for each in some)
    lived = history.lives()
    for name, some in failures.items():
        proof = counted(some)
        namespaces = {each.namespace for each in proof}
        if len(proof) < RUNS or (len(namespaces) < 2 and not all(each.sure for each in proof)):
            continue
        if now - proof[-1].at > RECENT or _moments(proof, since) < MOMENTS:
            continue
        expected = _expected(history.lives(name), Counter(each.namespace for each in some), lived, failed)
        if len(proof) >= OFTEN * expected and _by_chance(len(proof), expected) * history.nodes < CHANCE:
            first = max(since, min(each.first for each in proof))
            yield Suspect(name, len(proof), len(namespaces), first, expected)


def _expected(
    lived: Mapping[str, float], failed: Counter[str], all_lived: Mapping[str, float], all_failed: Counter[str]
) -> float:
    """Return how many runs would have failed here at the rate of the same namespaces elsewhere."""
    failures = float(all_failed.total() - failed.total())
    others = max(0.0, sum(all_lived.values()) - sum(lived.values()))
    everywhere = (failures + 1) / (max(others, failures) + 2)
    expected = 0.0
    for namespace in lived.keys() | failed.keys():
        here = max(lived.get(namespace, 0.0), failed[namespace])
        elsewhere_failed = all_failed[namespace] - failed[namespace]
        elsewhere = max(all_lived.get(namespace, 0.0) - lived.get(namespace, 0.0), elsewhere_failed, 0.0)
        expected += here * (elsewhere_failed + LIKE_OTHERS * everywhere) / (elsewhere + LIKE_OTHERS)
    return expected


def _moments(failures: Iterable[Failure], since: float) -> int:
    count, last = 0, float("-inf")
    for at in sorted(at for each in failures for at in {each.first, each.at} if at >= since):
        if at - last >= APART:
            count, last = count + 1, float(at)
    return count


def _by_chance(number: int, expected: float) -> float:
    """Return the chance of at least ``number`` failures if ``expected`` are to be expected (Poisson)."""
    term = below = exp(-expected)
    for k in range(1, number):
        term *= expected / k
        below += term
    return 1.0 - below
