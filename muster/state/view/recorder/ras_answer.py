"""One answer of NCCL's RAS: how many collectives each rank of each communicator has started.

RAS (reliability, availability, serviceability) is a thread of each process that uses NCCL 2.24 or later. Any one of
them answers for all. The counts are of collectives that were started, not of those that are over, and a sentence from
it claims no more (NVIDIA/nccl: docs/userguide/source/troubleshooting/ras.rst; src/plugin/profiler.cc,
ncclProfilerStartTaskEvents, counts them).
"""

from typing import Final, NamedTuple

OPERATIONS: Final = ("AllReduce", "AllGather", "ReduceScatter")
"""Operations that are over for no rank before all have started them. A root may leave a Broadcast or a Reduce alone."""


class RasRank(NamedTuple):
    """One rank of a communicator that has answered."""

    rank: int
    """The rank in that communicator."""
    host: str
    """The IP address at which its process meets the others; empty if it is not known."""
    pid: int
    device: int
    """Number of its GPU on its node, as NVML counts."""
    counts: tuple[int, ...]
    """Collectives that it has started, for each of ``OPERATIONS``, and as the last number of every kind."""


class Communicator(NamedTuple):
    """The ranks of one communicator."""

    identity: str
    hash: str
    """The name in NCCL's own log."""
    ranks: tuple[RasRank, ...]
    """The ranks that have answered, in their order."""
    clear: bool
    """True if each of its ranks has answered, and none begins, ends or has an error."""


class RasAnswer(NamedTuple):
    """All communicators of a gang; none if RAS no longer answers."""

    communicators: tuple[Communicator, ...] = ()
