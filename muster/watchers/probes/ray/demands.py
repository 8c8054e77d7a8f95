"""Resources that tasks and actors of a Ray job request and no node has: they wait forever while Ray's job runs.

``/api/cluster_status`` is the last report of Ray's own monitor, every 5 s: the resources that waiting tasks and actors
request, and those of each node (Ray 2.60, python/ray/autoscaler/_private/load_metrics.py; recorded in
tests/watchers/probes/ray/test_ray_demands.py). The dashboard answers in a few milliseconds.

Nothing is reported while Ray's autoscaler adds nodes, about requests inside a placement group (their resources exist
once the group has its place), and once the monitor has written nothing new for ``STALE`` seconds. An answer that does
not come in time, as on a busy machine, refutes nothing: until then the last sentence stays.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from muster.api.values.durations import count_of
from muster.api.values.printable import bare
from muster.state.view.turns import A_TURN, Turns
from muster.watchers.probes.bounded.connection import MOST_PARTS, in_turns, parts_of, read_json
from muster.watchers.probes.bounded.http import Asker

STATUS: Final = "/api/cluster_status"
PACE: Final = 10.0
"""Seconds between two looks."""
STALE: Final = 30.0
"""Seconds after which an unchanged report means that its monitor is gone."""
MOST_BYTES: Final = 1 << 20
NAMED: Final = 3
"""Most kinds of requests that are named."""
MOST_NAMES: Final = 8
"""Most resources of one request that are named."""
MOST_PAIRS: Final = 1 << 16
"""Most requested resources, each compared with each kind of node. With more of them nothing is reported."""
_GROUPED: Final = "_group_"
"""Part of the name of each resource of a placement group (ray: src/ray/common/bundle_spec.cc)."""
_BYTES: Final = frozenset({"memory", "object_store_memory"})
_ROUNDING: Final = 1e-4
"""The size of the steps in which Ray counts resources."""

Demand = tuple[dict[str, float], int]


class _Report(msgspec.Struct, rename="camel"):
    resource_demand: list[Demand] = []
    node_types: list[Demand] = []


class _Autoscaler(msgspec.Struct, rename="camel"):
    pending_nodes: list[Any] | None = None
    pending_launches: dict[str, Any] | None = None


class _Status(msgspec.Struct, rename="camel"):
    time: float = 0.0
    autoscaler_report: _Autoscaler | None = None
    load_metrics_report: _Report | None = None


class _Data(msgspec.Struct, rename="camel"):
    cluster_status: _Status | None = None


class _Answer(msgspec.Struct):
    data: _Data


_decoder = msgspec.json.Decoder(_Answer)


class Demands:
    """The unmet requests of one dashboard, as of the last answer."""

    def __init__(self, ask: Asker, port: int, clock: Callable[[], float]) -> None:
        self._ask, self._port, self._clock = ask, port, clock
        self._due = 0.0
        self._written, self._read_at = 0.0, 0.0
        """The time in the last report, and the time of its first reading."""
        self.sentence = ""
        """``no Ray node has what 3 waiting tasks or actors ask for: CPU 1 and GPU 2``; empty without such requests."""

    def forget(self) -> None:
        """Forget the sentence, because of another GCS, or of a job that does not run."""
        self.sentence = ""

    async def look(self) -> None:
        """Ask if it is time to. Raises nothing."""
        if self._clock() < self._due:
            return
        reply = await self._ask.get(self._port, STATUS, most=MOST_BYTES)
        self._due = self._clock() + PACE
        answer = None
        if reply.good:
            self.sentence = ""
            if parts_of(reply.body) <= MOST_PARTS:
                answer = read_json(_decoder, reply.body, MOST_BYTES)
        if answer is not None and (status := answer.data.cluster_status) is not None:
            if status.time != self._written:
                self._written, self._read_at = status.time, self._clock()
            self.sentence = await in_turns(sentence_in_turns(status))
        if self._clock() >= self._read_at + STALE:
            self.sentence = ""


def sentence_in_turns(status: _Status) -> Turns[str]:
    """Return the unmet requests, in words."""
    report, autoscaler = status.load_metrics_report, status.autoscaler_report
    if report is None or (autoscaler and (autoscaler.pending_nodes or autoscaler.pending_launches)):
        return ""
    nodes = [node for node, _ in report.node_types]
    if sum(len(asked) + 1 for asked, _ in report.resource_demand) * len(nodes) > MOST_PAIRS:
        return ""
    lacking, compared = [], 0
    for asked, count in report.resource_demand:
        compared += (len(asked) + 1) * len(nodes)
        if compared >= A_TURN:
            compared = 0
            yield
        if count > 0 and _in_vain(asked, nodes):
            lacking.append((asked, count))
    if not nodes or not lacking:
        return ""
    count = sum(count for _, count in lacking)
    waiting = "a waiting task or actor asks" if count == 1 else f"{count:,} waiting tasks or actors ask"
    kinds = [_words(asked) for asked, _ in lacking[:NAMED]]
    more = f", and {count_of(len(lacking) - NAMED, 'more kind')}" if len(lacking) > NAMED else ""
    return f"no Ray node has what {waiting} for: {', or '.join(kinds)}{more}"


def _in_vain(asked: Mapping[str, float], nodes: list[dict[str, float]]) -> bool:
    """Return True if no node has all of it, even an idle one."""
    if not asked or any(_GROUPED in name for name in asked):
        return False
    return not any(all(node.get(name, 0.0) >= amount - _ROUNDING for name, amount in asked.items()) for node in nodes)


def _words(asked: Mapping[str, float]) -> str:
    named = " and ".join(f"{bare(name, 63)} {_amount(name, asked[name])}" for name in sorted(asked)[:MOST_NAMES])
    more = len(asked) - MOST_NAMES
    return f"{named} and {count_of(more, 'more resource')}" if more > 0 else named


def _amount(name: str, amount: float) -> str:
    return f"{amount / 1e9:.4g} GB" if name in _BYTES else f"{amount:.6g}"
