"""What happened in a run, step by step: enough to tell two runs apart, and to know where a fault can strike."""

from dataclasses import dataclass
from hashlib import sha256

from muster.api.names import LABEL_RANK
from tests.fakes.history import Change, encode
from tests.simulation.world.world import World, Write

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
    turn: int
    """Of the loop, within that instant; of a write, the one it was carried out in, and one of its own if it was not."""
    digest: str
    """Of everything about it, but an Experiment's spec: what the daemon makes of that is what shows."""

    @property
    def moment(self) -> tuple[float, int]:
        """Nobody else does anything between the steps of one moment."""
        return self.at, self.turn


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
    changes = tuple(map(_change, world.api.history.changes, world.turns))
    made = {step.version: step for step in changes}
    return History(
        changes, tuple(_write(n, write, made.get(write.committed)) for n, write in enumerate(world.writes, 1))
    )


def _change(change: Change, turn: int) -> Step:
    after = change.after
    if change.resource == "experiments":
        after = {field: value for field, value in after.items() if field != "spec"}
    said = encode({"at": change.at, "kind": change.kind, "path": change.path, "after": after})
    rank = change.after["metadata"].get("labels", {}).get(LABEL_RANK, NOBODY)
    return Step(change.at, change.version, change.resource, int(rank), change.kind, turn, sha256(said).hexdigest())


def _write(number: int, write: Write, made: Step | None) -> Step:
    digest = sha256(repr(write).encode()).hexdigest()
    rank, turn = (made.rank, made.turn) if made else (NOBODY, -number)
    return Step(write.at, write.version, write.resource, rank, write.method, turn, digest)
