"""What happened in a run, step by step: enough to tell two runs apart, and to know where a fault can strike."""

from dataclasses import dataclass
from hashlib import sha256

from muster.api.names import LABEL_RANK
from tests.fakes.history import Change, encode
from tests.simulation.world import World, Write

NOBODY = -1


@dataclass(frozen=True, slots=True)
class Step:
    """A change of an object, or a write of the daemon."""

    at: float
    version: int
    """Its resourceVersion; of a write, the one before it."""
    resource: str
    rank: int
    """Of the member whose pod it is about; ``NOBODY`` of anything else."""
    kind: str
    """ADDED, MODIFIED or DELETED; of a write, its method."""
    digest: str
    """Of everything about it, but an Experiment's spec: what the daemon makes of that is what shows."""


@dataclass(frozen=True, slots=True)
class History:
    """One run. Changes are numbered by their resourceVersion, from 1; so are writes, by their order."""

    changes: tuple[Step, ...]
    writes: tuple[Step, ...]

    @property
    def digest(self) -> str:
        """Equal for runs in which the same happened at the same time."""
        return sha256("".join(step.digest for step in (*self.changes, *self.writes)).encode()).hexdigest()


def history(world: World) -> History:
    """What has happened in a world."""
    changes = tuple(_change(change) for change in world.api.history.changes)
    ranks = {step.version: step.rank for step in changes}
    return History(changes, tuple(_write(write, ranks.get(write.committed, NOBODY)) for write in world.writes))


def _change(change: Change) -> Step:
    after = change.after
    if change.resource == "experiments":
        after = {field: value for field, value in after.items() if field != "spec"}
    said = encode({"at": change.at, "kind": change.kind, "path": change.path, "after": after})
    rank = change.after["metadata"].get("labels", {}).get(LABEL_RANK, NOBODY)
    return Step(change.at, change.version, change.resource, int(rank), change.kind, sha256(said).hexdigest())


def _write(write: Write, rank: int) -> Step:
    digest = sha256(repr(write).encode()).hexdigest()
    return Step(write.at, write.version, write.resource, rank, write.method, digest)
