"""Nodes, with the rack, pool and zone that their labels name, and whether they are of the control plane.

musterd's connection asks for their metadata alone: a Node is 10 to 30 KB, and its status is written every few minutes.
"""

import msgspec

from muster.api.values.printable import clean
from muster.kube.listwatch.decoder import Projection
from muster.state.facts.incidents.grouping import Key, places_of
from muster.watchers.metadata import ObjectMetadata, identity

PATH = "/api/v1/nodes"
CONTROL_PLANE = frozenset(("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"))
"""Labels of nodes of the control plane, whatever their value (kubeadm; the second is that of clusters before 1.24)."""
LONGEST = 63
"""Most characters of a label's value (RFC 1123, kubernetes: apimachinery/pkg/util/validation)."""


class NodeRecord(msgspec.Struct, frozen=True, gc=False):
    """One Node. ``places`` are the places that it shares with others."""

    uid: str
    name: str
    namespace: str
    resource_version: int
    places: tuple[Key, ...]
    control_plane: bool = False


class _Metadata(ObjectMetadata, gc=False):
    labels: dict[str, str] | None = None


class NodeDocument(msgspec.Struct, gc=False):
    """The part of a core/v1 Node, or of its PartialObjectMetadata, that Muster reads."""

    metadata: _Metadata


def flatten(document: NodeDocument) -> NodeRecord:
    """Return the record of a Node. Raises ValueError for one without uid, name or resourceVersion."""
    labels = document.metadata.labels or {}
    places = tuple(Key(kind, clean(value, LONGEST)) for kind, value in places_of(labels))
    leads = not CONTROL_PLANE.isdisjoint(labels)
    return NodeRecord(places=places, control_plane=leads, **identity(document.metadata, "a Node"))


DECODER: Projection[NodeDocument, NodeRecord] = Projection("Node", NodeDocument, flatten)
