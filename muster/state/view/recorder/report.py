"""Reports of processes about their collectives, as a look has read them. All of it are claims of programs."""

from typing import NamedTuple

import msgspec

from muster.state.view.at_work import Doing


class GroupCount(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """The state of one process in one process group. Processes with the same state may share one object."""

    name: str
    described: str
    backend: str
    size: int
    ranks: str
    """The ranks as ``0-3,8``; if that is long, its check sum after ``#``."""
    entered: int
    """Collectives entered; -1 if that is not known."""
    operation: str
    waits: bool
    """True if the last one is not over."""
    asked: bool = False
    """True if NCCL reports it (``state.view.recorder.ras``): ``waits`` follows from what others lack."""

    @property
    def of(self) -> tuple[object, ...]:
        """The group; several may have one name."""
        return self.name, self.backend, self.size, self.ranks

    @property
    def words(self) -> str:
        """``all_reduce #6 (default_pg)``."""
        return f"{self.operation} #{self.entered} ({group_words(self.name, self.described)})"


class Share(NamedTuple):
    """The number of moments at which a process was in a group's collectives (``state.view.recorder.arrivals``)."""

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
    """Samples in which it was in a collective of another group only."""


class CollectiveReport(NamedTuple):
    """The last report of one process. It is a claim of the program."""

    member: int
    """The rank of its pod."""
    rank: int
    """The number of the process among all processes."""
    life: int
    beat: int
    moves: int
    longest: float
    still: float
    """Seconds without a move; below 0 if that is not known yet."""
    groups: tuple[GroupCount, ...] | None = None
    """None until it has been still for a while, and if NCCL does not report enough."""
    shares: tuple[Share, ...] = ()
    """The time that it is in collectives; of no group that uses other operations than those that wait for all."""
    device: int = -1
    """The number of its own GPU, if its pod has several and it is known by that; else -1."""
    doing: Doing = Doing()
    pause: float = 0.0
    """Seconds of a pause that the program has announced, and that is not over."""


def group_words(name: str, described: str) -> str:
    """Return the name of a process group, by its description if it has one."""
    return described if described not in ("", "undefined") else f"process group {name}"
