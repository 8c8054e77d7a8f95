"""What happened in a run, step by step: used to compare runs, and to find where faults can be injected."""

from dataclasses import dataclass
from hashlib import sha256

from muster.api.names import LABEL_RANK
from tests.fakes.history import Change, encode
from tests.simulation.world.world import World, Write

NO_RANK = -1


@dataclass(frozen=True, slots=True)
class Step:
    """A change of an object, or a write of the daemon."""

    at: float
    version: int
    """The resourceVersion of a change; of a write, the one before it."""
    resource: str
    rank: int
    """Rank of the member whose pod was changed or written; ``NO_RANK`` for other objects."""
    kind: str
    """ADDED, MODIFIED or DELETED; of a write, its method."""
    turn: int
    """The loop's iteration within that instant; a write that was not carried out has a number of its own."""
    digest: str
    """Hash of everything about the step except an Experiment's spec."""

    @property
    def moment(self) -> tuple[float, int]:
        """Steps of one moment are not interrupted by any other callback."""
        return self.at, self.turn


@dataclass(frozen=True, slots=True)
class History:
    """The steps of one run. Changes are in the order of their resourceVersion, from 1."""

    changes: tuple[Step, ...]
    writes: tuple[Step, ...]

    @property
    def digest(self) -> str:
        """Equal for runs in which the same happened at the same times."""
        return sha256("".join(step.digest for step in (*self.changes, *self.writes)).encode()).hexdigest()


def history(world: World) -> History:
    """The history of a world."""
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
    rank = change.after["metadata"].get("labels", {}).get(LABEL_RANK, NO_RANK)
    return Step(change.at, change.version, change.resource, int(rank), change.kind, turn, sha256(said).hexdigest())


def _write(number: int, write: Write, made: Step | None) -> Step:
    digest = sha256(repr(write).encode()).hexdigest()
    rank, turn = (made.rank, made.turn) if made else (NO_RANK, -number)
    return Step(write.at, write.version, write.resource, rank, write.method, turn, digest)
