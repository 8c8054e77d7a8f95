"""The course of an experiment: the phases and epochs that its persisted statuses show, with the times of the world."""

from dataclasses import dataclass

from tests.fakes.history import Object
from tests.scenarios.scenario import path_of
from tests.simulation.world.world import World


@dataclass(frozen=True, slots=True)
class Turn:
    """The status that began a phase or an epoch. ``at`` is in wall-clock seconds of the world."""

    at: float
    phase: str
    epoch: int
    restarts: int
    status: Object
    counted: bool
    """The restarts grew with this very status. (Those of members grow within a phase.)"""


def course(world: World, name: str) -> list[Turn]:
    """The turns of that experiment, in order."""
    turns: list[Turn] = []
    restarts = 0
    for change in world.changes:
        status = change.after.get("status")
        if change.path != path_of(name) or not status:
            continue
        grown, restarts = status["restarts"] > restarts, status["restarts"]
        turn = Turn(change.at, status["phase"], status["epoch"], restarts, status, grown)
        if not turns or (turn.phase, turn.epoch) != (turns[-1].phase, turns[-1].epoch):
            turns.append(turn)
    return turns
