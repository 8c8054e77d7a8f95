"""What processes publish of their collectives, as a look has read it. All of it are claims of programs."""

from typing import NamedTuple

import msgspec

from muster.state.view.at_work import Doing


class GroupCount(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """Where one process stands in one process group. Processes with the same state may share one object."""

    name: str
    described: str
    backend: str
    size: int
    ranks: str
    """As ``0-3,8``; a check sum of it, after ``#``, where it is long."""
    entered: int
    """Collectives entered; -1 where that is not known."""
    operation: str
    waits: bool
    """The last one is not over."""
    asked: bool = False
    """NCCL says so (``state.view.recorder.ras``): ``waits`` follows from what others lack."""

    @property
    def of(self) -> tuple[object, ...]:
        """The group; several may have one name."""
        return self.name, self.backend, self.size, self.ranks

    @property
    def words(self) -> str:
        """``all_reduce #6 (default_pg)``."""
        return f"{self.operation} #{self.entered} ({group_words(self.name, self.described)})"


class Share(NamedTuple):
    """At how many moments one process was in the collectives of one group (``state.view.recorder.arrivals``)."""

    name: str
    described: str
    backend: str
    size: int
    ranks: str
    entered: int
    samples: int
    inside: int
    """Samples in which it was in a collective of this group."""
    elsewhere: int
    """Samples in which it was not, and was in one of another group."""

    @property
    def group(self) -> str:
        """The group, by its description where it has one."""
        return group_words(self.name, self.described)


class CollectiveReport(NamedTuple):
    """What one process has published last. It is a claim of the program."""

    member: int
    """The rank of its pod."""
    rank: int
    """Its own, among all processes."""
    life: int
    beat: int
    moves: int
    longest: float
    still: float
    """Seconds without a move; below 0 where that is not known yet."""
    groups: tuple[GroupCount, ...] | None = None
    """None until it has been still for a while, and where NCCL does not say enough."""
    shares: tuple[Share, ...] = ()
    """How long it is in collectives; of no group where other operations than those that wait for all are used."""
    device: int = -1
    """Of several GPUs of its pod, the number of its own, where that is how it is known; else -1."""
    doing: Doing = Doing()
    pause: float = 0.0
    """Seconds of a pause that the program has announced, and that is not over."""


def group_words(name: str, described: str) -> str:
    """A process group, by its description where it has one."""
    return described if described not in ("", "undefined") else f"process group {name}"
