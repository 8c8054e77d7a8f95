"""What happened in a run, step by step: used to compare runs, and to find where faults can be injected."""

from bisect import bisect_right
from dataclasses import dataclass
from hashlib import sha256

from muster.api.names import LABEL_RANK
from tests.fakes.history import Change, encode
from tests.scenarios.scenario import path_of
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
    stage: str
    """Phase and epoch of the experiment ``run`` in force at that step, as persisted."""
    sort: str
    """What the step is, whichever member it concerns: kind and resource, and of a pod how far it has come."""
    digest: str
    """Hash of everything about the step except an Experiment's spec."""


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
    stages = _Stages(world)
    changes = tuple(_change(change, stages) for change in world.changes)
    made = {step.version: step for step in changes}
    return History(changes, tuple(_write(write, made.get(write.committed), stages) for write in world.writes))


class _Stages:
    """The stages of a run, by the resourceVersion at which each began."""

    def __init__(self, world: World) -> None:
        self._versions = [0]
        self._names = [""]
        for change in world.changes:
            if change.path == path_of("run"):
                status = change.after.get("status") or {}
                name = "gone" if change.kind == "DELETED" else f"{status.get('phase', 'new')} {status.get('epoch', 0)}"
                if name != self._names[-1]:
                    self._versions.append(change.version)
                    self._names.append(name)

    def at(self, version: int) -> str:
        """The stage in force at that resourceVersion."""
        return self._names[bisect_right(self._versions, version) - 1]


def _change(change: Change, stages: _Stages) -> Step:
    after = change.after
    if change.resource == "experiments":
        after = {field: value for field, value in after.items() if field != "spec"}
    said = encode({"at": change.at, "kind": change.kind, "path": change.path, "after": after})
    rank = int(change.after["metadata"].get("labels", {}).get(LABEL_RANK, NO_RANK))
    return Step(
        change.at,
        change.version,
        change.resource,
        rank,
        change.kind,
        stages.at(change.version),
        f"{change.kind} {change.resource} {_progress_of(change)}",
        sha256(said).hexdigest(),
    )


def _progress_of(change: Change) -> str:
    if change.resource != "pods":
        return ""
    phase = change.after.get("status", {}).get("phase", "new")
    return f"{phase} leaving" if change.after["metadata"].get("deletionTimestamp") else phase


def _write(write: Write, made: Step | None, stages: _Stages) -> Step:
    digest = sha256(repr(write).encode()).hexdigest()
    sort = f"{write.method} {write.resource}"
    rank = made.rank if made else NO_RANK
    return Step(write.at, write.version, write.resource, rank, write.method, stages.at(write.version), sort, digest)
