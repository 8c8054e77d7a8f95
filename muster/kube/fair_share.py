"""Shares a limited number of concurrent requests between groups, and within a group between flows.

A group is a namespace, a flow one object of it. A request of one namespace may be slow without end (an admission
webhook that hangs), so no group may hold every slot. Two rules, for every slot that is handed out:

- A group has at most a third as many slots as are free: alone a quarter of all slots. Each further group that hangs
  takes a quarter of what was left.
- A flow has at most three times as many slots as its group may still take: alone a fifth of all slots.

(Buffers of network switches are shared by such a rule: Choudhury and Hahne, "Dynamic queue length thresholds".)
Where requests wait, groups take turns, and so do the flows of a group; the requests of a flow keep their order. So a
small object never waits for all requests of a large one.
"""

import asyncio
from collections import deque
from dataclasses import dataclass, field
from types import TracebackType
from typing import TypeVar

T = TypeVar("T")

ALONE = 4
"""A group alone gets one of so many parts of all slots."""
GROUP_PART = 1 / (ALONE - 1)
"""A group's slots, in parts of the free ones."""
FLOW_PART = 3
"""A flow's slots, in parts of those that its group may still take."""


@dataclass(slots=True, eq=False)
class _Flow:
    """``busy`` counts its slots."""

    busy: int = 0
    waiting: deque[asyncio.Future[bool]] = field(default_factory=deque)


@dataclass(slots=True, eq=False)
class _Group:
    """``busy`` counts its slots. ``turns`` holds the flows that wait, the one whose turn is next first."""

    busy: int = 0
    flows: dict[str, _Flow] = field(default_factory=dict)
    turns: dict[str, _Flow] = field(default_factory=dict)


class Slots:
    """The slots of one flow. As a context manager it holds one slot."""

    def __init__(self, share: "FairShare", group: str, flow: str) -> None:
        self._share = share
        self._group = group
        self._flow = flow

    async def acquire(self) -> bool:
        """Wait for a slot. False if the wait was withdrawn."""
        return await self._share.acquire(self._group, self._flow)

    def withdraw(self) -> None:
        """Let the flow wait for no slot any more: it has nothing left to do."""
        self._share.withdraw(self._group, self._flow)

    def release(self) -> None:
        """Give one slot back."""
        self._share.release(self._group, self._flow)

    @property
    def contended(self) -> bool:
        """Whether another flow waits for a slot."""
        return self._share.others_wait(self._group, self._flow)

    async def __aenter__(self) -> None:
        await self.acquire()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()


class FairShare:
    """``total`` slots. Between two calls nothing that waits may have a slot."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.busy = 0
        self._groups: dict[str, _Group] = {}
        """The groups that have slots or wait for some."""
        self._turns: dict[str, _Group] = {}
        """The groups that wait, the one whose turn is next first."""

    def of(self, group: str, flow: str) -> Slots:
        """Return the slots of that flow."""
        return Slots(self, group, flow)

    @property
    def idle(self) -> bool:
        """Nothing has a slot or waits for one."""
        return not self._groups

    async def acquire(self, group: str, flow: str) -> bool:
        """Wait until that flow gets a slot (True), or its wait is withdrawn (False)."""
        g = self._groups.setdefault(group, _Group())
        f = g.flows.setdefault(flow, _Flow())
        if not f.waiting and self._may_take(g, f):
            self._take(g, f)
            return True
        granted: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        f.waiting.append(granted)
        g.turns.setdefault(flow, f)
        self._turns.setdefault(group, g)
        try:
            return await granted
        except asyncio.CancelledError:
            if not granted.cancelled():  # answered and cancelled at once
                if granted.result():
                    self.release(group, flow)
            elif granted in f.waiting:
                f.waiting.remove(granted)
                self._drop(group, flow)
            raise

    def withdraw(self, group: str, flow: str) -> None:
        """Answer everything that waits for a slot of that flow with False."""
        g = self._groups.get(group)
        f = g.flows.get(flow) if g else None
        if f is None:
            return
        while f.waiting:
            granted = f.waiting.popleft()
            if not granted.done():
                granted.set_result(False)
        self._drop(group, flow)

    def others_wait(self, group: str, flow: str) -> bool:
        """Return whether any other flow waits for a slot."""
        g = self._turns.get(group)
        if g is None or len(self._turns) > 1:
            return bool(self._turns)
        return len(g.turns) > 1 or flow not in g.turns

    def release(self, group: str, flow: str) -> None:
        """Give one slot of that flow back."""
        g = self._groups[group]
        g.flows[flow].busy -= 1
        g.busy -= 1
        self.busy -= 1
        self._drop(group, flow)
        while self._turns and self.busy < self.total and self._grant_next():
            pass

    def _may_take(self, group: _Group, flow: _Flow) -> bool:
        left = (self.total - self.busy) * GROUP_PART - group.busy
        return left > 0 and flow.busy < FLOW_PART * left

    def _take(self, group: _Group, flow: _Flow) -> None:
        flow.busy += 1
        group.busy += 1
        self.busy += 1

    def _grant_next(self) -> bool:
        """Hand out one slot; False if nothing that waits may have one.

        What is passed over has slots already, so its number is bounded by ``total`` and not by what waits.
        """
        for group, g in self._turns.items():
            for flow, f in g.turns.items():
                if not self._may_take(g, f):
                    continue
                granted = f.waiting.popleft()
                if not granted.done():
                    self._take(g, f)
                    granted.set_result(True)
                _to_the_end(self._turns, group)
                _to_the_end(g.turns, flow)
                self._drop(group, flow)
                return True
        return False

    def _drop(self, group: str, flow: str) -> None:
        """Forget a flow that does not wait, and has no slot; and so its group."""
        g = self._groups[group]
        f = g.flows[flow]
        if f.waiting:
            return
        g.turns.pop(flow, None)
        if not g.turns:
            self._turns.pop(group, None)
        if not f.busy:
            del g.flows[flow]
            if not g.flows:
                del self._groups[group]


def _to_the_end(turns: dict[str, T], key: str) -> None:
    turns[key] = turns.pop(key)
