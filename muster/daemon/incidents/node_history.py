"""The history of nodes, kept while this daemon leads and stored for the leaders that follow; and the places of nodes.

Every change of a record is taken in as it is persisted. With ``Settings.node_history`` one ConfigMap has the history:
it is read when this daemon begins to lead, and written at most every ``STORED`` seconds, if something has changed.
Nothing waits for it: a refused request is logged, and tried again.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Final

import msgspec
import structlog

from muster.api.errors import ApiError, NotFound
from muster.daemon.experiments.index import ExperimentIndex
from muster.daemon.settings import Settings
from muster.kube.listwatch.reflector import Reflector
from muster.kube.listwatch.store import Store
from muster.kube.resources import Metadata, Object, ask, core
from muster.kube.transport import Transport
from muster.rollcall.document import NodeListing
from muster.rollcall.make import node_listing
from muster.state.facts.incidents.grouping import Places
from muster.state.facts.nodes.history import KEY, Failure, History
from muster.state.facts.nodes.suspects import Suspect, observe, suspects, went_on
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Record
from muster.watchers import nodes
from muster.watchers.nodes import NodeRecord

STALE: Final = 300.0
"""Seconds without an answer of the API server after which labels may have changed."""
NOTHING: Final = Places()


class NodePlaces:
    """The places of nodes, such as racks and zones, as the labels of the nodes name them now.

    Nothing waits for their watch: without the right to it, or while it fails for longer than ``STALE``, no places are
    known, and nodes that fail together are an incident of the kind ``nodes``. ``reflector`` makes the watch of path,
    parameters, decoder and store; ``run`` is a task.
    """

    def __init__(self, reflector: Callable[..., Reflector[Any]], monotonic: Callable[[], float]) -> None:
        self._known = Places()
        self._nodes: dict[str, NodeRecord] = {}
        """Nodes by name: a node that is deleted and created again has another uid."""
        self._monotonic = monotonic
        self._store = Store[NodeRecord](self._changed)
        self.reflector = reflector(nodes.PATH, {}, nodes.DECODER, self._store)
        self.run = self.reflector.run

    def now(self) -> Places:
        """Return the known places."""
        return self._known if self._fresh else NOTHING

    def is_control_plane(self, node: str) -> bool | None:
        """Return True if the node is of the control plane; None if that is not known."""
        found = self._nodes.get(node) if self._fresh else None
        return None if found is None else found.control_plane

    @property
    def _fresh(self) -> bool:
        return self._store.synced and self.reflector.staleness(self._monotonic()) < STALE

    def _changed(self, old: NodeRecord | None, new: NodeRecord | None) -> None:
        if new is not None:
            self._nodes[new.name] = new
            self._known.put(new.name, new.places)
        elif old is not None and old.name in self._nodes and self._nodes[old.name].uid == old.uid:
            del self._nodes[old.name]
            self._known.drop(old.name)


log = structlog.get_logger()

EVERY: Final = 10.0
STORED: Final = 60.0
HOUR: Final = 3600.0
SLICE: Final = 2000
"""Members that are counted before other tasks may run."""


class _ConfigMap(msgspec.Struct, frozen=True):
    metadata: Metadata
    data: dict[str, str] | None = None


@dataclass(eq=False)
class NodeHistory:
    """The history, and the nodes that are suspect."""

    index: ExperimentIndex
    settings: Settings
    transport: Transport
    """Writes while ``leading``."""
    places: NodePlaces | None
    """Knows the nodes of the control plane, if their labels may be read."""
    leading: Callable[[], bool]
    clock: Callable[[], float]
    monotonic: Callable[[], float]
    sleep: Callable[[float], Awaitable[object]]
    _problem: str = ""

    def __post_init__(self) -> None:
        self._namespace, self._name = self.settings.lease_namespace or "default", f"{self.settings.lease_name}-nodes"
        self.stand_by()

    def stand_by(self) -> None:
        """Stop leading: forget the history, which another daemon keeps."""
        self.history = History()
        self.suspects: tuple[Suspect, ...] = ()
        self._taken_in = False
        self._shown: Mapping[str, Sequence[Failure]] = {}
        self._at = 0.0
        self._version: str | None = None
        """The resourceVersion of the ConfigMap; empty if there is none, None if it must be read."""
        self._looked, self._tried = False, -inf
        self._walked: float | None = None

    def listing(self) -> NodeListing:
        """Return the history as a document, as of the last look. May be called in any thread."""
        role = self.places.is_control_plane if self.places is not None else lambda _: None
        looked = self._looked and (self._taken_in or not self.settings.node_history)
        shown, found, dropped = self._shown, self.suspects, self.history.dropped
        return node_listing(shown, found, self._at, role, dropped=dropped, looked=looked)

    def changed(self, plan: Plan, old: Record | None, new: Record) -> None:
        """Take in a persisted record."""
        entry = self.index.get(plan.uid)
        if entry is None or not self.leading():
            return
        try:
            observe(self.history, plan, old, new, entry.view, self.clock())
        except Exception:  # the step of the run continues
            log.exception("run left out of the history of nodes", namespace=plan.namespace, run=plan.title)

    async def run(self) -> None:
        """Keep the history until cancelled."""
        while True:
            await self.sleep(EVERY)
            if self.leading():
                await self.look()
            elif self._looked:
                self.stand_by()

    async def look(self) -> None:
        """Count the hours of running runs, find suspects, and store what has changed."""
        moment = self.monotonic()
        if self._walked is None or moment - self._walked >= HOUR:
            await self._walk(first=self._walked is None)
            self._walked = moment
        if (
            self.settings.node_history
            and moment - self._tried >= STORED
            and (self._version is None or self.history.changed)
        ):
            self._tried = moment
            await self._store()
        self._at, self._looked = self.clock(), True
        self.suspects = suspects(self.history, self._at)
        self._shown = {node: tuple(failures) for node, failures in self.history.failures().items()}

    async def _walk(self, *, first: bool) -> None:
        """Count an hour for each run that is at work; the first look only begins the hour."""
        looked = 0
        for entry in [] if first else list(self.index):
            if entry.plan is not None and entry.record is not None:
                looked += went_on(self.history, entry.plan, entry.record, entry.view, self.clock())
            if looked >= SLICE:
                looked = 0
                await asyncio.sleep(0)

    async def _store(self) -> None:
        history = self.history
        try:
            if self._version is None:
                await self._read()
            else:
                history.changed = False
                await self._write(history.stored().decode())
            self._problem = ""
        except ApiError as error:
            history.changed = True
            if error.status in (404, 409):  # it was deleted, or someone else has written it
                self._version = None
            if str(error) != self._problem:
                self._problem = str(error)
                log.warning("history of nodes not stored, retrying", configmap=self._name, error=self._problem)

    async def _read(self) -> None:
        """Read the version of the ConfigMap, and its content once."""
        path = core(self._namespace, "configmaps", self._name)
        found = _ConfigMap(Metadata())
        with contextlib.suppress(NotFound):
            found = await ask(self.transport.request, "GET", path, _ConfigMap)
        self._version = found.metadata.resource_version
        text = (found.data or {}).get(KEY)
        if text is not None and not self._taken_in:
            try:
                self.history.take_in(text.encode(), self.clock())
            except ValueError as error:
                log.warning("stored history of nodes is not understood, replacing it", error=str(error))
        self._taken_in = True

    async def _write(self, text: str) -> None:
        """Create the ConfigMap, or replace its content if it is unchanged since it was read."""
        path = core(self._namespace, "configmaps", self._name)
        method, kind = ("PATCH", "application/merge-patch+json") if self._version else ("POST", "application/json")
        metadata = {"resourceVersion": self._version} if self._version else {"name": self._name}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {KEY: text}}
        where = path if self._version else path.rpartition("/")[0]
        data = msgspec.json.encode(body)
        made = await ask(self.transport.request, method, where, Object, body=data, content_type=kind)
        self._version = made.metadata.resource_version
