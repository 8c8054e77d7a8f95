"""Reads from the TCPStore which collectives the processes have entered, in the form of ``muster.api.collectives``.

The values come from programs: one without the right form is left out, and the others count.
"""

import re
from math import inf, isfinite
from typing import Annotated

import msgspec

from muster.api.collectives import KEYS, MAX_GROUPS, MAX_PROCESSES, MAX_RANKS, MAX_SHARES, MAX_VALUE, beat_interval
from muster.api.places import MAX_NAME, WORK, located
from muster.api.values.printable import bare
from muster.api.values.rank_ranges import check_ranges
from muster.state.view.recorder.arrivals import CollectiveReport, GroupCount
from muster.state.view.recorder.arrivals import Share as SeenShare
from muster.state.view.recorder.collectives import LONGEST, MOST_STATES
from muster.state.view.stage import Doing
from muster.watchers.probes.bounded.connection import in_turns, read_json
from muster.watchers.probes.reports import IDLE, Paced
from muster.watchers.probes.torch.store import Store

MOST = 4096
"""Pods of the largest gang that is asked, and most processes whose values are read."""
SLICE = 32
"""Values that are decoded before other tasks may run: 2.5 ms of CPU, each with all its groups."""
_SUM = re.compile(r"#[0-9a-f]{8}\Z")
_LARGEST = (1 << 53) - 1
_Number = Annotated[int, msgspec.Meta(ge=0, le=_LARGEST)]
_Seconds = Annotated[float, msgspec.Meta(ge=0)]
_Ranks = Annotated[str, msgspec.Meta(max_length=MAX_RANKS)]


class Group(msgspec.Struct, array_like=True):
    """The state of the process in one process group."""

    name: str
    described: str
    backend: str
    size: Annotated[int, msgspec.Meta(ge=1, le=_LARGEST)]
    ranks: _Ranks
    count: Annotated[int, msgspec.Meta(ge=-1, le=_LARGEST)]
    operation: str
    waits: Annotated[int, msgspec.Meta(ge=0, le=1)]


class Share(msgspec.Struct, array_like=True):
    """The number of times that the process was seen in the collectives of one process group."""

    name: str
    described: str
    backend: str
    size: Annotated[int, msgspec.Meta(ge=1, le=_LARGEST)]
    ranks: _Ranks
    entered: _Number
    samples: _Number
    inside: _Number
    elsewhere: _Number


class Value(msgspec.Struct):
    """The value that one process has written."""

    rank: Annotated[int, msgspec.Meta(ge=0, le=9_999_999)]
    beat: _Number
    moves: _Number
    life: _Number = 1
    longest: _Seconds = 0.0
    still: _Seconds = 0.0
    processes: Annotated[int, msgspec.Meta(ge=1, le=MAX_PROCESSES)] = 1
    groups: Annotated[list[Group], msgspec.Meta(max_length=MAX_GROUPS)] | None = None
    shares: Annotated[list[Share], msgspec.Meta(max_length=MAX_SHARES)] = []
    function: str = msgspec.field(name="in", default="")
    file: str = ""
    line: Annotated[int, msgspec.Meta(ge=0, le=99_999_999)] = 0
    worked: float = -1.0
    how: str = ""
    alone: Annotated[int, msgspec.Meta(ge=0, le=1)] = 0
    meets: Annotated[int, msgspec.Meta(ge=0, le=1)] = 0
    pause: _Seconds = 0.0


_decoder = msgspec.json.Decoder(Value)


