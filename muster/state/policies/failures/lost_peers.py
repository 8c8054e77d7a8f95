"""Lost peers: the member at whose address the connections of survivors ended.

gloo and NCCL quote the address of the peer that closed a connection. The pod's IP makes a member of it. That member may
be a survivor itself, which ended because of another one, so the quotes are followed to a member that did not end so:
one that runs, or has ended with exit code 0.

A wrong rank is worse than none. So no member is named unless all survivors with a quote lead to the same one. An
address that several members share names none (the network of a node), nor does one of loopback. A refused connection
shows only that nobody listens, and a broken link of InfiniBand may have either end: neither is read.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from muster.state.facts.context import Context
from muster.state.vocabulary.pod import Pod

_ADDRESS: Final = r"[0-9A-Fa-f:.]{2,45}"
_QUOTES: Final = re.compile(
    rf"Connection closed by peer \[({_ADDRESS})\]:\d"
    rf"|(?:Read error|writev) \[({_ADDRESS})\]:\d{{1,5}}: (?:Connection reset by peer|Broken pipe)"
    rf"|Connection closed by remote peer ({_ADDRESS})<\d"
    rf"|Call to (?:recv from|send to) ({_ADDRESS})<\d{{1,5}}> failed ?: (?:Connection reset by peer|Broken pipe)"
)
"""Errors of gloo (gloo/transport/tcp/pair.cc, the same in PyTorch 1.13 and 2.15) and of NCCL (src/misc/socket.cc)."""


def lost(context: Context, survivors: Iterable[Pod]) -> tuple[int, str] | None:
    """Return the rank that survivors lost, and a sentence on it; None if they name no single one."""
    quoting = [pod for pod in survivors if _quoted(pod)]
    if not quoting or context.plan.piecewise:  # a member that runs again alone may get the address of another
        return None
    at = _members(context)
    ends = {_followed(context, pod, at) for pod in quoting}
    rank = ends.pop() if len(ends) == 1 else None
    if rank is None or (first := min((pod.rank for pod in quoting if _peer(pod, at) == rank), default=None)) is None:
        return None
    before = "its program ended with exit code 0, and " if context.tally.members[rank].succeeded else ""
    return rank, f"{before}rank {first} lost its connection to it"


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
