"""Read your own writes: no run of the daemon acts as if a write that was answered had not been carried out.

Preconditions make most such acts harmless, so no other oracle notices them. But each is a decision on a state older
than the daemon's own last step, and the next one may not be harmless.
"""

from typing import TYPE_CHECKING, Any

import msgspec

from muster.kube.resources import Metadata, Object
from muster.kube.transport import Answer
from tests.simulation.world.process import WATCHED

if TYPE_CHECKING:
    from tests.simulation.world.world import World


DECODER = msgspec.json.Decoder(Object)


class OwnWrites:
    """The answered writes of one run."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._made: dict[str, str] = {}
        """The uid of each created object, by path."""
        self._deleted: set[tuple[str, bytes]] = set()
        self._written: dict[tuple[str, str], int] = {}
        """The resourceVersion of each object, by path and uid, after the daemon's last update of it."""

    def sends(self, method: str, path: str, body: bytes | None) -> None:
        """A write is sent."""
        match method:
            case "POST":
                made = _path_of(path, body)
                there = self._world.api.objects.get(made)
                known = (
                    there is not None
                    and self._made.get(made) == there["metadata"]["uid"]
                    and _owner_of(there) == _owner_of(msgspec.json.decode(body or b"{}"))  # else of an earlier life
                )
                known = known and f"/events/{WATCHED}-" not in made  # what happens to it again has the same name
                if known and not self._world.plan.has("drop"):  # (no watch may have shown the pod)
                    self._world.violate(f"{made} is created again although its create was answered")
            case "DELETE" if (path, body or b"") in self._deleted:
                self._world.violate(f"{path} is deleted again although its delete was answered")
            case "PUT" if _version(body) < self._written.get((path, _metadata(body).uid), 0):
                self._world.violate(f"{path} is written with a resourceVersion older than the daemon's own last write")

    def answered(self, method: str, path: str, body: bytes | None, answer: Answer) -> None:
        """A write was carried out, and its answer reaches the daemon."""
        match method:
            case "POST":
                self._made[_path_of(path, body)] = _metadata(answer.body).uid
            case "DELETE":
                self._deleted.add((path, body or b""))
            case "PUT":
                self._written[path, _metadata(body).uid] = _version(answer.body)


def _owner_of(obj: dict[str, Any]) -> str:
    """The uid of the object's owner; empty without one."""
    return next((str(owner["uid"]) for owner in obj["metadata"].get("ownerReferences", ())), "")


def _path_of(collection: str, body: bytes | None) -> str:
    return f"{collection}/{_metadata(body).name}"


def _version(body: bytes | None) -> int:
    return _metadata(body).version


def _metadata(body: bytes | None) -> Metadata:
    return DECODER.decode(body or b"{}").metadata
