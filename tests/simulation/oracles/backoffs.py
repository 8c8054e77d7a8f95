"""A restart waits for its back-off, and for no longer.

The back-off is counted in the world's seconds, from the status that shows the end of the epoch to the first pod of the
next one. Failures wait for ``initial * factor ** (restarts - 1)``. Of disruptions in a row the first waits for nothing,
and each further one as the failures do; five minutes of work end a row.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from tests.simulation.oracles.courses import Turn, course
from tests.simulation.plans.masks import PROMPT, ahead, unrecorded_epochs
from tests.simulation.world.process import Process, Stage
from tests.simulation.world.world import EPOCH, World

INITIAL, FACTOR, MOST = 1.0, 2.0, 300.0
"""The defaults of restartPolicy.backoff (docs/manifest-reference.md)."""
REQUESTED = "Requested"
"""The reason of a restart that a user asks for: it waits for nothing, and is no part of a row."""
PROGRESS = 300.0
"""Seconds of an assembled gang that end a row of disruptions."""
EARLY = 0.1
"""Seconds by which a pod may be created before its back-off is over: the back-off begins with the decision, and the
status shows it a moment later."""


def backed_off(world: World) -> Iterator[str]:
    """The restarts that waited for too short or too long a time."""
    for name in world.scenario.ends:
        if unrecorded_epochs(world, name):
            continue  # a disruption may have been charged as a failure, or the other way round
        turns, row = course(world, name), 0
        for before, turn in pairwise(turns):
            if turn.phase != "Restarting" or turn.epoch == before.epoch:
                continue
            if (turn.status.get("cause") or {}).get("reason") == REQUESTED:
                yield from _waited(world, name, turn, 0.0)
                continue
            counted = turn.counted
            row = 0 if counted else row + 1
            if not counted and before.phase == "Running" and turn.at - before.at >= PROGRESS:
                row = 1
            renewed = turn.status.get("renewedRestarts", 0)
            wanted = 0.0 if world.operator.jobs else _delay(turn.restarts - renewed if counted else row - 1)
            yield from _waited(world, name, turn, wanted)


def _waited(world: World, name: str, turn: Turn, wanted: float) -> Iterator[str]:
    """Jitter shortens a back-off by its share at most."""
    processes = [each for each in world.kubelet.processes.values() if each.experiment_name == name]
    created = min((each.created_at for each in processes if each.epoch == turn.epoch), default=None)
    if created is None:
        return
    faults = world.plan.seconds
    waited = created - turn.at
    free = max((_gone(world, each) for each in processes if each.epoch < turn.epoch), default=0.0) - turn.at
    least = wanted * (1.0 - _policy(world).get("backoff", {}).get("jitter", 0.0))
    if waited < least - EARLY - ahead(world.plan):
        yield f"{name}: epoch {turn.epoch} begins after {waited:.1f} s, before its back-off of {least:g} s is over"
    if waited > max(wanted, free) + PROMPT + faults:
        yield f"{name}: epoch {turn.epoch} begins {waited - max(wanted, free):.1f} s late"


def _policy(world: World) -> dict[str, Any]:
    policy: dict[str, Any] = world.scenario.spec.get("restartPolicy", {})
    return policy


def _gone(world: World, process: Process) -> float:
    """When a process could no longer run, as far as the API server shows; now, if that is unknown."""
    if process.stage is Stage.RUNNING or process.node_lost:
        return process.removed_at or EPOCH + world.loop.time()
    return process.ended_at or process.removed_at


def _delay(restart: int) -> float:
    return min(MOST, INITIAL * FACTOR ** (restart - 1)) if restart > 0 else 0.0