class StoredKeys:
    """The keys under which processes publish in one store, over one connection to it."""

    def __init__(self, folder: str, expected: int) -> None:
        """Note the keys, before which the store puts a slash (torch/csrc/distributed/c10d/TCPStore.cpp)."""
        self.members = [f"/{folder}/{member}" for member in range(expected if expected <= MOST else 0)]
        self.renew()

    def renew(self) -> None:
        """Forget which keys exist: the connection is a new one, perhaps to another life of the store."""
        self.there: list[str] = []
        self._absent = set(self.members)

    async def values(self, store: Store, most: int) -> dict[str, bytes]:
        """Return the values of the keys that exist by now, each of at most ``most`` bytes."""
        asked = sorted(self._absent)
        there = [key for key, found in zip(asked, await store.has(asked), strict=True) if found]
        self.there += there
        self._absent.difference_update(there)
        return dict(zip(self.there, await store.values(self.there, most), strict=True))

    def expect(self, key: str, processes: int) -> bool:
        """Look for the further processes of a pod from the next look on. Return True if there are any."""
        if "." in key or processes < 2:
            return False
        further = {f"{key}.{number}" for number in range(1, processes)}.difference(self.there, self._absent)
        if not further or len(self.there) + len(self._absent) + len(further) > MOST:
            return False
        self._absent |= further
        return True


class StoredCollectives(Paced[tuple[CollectiveReport | None, int]]):
    """The collectives that processes publish."""

    def __init__(self, expected: int) -> None:
        super().__init__(self._decoded)
        self.keys = StoredKeys(KEYS, expected)
        self._shared: dict[GroupCount, GroupCount] = {}

    @property
    def pause(self) -> float:
        """The seconds from the beginning of a look to the next: as many as processes let pass between two values."""
        return beat_interval(len(self.keys.there)) if self.keys.there else IDLE

    async def read(self, store: Store) -> tuple[CollectiveReport, ...]:
        """Return the published reports, by process. Raises ``Unreached``, OSError and IncompleteReadError."""
        values = await self.keys.values(store, MAX_VALUE)
        if len(self._shared) > MOST_STATES:
            self._shared = {}
        readings = await in_turns(self.readings_in_turns(values, SLICE))
        reports: dict[int, CollectiveReport] = {}
        for key, (report, processes) in zip(values, readings, strict=True):
            if report is not None:
                reports.setdefault(report.rank, report)
            self.keys.expect(key, processes)
        return tuple(reports[rank] for rank in sorted(reports))

    def _decoded(self, key: str, value: bytes) -> tuple[CollectiveReport | None, int]:
        """Return the report of a process; processes in the same state share one ``GroupCount``."""
        report, processes = decoded(key, value)
        if report is not None and report.groups is not None:
            groups = tuple(self._shared.setdefault(each, each) for each in report.groups)
            report = report._replace(groups=groups)
        return report, processes


def decoded(key: str, value: bytes) -> tuple[CollectiveReport | None, int]:
    """Return the report of a process, or None if it has not the right form, and the number of processes in its pod."""
    sent = read_json(_decoder, value, MAX_VALUE)
    if sent is None or not all(map(isfinite, (sent.longest, sent.still, sent.worked, sent.pause))):
        return None, 1
    if not all(_SUM.match(each.ranks) or check_ranges(each.ranks) for each in (*(sent.groups or ()), *sent.shares)):
        return None, 1
    groups = None if sent.groups is None else tuple(map(_group, sent.groups))
    shares = tuple(map(_share, sent.shares))
    member = int(key.rpartition("/")[2].partition(".")[0])
    longest, still = min(sent.longest, LONGEST), min(sent.still, LONGEST)
    counts = sent.rank, sent.life, sent.beat, sent.moves, longest, still, groups, shares
    return CollectiveReport(member, *counts, doing=_doing(sent), pause=min(sent.pause, LONGEST)), sent.processes


def _doing(sent: Value) -> Doing:
    place = located(bare(sent.function, MAX_NAME), bare(sent.file, MAX_NAME), sent.line)
    quiet = sent.worked if sent.worked >= 0 else inf
    how = sent.how if sent.how in WORK else ""
    return Doing(place if sent.function else "", quiet, how, bool(sent.alone), bool(sent.meets))


def _group(each: Group) -> GroupCount:
    name, described, backend = (bare(text, 60) for text in (each.name, each.described, each.backend))
    operation = bare(each.operation, 60)
    return GroupCount(name, described, backend, each.size, each.ranks, each.count, operation, bool(each.waits))


def _share(each: Share) -> SeenShare:
    name, described, backend = (bare(text, 60) for text in (each.name, each.described, each.backend))
    return SeenShare(
        name, described, backend, each.size, each.ranks, each.entered, each.samples, each.inside, each.elsewhere
    )
