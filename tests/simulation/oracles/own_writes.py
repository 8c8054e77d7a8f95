"""What a daemon was answered, it knows: no life of it may act as though its own write had not been carried out.

Preconditions make most such acts harmless, so nothing else notices them; but each is a decision on a picture that is
older than the daemon's own last step, and the next one may not be harmless.
"""

from typing import TYPE_CHECKING

import msgspec

from muster.kube.metadata import Metadata, Object
from muster.kube.transport import Answer

if TYPE_CHECKING:
    from tests.simulation.world.world import World


DECODER = msgspec.json.Decoder(Object)


class OwnWrites:
    """The answered writes of one life."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._made: dict[str, str] = {}
        """The uid of each object made, by path."""
        self._deleted: set[tuple[str, bytes]] = set()
        self._written: dict[str, int] = {}
        """The resourceVersion that each object had after our last update of it."""

    def sends(self, method: str, path: str, body: bytes | None) -> None:
        """A write is on its way."""
        match method:
            case "POST":
                made = _path_of(path, body)
                there = self._world.api.objects.get(made)
                known = there is not None and self._made.get(made) == there["metadata"]["uid"]
                if known and not self._world.plan.has("drop"):  # (who lost the event cannot know what it told of)
                    self._world.violate(f"{made} is made again, though its create was answered")
            case "DELETE" if (path, body or b"") in self._deleted:
                self._world.violate(f"{path} is deleted again, though its delete was answered")
            case "PUT" if _version(body) < self._written.get(path, 0):
                self._world.violate(f"{path} is written on what it was before our own last write to it")

    def answered(self, method: str, path: str, body: bytes | None, answer: Answer) -> None:
        """It was carried out, and the daemon is told."""
        match method:
            case "POST":
                self._made[_path_of(path, body)] = _metadata(answer.body).uid
            case "DELETE":
                self._deleted.add((path, body or b""))
            case "PUT":
                self._written[path] = _version(answer.body)


def _path_of(collection: str, body: bytes | None) -> str:
    return f"{collection}/{_metadata(body).name}"


def _version(body: bytes | None) -> int:
    return _metadata(body).version


def _metadata(body: bytes | None) -> Metadata:
    return DECODER.decode(body or b"{}").metadata
