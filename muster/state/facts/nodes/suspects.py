"""Suspect nodes: a proposal to a person, with proof. Nothing is ever done because of it.

**The rule.** A node is suspect if, since the beginning of the period before the present one (12 to 24 hours ago),

1. failures that may be the node's (``evidence.counted``) hit at least ``RUNS`` runs;
2. they are of at least two namespaces, or Kubernetes reports each of them of the node itself;
3. they began at ``MOMENTS`` moments at least, ``APART`` seconds from each other: what happened once is an incident;
4. the last one is less than ``RECENT`` seconds old, so that a node that was fixed ceases to be suspect;
5. they are ``OFTEN`` times as many as were to be expected, and so many that the chance to see as many on any node is
   below ``CHANCE``.

For 5 each namespace is compared with itself. The lives that its runs spent on the node, times the share of its lives
that failed elsewhere, are the failures to be expected here. A namespace with little work elsewhere is taken to
be like all others, with the weight of ``LIKE_OTHERS`` lives. So a node that bears more work, or work of namespaces
whose programs fail everywhere, has more failures to be expected, and is not suspect because of them. The rule cannot
distinguish a sick node from one on which several namespaces try out programs, while those that work run elsewhere.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import exp
from typing import Final

from muster.state.facts.nodes.evidence import counted
from muster.state.facts.nodes.history import Failure, History

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
