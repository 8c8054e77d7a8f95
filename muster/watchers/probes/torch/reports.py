"""Reads from the TCPStore what the processes report: each key is checked until it is there, and then got.

A check and a get are all that ``Store`` sends. A key that is there stays there, so a look of a gang that reports is one
GET for each process.
"""

from muster.api.progress import KEYS, MAX_VALUE
from muster.state.view.progress import StepReport
from muster.state.view.turns import A_TURN, Turns
from muster.watchers.probes.bounded.turns import in_turns
from muster.watchers.probes.reports import ReportReader, decoded
from muster.watchers.probes.torch.store import Store

MOST = 4096
"""Members of the largest gang that is asked for reports, and processes whose reports are read: a query each."""


class StoredReports:
    """The reports in one store, over one connection to it."""

    def __init__(self, expected: int) -> None:
        self._members = range(expected if expected <= MOST else 0)
        self._reader = ReportReader(expected, expected)
        self._there: list[str] = []
        self._absent: set[str] = set()
        self.renew()

    def due(self, now: float) -> bool:
        """Whether to ask now (monotonic seconds)."""
        return bool(self._members) and self._reader.due(now)

    def took(self, began: float, now: float) -> None:
        """A look that began then is over, with an answer or without."""
        self._reader.took(began, now)

    def read_now(self) -> None:
        """Ask with the next look."""
        self._reader.read_now()

    def renew(self) -> None:
        """The connection is another one, maybe to another life of the store: nothing is known to be there."""
        self._there, self._absent = [], {f"{_FOLDER}{member}" for member in self._members}

    async def read(self, store: Store) -> tuple[StepReport, ...]:
        """The reports, by rank. Raises ``NoStore``, OSError and IncompleteReadError."""
        await self._look_for_absent(store)
        if await in_turns(self._look_for_others(values := await store.values(self._there, MAX_VALUE))):
            await self._look_for_absent(store)
            values = await store.values(self._there, MAX_VALUE)
        keys = (key.removeprefix("/") for key in self._there)
        return await in_turns(self._reader.read_in_turns(dict(zip(keys, values, strict=True))))

    async def _look_for_absent(self, store: Store) -> None:
        asked = sorted(self._absent)
        there = [key for key, found in zip(asked, await store.has(asked), strict=True) if found]
        self._there += there
        self._absent.difference_update(there)

    def _look_for_others(self, values: list[bytes]) -> Turns[bool]:
        """Note the keys of further processes that the first of a pod names; True where there are new ones."""
        known, before = {*self._there, *self._absent}, len(self._absent)
        for count, (key, value) in enumerate(zip(self._there, values, strict=True), 1):
            if count % A_TURN == 0:
                yield
            if "." not in key and (said := decoded(value)) is not None:
                further = {f"{key}.{number}" for number in range(1, said.processes)} - known
                if len(self._there) + len(self._absent) + len(further) <= MOST:
                    self._absent |= further
        return len(self._absent) > before


_FOLDER = f"/{KEYS}/"
"""The store puts a slash before the keys of its clients (pytorch torch/csrc/distributed/c10d/TCPStore.cpp)."""
