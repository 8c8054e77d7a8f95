"""Culprit: the member that the others were lost to, if only survivors are seen to fail.

A collective program cannot continue without a member, so its other members end as well, and within the second in which
Kubernetes reports times. The plan states how survivors end: by exit code (``survivor_exits``; JAX's abort) and by their
last words (``survivor_text``). The last words of a survivor go before its exit code: an abort with other last words is
one of the program's own.

Survivors may also know whom they lost. The coordinator's error, which a parked probe sees, and the survivors' last
words name the rank (``culprits``): the one that was alone at JAX's shutdown barrier, because its program ended before
those of the others, or the one whose heartbeats stopped. Else they quote its address (``_lost``). What the gang was
known to wait for goes before that (``known``).

If neither is known yet, a step waits for it: the report of the culprit's own end, which another kubelet sends, or the
coordinator's error. It waits ``WAIT`` seconds from when the daemon first saw a member fail, so clocks of nodes do not
matter; if nothing is known, longer by what the launcher in the culprit's pod needs to see its end
(``Failures.launcher``).
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

from msgspec.structs import replace

from muster.api.values.printable import small_number
from muster.state.facts.context import Context
from muster.state.facts.failure_cause import KILLED, RANK_FAILED, cause_of
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Cause

_ADDRESS: Final = r"[0-9A-Fa-f:.]{2,45}"
_QUOTES: Final = re.compile(
    rf"Connection closed by peer \[({_ADDRESS})\]:\d"
    rf"|(?:Read error|writev) \[({_ADDRESS})\]:\d{{1,5}}: (?:Connection reset by peer|Broken pipe)"
    rf"|Connection closed by remote peer ({_ADDRESS})<\d"
    rf"|Call to (?:recv from|send to) ({_ADDRESS})<\d{{1,5}}> failed ?: (?:Connection reset by peer|Broken pipe)"
)
"""Errors of gloo (gloo/transport/tcp/pair.cc, the same in PyTorch 1.13 and 2.15) and of NCCL (src/misc/socket.cc)."""


class Named(NamedTuple):
    """A rank that the others were lost to, and the sentence on it."""

    rank: int
    sentence: str


def _lost(context: Context) -> Named | None:
    """Return the rank that survivors lost, by the addresses that they quote; None if they name no single one.

    gloo and NCCL quote the address of the peer that closed a connection. The pod's IP makes a member of it. That member
    may be a survivor itself, which ended because of another one, so the quotes are followed to a member that did not
    end so: one that runs, or has ended with exit code 0.

    A wrong rank is worse than none. So no member is named unless all survivors with a quote lead to the same one. An
    address that several members share names none (the network of a node), nor does one of loopback. A refused
    connection shows only that nobody listens, and a broken link of InfiniBand may have either end: neither is read.
    """
    quoting = [pod for pod in _survivors(context) if _quoted(pod)]
    if not quoting or context.plan.piecewise:  # a member that runs again alone may get the address of another
        return None
    at = _members(context)
    ends = {_followed(context, pod, at) for pod in quoting}
    rank = ends.pop() if len(ends) == 1 else None
    if rank is None or (first := min((pod.rank for pod in quoting if _peer(pod, at) == rank), default=None)) is None:
        return None
    before = "its program ended with exit code 0, and " if context.tally.members[rank].succeeded else ""
    return Named(rank, f"{before}rank {first} lost its connection to it")


def _followed(context: Context, pod: Pod, at: Mapping[str, list[int]]) -> int | None:
    """Return the rank at the end of the quotes that begin with that survivor's; None if they do not end at one."""
    seen: set[int] = set()
    while (rank := _peer(pod, at)) is not None and rank not in seen:
        seen.add(rank)
        pod = context.tally.members[rank]
        if not pod.failed:
            return rank
    return None


def _peer(pod: Pod, at: Mapping[str, list[int]]) -> int | None:
    """Return the rank of the one other member that the pod's last words quote."""
    ranks = {rank for address in _quoted(pod) for rank in at.get(address, (None, None))}
    return ranks.pop() if len(ranks) == 1 and pod.rank not in ranks else None


def _members(context: Context) -> Mapping[str, list[int]]:
    at = defaultdict[str, list[int]](list)
    for rank, pod in context.tally.members.items():
        at[pod.ip].append(rank)
    return at


def _quoted(pod: Pod) -> frozenset[str]:
    return _addresses(pod.exit.message) | _addresses(pod.exit.last_line) if pod.exit is not None else frozenset()


@lru_cache(maxsize=16_384)  # a step that waits is taken again as pods end
def _addresses(words: str) -> frozenset[str]:
    found = {address.lower() for groups in _QUOTES.findall(words) for address in groups if address}
    return frozenset(address for address in found if not address.startswith("127.") and address != "::1")


WAIT: Final = 3.0
READ: Final = 64
"""Survivors whose last words are searched for a name: they have it from the same coordinator."""
REASON: Final = RANK_FAILED


def is_survivor(plan: Plan, pod: Pod) -> bool:
    """Return True if the pod ended as members do that lost another member."""
    if pod.exit is None:
        return False
    code, words = pod.exit.own_code, pod.exit.message
    if plan.failures.survivor_text and words and code not in KILLED:
        return _matches(plan.failures.survivor_text, words)
    return code in plan.failures.survivor_exits


def named(context: Context) -> Named | None:
    """Return the rank that the coordinator or survivors name."""
    rules = context.plan.failures.culprits
    for text in _texts(context) if rules else ():
        for rule in rules:
            found = re.search(rule.pattern, text)
            if found and 0 <= (rank := small_number(found[1])) < context.plan.size:
                return Named(rank, rule.sentence)
    return _lost(context)


def cause(context: Context) -> Cause | None:
    """Return the failure of the rank that is named."""
    found = named(context)
    pod = context.tally.members.get(found.rank) if found else None
    if found is None or pod is None:
        return None
    own = cause_of(context, pod)
    if pod.failed and not is_survivor(context.plan, pod):
        return own
    return replace(own, message=found.sentence, last_line="", reason=own.reason if pod.failed else REASON)


def awaited_until(context: Context, found: Cause) -> float | None:
    """Return until when a better cause than that one may come; None if it is as good as any."""
    tally = context.tally
    if not tally.working or (found.disruption and not found.evidence):
        return None
    pod = tally.failed.get(found.uid)
    if pod is not None and not found.evidence and (not is_survivor(context.plan, pod) or named(context)):
        return None
    if pod is None and found.reason != REASON and not found.evidence:
        return None
    seen, wait = context.view.failed_at, WAIT + (0.0 if found.evidence else context.plan.failures.launcher)
    return seen + wait if seen is not None and context.now < seen + wait else None


def _texts(context: Context) -> Iterator[str]:
    if context.probe is not None:
        yield from (error.text for error in context.probe.answer.errors)
    yield from (pod.exit.message for pod in _survivors(context) if pod.exit is not None)


def _survivors(context: Context) -> Iterator[Pod]:
    return (pod for pod in islice(context.tally.failed.values(), READ) if is_survivor(context.plan, pod))


@lru_cache(maxsize=16_384)  # a step that waits is taken again as pods end; at most 9 MB
def _matches(pattern: str, words: str) -> bool:
    return re.search(pattern, words) is not None
