"""SameFailureAgain is reported where failures in a row were the same and the gang did not advance, and nowhere else.

What failed, and how, is read from the causes that the statuses name; how far each epoch came, from the processes of the
world. A failure of a survivor has no words here, and is the same as nothing.
"""

import re
from collections.abc import Iterator
from typing import Any

from tests.fakes.history import Object
from tests.scenarios.recurrences import REASON
from tests.scenarios.scenario import path_of
from tests.simulation.oracles.courses import course
from tests.simulation.oracles.last_words import kind_of
from tests.simulation.plans.masks import unrecorded_epochs
from tests.simulation.plans.plan import CRASHES, FOREIGN_CHANGES
from tests.simulation.world.world import World

REQUESTED = "Requested"
"""The reason of a restart that a user asks for."""
PROGRESS = 300.0
"""Seconds of work that are an advance where no steps are known."""
MARGIN = 15.0
"""Seconds by which the end of work may be misjudged: of steps between two looks, and of whole seconds."""
LIMIT = 2
"""The default of restartPolicy.sameFailureLimit."""


def recurring(world: World) -> Iterator[str]:
    """The verdicts that are false, and those that are missing."""
    if world.plan.has(*FOREIGN_CHANGES):
        return
    for name in world.scenario.ends:
        yield from _of(world, name)
        yield from _renewed(world, name)


def _of(world: World, name: str) -> Iterator[str]:
    causes = _causes(world, name)
    row, last = 0, -1
    least: dict[int, int] = {}
    most: dict[int, int] = {}
    """By epoch: how long the row may be at the least and at the most after its end."""
    for epoch, cause in causes.items():
        same = last in causes and _kind(causes[last]) == _kind(cause) and bool(_kind(cause))
        surely, perhaps = _advanced(world, name, epoch, last)
        most[epoch] = most.get(last, 0) + 1 if same and not surely else 1
        least[epoch] = (row + 1 if same and not perhaps else 1) if _kind(cause) else 0
        row, last = least[epoch], epoch
    # The cause of a JobSet has the words of its Job, and not those of the failure; its spec has no limit.
    blind = bool(world.plan.has(*CRASHES) and world.scenario.reports) or world.operator.of_run_kind
    for status in _statuses(world, name):
        said = status.get("sameFailure") or {}
        ended = max((epoch for epoch in causes if _over(status, epoch)), default=None)
        if ended is None:
            continue
        count, again = said.get("count", 0), bool(said.get("again"))
        if count > most[ended] or again != (count >= LIMIT and not world.operator.of_run_kind):
            yield f"{count} failures are called the same after epoch {ended}: {most[ended]} are, at most"
            return
        if count < least[ended] and _just_ended(status, ended) and not blind and not unrecorded_epochs(world, name):
            yield f"{count} failures are called the same after epoch {ended}: {least[ended]} are"
            return
        stuck = next((each for each in status.get("conditions", ()) if each["type"] == "Stuck"), None)
        holds = stuck is not None and stuck["status"] == "True"
        if holds and stuck is not None and stuck["reason"] == REASON and not again:
            yield f"it is Stuck with {REASON} after {count} failures"
            return
        if again and not holds and status["phase"] not in ("Succeeded", "Failed"):
            yield f"it is not Stuck after {count} failures that are the same"
            return


def _renewed(world: World, name: str) -> Iterator[str]:
    """The budgets that were given back to a gang without progress, or where the spec does not ask for it."""
    asked = world.scenario.spec.get("restartPolicy", {}).get("renewOnProgress", False)
    known = 0
    for status in _statuses(world, name):
        renewed = status.get("renewedRestarts", 0)
        ended = status["phase"] in ("Restarting", "Failed")
        epoch = status["epoch"] - (status["phase"] == "Restarting")
        if renewed > known and not (asked and _work(world, name, epoch) > PROGRESS - MARGIN):
            yield f"{renewed} restarts count no more in epoch {epoch}, without progress{' at its end' if ended else ''}"
            return
        known = renewed


def _kind(cause: Object) -> tuple[Any, ...]:
    """What a failure is known by; empty where it has no words."""
    if (child := cause.get("child")) is not None:
        return kind_of(child)
    words = re.sub(r"[0-9]+", "", cause.get("message", ""))
    known = cause.get("exitCode") and not cause.get("evidence")
    place = re.search("line [0-9]+", cause.get("said", ""))
    return (words, cause.get("exitCode"), cause.get("group"), place[0] if place else "") if words and known else ()


def _causes(world: World, name: str) -> dict[int, Object]:
    """By epoch: the failure that the status names as its end, with what the process printed."""
    found: dict[int, Object] = {}
    for turn in course(world, name):
        cause = turn.status.get("cause")
        if not cause or cause.get("disruption") or cause["reason"] == REQUESTED:
            continue
        if cause["epoch"] not in found:
            process = world.kubelet.processes.get(cause.get("uid", ""))
            said, child = (process.said, process.child) if process is not None else ("", None)
            found[cause["epoch"]] = {**cause, "said": said, "child": child}
    return found


def _work(world: World, name: str, epoch: int) -> float:
    """Seconds from the assembled gang of that epoch to its first end."""
    of_epoch = world.kubelet.named(name, epoch)
    began = max((each.worked_at or each.started_at for each in of_epoch), default=0.0)
    start = world.clock() - world.loop.time()
    ends = [each.ended_at - start for each in of_epoch if each.ended_at]
    return max(0.0, min(ends, default=began) - began)


def _advanced(world: World, name: str, epoch: int, last: int) -> tuple[bool, bool]:
    """Whether the epoch advanced surely, and whether it may have."""
    work = _work(world, name, epoch)
    if not world.scenario.reports:
        return work > PROGRESS + MARGIN, work > PROGRESS - MARGIN
    best = max((_work(world, name, each) for each in range(last + 1)), default=0.0)
    return work > best + 2 * MARGIN, work > best + 1


def _statuses(world: World, name: str) -> Iterator[Object]:
    for change in world.changes:
        status = change.after.get("status")
        if change.path == path_of(name) and status and status.get("phase"):
            yield status


def _over(status: Object, epoch: int) -> bool:
    cause = status.get("cause")
    return cause is not None and cause["epoch"] == epoch


def _just_ended(status: Object, epoch: int) -> bool:
    """The gang has not begun to work since: nothing can have ended the row."""
    return bool(status["epoch"] == epoch + 1 and status["phase"] in ("Restarting", "Pending"))
