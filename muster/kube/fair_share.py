"""Shares a limited number of concurrent requests between groups, and within a group between flows.

A group is a namespace, a flow one object of it. A request of one namespace may be slow without end (an admission
webhook that hangs), so no group may hold every slot. Two rules, for every slot that is handed out:

- A group has at most a third as many slots as are free: alone a quarter of all slots. Each further group that hangs
  takes a quarter of what was left.
- A flow has at most three times as many slots as its group may still take: alone a fifth of all slots.

(Buffers of network switches are shared by such a rule: Choudhury and Hahne, "Dynamic queue length thresholds".) Among
waiting requests, groups take turns, and so do the flows of a group; the requests of a flow keep their order. So a small
object never waits for all requests of a large one.
"""

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")

ALONE = 4
"""The number of parts of all slots: a group alone gets one part."""
GROUP_PART = 1 / (ALONE - 1)
"""The share of a group, as a part of the free slots."""
FLOW_PART = 3
"""The share of a flow, in multiples of the slots that its group may still take."""


@dataclass(slots=True, eq=False)
class _Flow:
    """A flow; ``busy`` counts its slots."""

    busy: int = 0
    waiting: deque[asyncio.Future[bool]] = field(default_factory=deque)


@dataclass(slots=True, eq=False)
class _Group:
    """A group; ``busy`` counts its slots. ``turns`` holds the waiting flows, the next one first."""

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
        """Wait until the flow gets a slot. Return True, or False if its wait is withdrawn."""
        share = self._share
        group = share.groups.setdefault(self._group, _Group())
        flow = group.flows.setdefault(self._flow, _Flow())
        if not flow.waiting and share.may_take(group, flow):
            share.take(group, flow)
            return True
        granted: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        flow.waiting.append(granted)
        group.turns.setdefault(self._flow, flow)
        share.turns.setdefault(self._group, group)
        try:
            return await granted
        except asyncio.CancelledError:
            if not granted.cancelled():  # answered and cancelled at once
                if granted.result():
                    self.release()
            elif granted in flow.waiting:
                flow.waiting.remove(granted)
                share.drop(self._group, self._flow)
            raise

    def withdraw(self) -> None:
        """Answer every wait of the flow with False, because it has nothing left to do."""
        group = self._share.groups.get(self._group)
        flow = group.flows.get(self._flow) if group else None
        if flow is None:
            return
        while flow.waiting:
            granted = flow.waiting.popleft()
            if not granted.done():
                granted.set_result(False)
        self._share.drop(self._group, self._flow)

    def release(self) -> None:
        """Give one slot back."""
        share = self._share
        group = share.groups[self._group]
        group.flows[self._flow].busy -= 1
        group.busy -= 1
        share.busy -= 1
        share.drop(self._group, self._flow)
        while share.turns and share.busy < share.total and share.grant_next():
            pass

    @property
    def contended(self) -> bool:
        """True if another flow waits for a slot."""
        turns = self._share.turns
        group = turns.get(self._group)
        if group is None or len(turns) > 1:
            return bool(turns)
        return len(group.turns) > 1 or self._flow not in group.turns

    async def __aenter__(self) -> None:
        await self.acquire()

    async def __aexit__(self, *_: object) -> None:
        self.release()


class FairShare:
    """The share of ``total`` slots. Between two calls no waiting flow is entitled to a slot."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.busy = 0
        self.groups: dict[str, _Group] = {}
        """The groups that have slots or wait for some."""
        self.turns: dict[str, _Group] = {}
        """The waiting groups, the next one first."""

    def of(self, group: str, flow: str) -> Slots:
        """Return the slots of that flow."""
        return Slots(self, group, flow)

    def may_take(self, group: _Group, flow: _Flow) -> bool:
        """Return True if that flow of the group is entitled to another slot."""
        left = (self.total - self.busy) * GROUP_PART - group.busy
        return left > 0 and flow.busy < FLOW_PART * left

    def take(self, group: _Group, flow: _Flow) -> None:
        """Give that flow of the group a slot."""
        flow.busy += 1
        group.busy += 1
        self.busy += 1

    def grant_next(self) -> bool:
        """Give out one slot. Return False if no waiting flow is entitled to one.

        A flow that is passed over has slots already, so their number is bounded by ``total`` and not by the waits.
        """
        for group, g in self.turns.items():
            for flow, f in g.turns.items():
                if not self.may_take(g, f):
                    continue
                granted = f.waiting.popleft()
                if not granted.done():
                    self.take(g, f)
                    granted.set_result(True)
                _to_the_end(self.turns, group)
                _to_the_end(g.turns, flow)
                self.drop(group, flow)
                return True
        return False

    def drop(self, group: str, flow: str) -> None:
        """Forget a flow that neither waits nor has a slot, and then its group."""
        g = self.groups[group]
        f = g.flows[flow]
        if f.waiting:
            return
        g.turns.pop(flow, None)
        if not g.turns:
            self.turns.pop(group, None)
        if not f.busy:
            del g.flows[flow]
            if not g.flows:
                del self.groups[group]


def _to_the_end(turns: dict[str, T], key: str) -> None:
    turns[key] = turns.pop(key)
