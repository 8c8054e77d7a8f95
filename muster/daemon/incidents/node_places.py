"""Keeps the places of nodes, such as racks and zones, as their labels name them now.

The watch is for incidents alone: nothing waits for it, and without the right to it, or while it fails for longer than
``STALE``, no places are known, and nodes that fail together are an incident of the kind ``nodes``.
"""

from collections.abc import Callable
from typing import Any, Final

from muster.kube.listwatch.reflector import Reflector
from muster.kube.listwatch.store import Store
from muster.state.facts.incidents.places import Places
from muster.watchers import nodes
from muster.watchers.nodes import NodeRecord

STALE: Final = 300.0
"""Seconds without a word of the API server after which labels may have changed."""
NOTHING: Final = Places()


class NodePlaces:
    """``reflector`` makes the watch from path, parameters, decoder and store; ``run`` is its task."""

    def __init__(self, reflector: Callable[..., Reflector[Any]], monotonic: Callable[[], float]) -> None:
        self._known = Places()
        self._nodes: dict[str, NodeRecord] = {}
        """By name: a node that is deleted and created again has another uid."""
        self._monotonic = monotonic
        self._store = Store[NodeRecord](self._changed)
        self.reflector = reflector(nodes.PATH, {}, nodes.DECODER, self._store)
        self.run = self.reflector.run

    def now(self) -> Places:
        """The places that are known."""
        return self._known if self._fresh else NOTHING

    def is_control_plane(self, node: str) -> bool | None:
        """Whether that node is of the control plane; None where it is not known."""
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
