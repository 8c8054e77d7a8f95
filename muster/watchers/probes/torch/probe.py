"""The prober of the TCPStore at ``MASTER_ADDR``.

Every process that creates the store adds one to the key ``init/``, and rank 0 waits until all have (pytorch
torch/csrc/distributed/c10d/TCPStore.cpp, waitForWorkers). That counts the processes and names none. They are named if
each rank leaves a key of its own while it waits for the others: gloo's addresses, and the agents of torchrun. If the
names do not explain the count (NCCL connects later), the answer has the count alone.

The reports of the processes are read from the store, too: each key is checked until it exists, and then read. A key
that exists stays, so a look of a gang that reports is one GET for each process.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from muster.api.progress import KEYS, MAX_VALUE
from muster.api.values.printable import printable
from muster.kube.cancellation import cancel_and_wait
from muster.state.view.progress import StepReport
from muster.state.view.roll import CoordinatorState, RankState, RollAnswer
from muster.watchers.probes.bounded.connection import Address, Unreached, in_turns, loop_time
from muster.watchers.probes.reports import ReportReader
from muster.watchers.probes.torch.collectives import StoredCollectives, StoredKeys
from muster.watchers.probes.torch.store import Store, open_store, translated


class StoredReports(ReportReader):
    """The progress reports that processes publish: a query for each."""

    def __init__(self, expected: int) -> None:
        super().__init__(expected, expected)
        self.keys = StoredKeys(KEYS, expected)

    async def read(self, store: Store) -> tuple[StepReport, ...]:
        """Return the reports, by rank. Raises ``Unreached``, OSError and IncompleteReadError."""
        reports = await in_turns(self.read_in_turns(await self.keys.values(store, MAX_VALUE)))
        expected = [self.keys.expect(key, processes) for key, (_, (_, processes)) in self._known.items()]
        if any(expected):
            reports = await in_turns(self.read_in_turns(await self.keys.values(store, MAX_VALUE)))
        return reports


COUNT_KEY = "init/"
RANK_KEYS = (
    "/default_pg/0//cpu//0/{}",  # gloo, from PyTorch 2.2 on
    "/default_pg/0//cpu//0/rank_{}",  # the same, 2.1
    "/default_pg/0/0/rank_{}",  # the same, 1.13 and 2.0
    "/none/torchelastic/role_info/{}",  # torchrun with static rendezvous, 2.15
    "/none/torchelastic/role_info{}",  # the same, 1.13
)
"""The keys that name rank r; measured with 1.13, 2.0 to 2.3 and 2.15."""
MOST_NAMED = 4096
"""Ranks of the largest gang that is asked by name: a key each, and once a second while it assembles."""
MAX_TEXT = 1000


_ABANDON = 30.0
"""Seconds after which a connection without an answer is given up: its other end may have disappeared silently."""


T = TypeVar("T")


class TorchProbe:
    """The probe of one TCPStore over one connection; it changes nothing in the store."""

    def __init__(self, address: str, *, clock: Callable[[], float], expected: int, deadline: float = 2.0) -> None:
        """``expected`` is the number of processes that create the store: pods, whatever torchrun starts in them."""
        self._address = Address.parse(address)
        self._clock = clock
        self._expected = expected
        self._deadline = deadline
        self._keys: tuple[str, ...] = RANK_KEYS
        self._reports = StoredReports(expected)
        self._collectives = StoredCollectives(expected)
        self._store: Store | None = None
        self._asking: asyncio.Task[RollAnswer] | None = None
        self._accepted = False
        """True once the port has accepted the connection over which the store is asked now."""
        self._since = 0.0

    async def snapshot(self) -> RollAnswer:
        """Ask the store once. Raises nothing, whatever the network or the store does.

        A query without an answer stays asked, and the next snapshot waits for the same one: a store that is slow or
        stopped gets no second connection and no second query.
        """
        if self._asking is None:
            self._since = loop_time()
            self._asking = asyncio.create_task(self._ask(), name=f"ask the store at {self._address.host}")
        await asyncio.wait({self._asking}, timeout=self._deadline)
        if not self._asking.done():
            return await self._silent()
        asked, self._asking = self._asking, None
        try:
            return asked.result()
        except Unreached as error:
            await self.close()
            return self._answer(error.port.state, printable(error.port.detail, MAX_TEXT))

    def read_now(self) -> None:
        """Read the reports of the ranks with the next snapshot, whatever the pace is."""
        self._reports.read_now()

    async def close(self) -> None:
        """End the open query, and the connection."""
        asking, self._asking = self._asking, None
        await cancel_and_wait(asking)
        store, self._store = self._store, None
        if store is not None:
            store.close()

    async def _silent(self) -> RollAnswer:
        if self._accepted:
            what = "the store" if self._store is not None else "its port accepts connections but"
            answer = self._answer(CoordinatorState.SILENT, f"{what} sends no answer within {self._deadline:g} s")
        else:
            answer = self._answer(CoordinatorState.TIMEOUT, f"no connection within {self._deadline:g} s")
        if loop_time() - self._since > _ABANDON:
            await self.close()
        return answer

    async def _ask(self) -> RollAnswer:
        if self._store is not None:
            try:
                with translated():
                    return await self._roll(self._store)
            except Unreached:  # the store closed the connection: ask on a new one
                self._store.close()
        self._store, self._accepted = None, False
        self._store = await open_store(self._address, self._note_accepted)
        self._reports.keys.renew()
        self._collectives.keys.renew()
        with translated():
            return await self._roll(self._store)

    def _note_accepted(self) -> None:
        self._accepted = True

    async def _roll(self, store: Store) -> RollAnswer:
        count, size = await store.number(COUNT_KEY), self._expected
        states: tuple[RankState, ...] = (RankState.ARRIVED,)  # the store is a part of rank 0
        partial, joined = "", count
        if count is None and await store.size():
            partial = "the store at MASTER_ADDR does not count its processes"
        elif count is not None and count >= size:
            states, joined = (RankState.CONNECTED,) * size, None
        else:
            named = await self._named(store) | {0}
            if len(named) >= (count or 1):
                states = tuple(RankState.ARRIVED if rank in named else RankState.MISSING for rank in range(size))
                joined = None
            else:
                partial = "the store at MASTER_ADDR counts its processes and does not name them"
        detail = f"{min(count or 1, size)}/{size} processes have joined"
        joint = RankState.CONNECTED in states
        reports = await self._stored(store, self._reports, self._reports.read) if joint else None
        kept = joint and self._store is not None
        collectives = await self._stored(store, self._collectives, self._collectives.read) if kept else None
        return replace(
            self._answer(CoordinatorState.SERVING, detail),
            states=states,
            partial=partial,
            joined=joined,
            protocol=str(store.dialect),
            reports=reports,
            collectives=collectives,
        )

    async def _stored(
        self,
        store: Store,
        values: StoredReports | StoredCollectives,
        read: Callable[[Store], Awaitable[tuple[T, ...]]],
    ) -> tuple[T, ...] | None:
        """Return the values that the processes publish, if it is time to ask for them."""
        began = loop_time()
        if not values.keys.members or not values.due(began):
            return None
        try:
            with translated():
                return await read(store)
        except Unreached:  # the roll is known in any case; a half-read connection is of no use
            store.close()
            self._store = None
            return None
        finally:
            values.took(began, loop_time())

    async def _named(self, store: Store) -> set[int]:
        """Return the ranks whose own keys exist."""
        ranks = range(1, self._expected) if self._expected <= MOST_NAMED else range(0)
        for pattern in self._keys:
            there = await store.has([pattern.format(rank) for rank in ranks])
            named = {rank for rank, found in zip(ranks, there, strict=True) if found}
            if named:
                self._keys = (pattern,)
                return named
        return set()

    def _answer(self, state: CoordinatorState, detail: str) -> RollAnswer:
        return RollAnswer(at=self._clock(), coordinator=state, latency=loop_time() - self._since, detail=detail)
