"""A verdict over a gang that hangs is true, stays while the gang does the same, and is in the record of the end.

When a gang hangs is read from the world: a member that waits for a lock forever has stopped it, and until its epoch is
over nothing that anyone asks, and no daemon that takes over, makes that another gang.
"""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from math import inf

from tests.fakes.history import Object
from tests.scenarios.incidents import Evaluates, Pauses
from tests.scenarios.recurrences import REASON as SAME_FAILURE
from tests.scenarios.scenario import path_of
from tests.simulation.oracles.invariants import OVER
from tests.simulation.plans.plan import CRASHES, FOREIGN_CHANGES, TAKEOVERS
from tests.simulation.world.collectives import PLACE
from tests.simulation.world.world import EPOCH, World

HANGS = ("Hung", "CollectiveStuck")
CHARGED = {
    "CoordinatorUnreachable": "CoordinatorLost",
    "ImagePullBackOff": "ImagePull",
    "RanksMissing": "ranks arrived",
}
"""The word of a cause for a reason of Stuck, where it is another."""
OTHERS = (SAME_FAILURE, "PodAltered")
"""Reasons that block no gang."""
STANDS = 40.0
"""Seconds without progress before which no gang hangs."""
OWN_CLOCK = 600.0
"""The same while the rank that the others wait for is at work."""
WITHIN = 75.0
"""Seconds within which it is reported that the others wait for a rank at work."""
TURN = 12.0
"""Seconds from the beginning of a pause to the last moment at which another rank was seen to move."""
SINCE = re.compile(r"since (\d\d):(\d\d):(\d\d)Z")


def lasting(world: World) -> Iterator[str]:
    """The verdicts that are false, and those that go although the gang still hangs."""
    if not (world.scenario.collectives or world.scenario.reports) or world.plan.has(*FOREIGN_CHANGES):
        return
    held: tuple[int, str, str] | None = None
    for at, status in _statuses(world):
        epoch, stuck = status["epoch"], _stuck(status)
        began, patience, ended = _pause(world, epoch, at)
        if stuck is not None and stuck["reason"] in HANGS:
            if at < began + patience:
                why = "its rank computes" if patience == OWN_CLOCK else "no rank has made it wait for so long"
                yield f"at {at:.0f} s the gang is {stuck['reason']}, and {why}"
                return
            if (found := SINCE.search(stuck["message"])) and not world.plan.has("step-clock", "skew", "failover"):
                of_day = sum(int(part) * unit for part, unit in zip(found.groups(), (3600, 60, 1), strict=True))
                since = (of_day - EPOCH) % 86_400
                if not began - TURN <= since <= began + TURN:
                    yield f"it says no progress since {since:.0f} s; the gang stopped at {began:.0f} s"
                    return
        if status["phase"] in OVER:
            return
        if held is not None and held[0] == epoch and began + patience <= at < min(ended, _over(world, epoch)):
            now = (stuck["reason"], stuck["lastTransitionTime"]) if stuck is not None else ("", "")
            if now[0] in ("", *HANGS) and now != held[1:]:
                yield f"at {at:.0f} s the verdict is {now[0] or 'withdrawn'}; it was {held[1]}, and the gang hangs"
                return
        if stuck is not None and stuck["reason"] in HANGS:
            held = epoch, stuck["reason"], stuck["lastTransitionTime"]


def computing_said(world: World) -> Iterator[str]:
    """The ranks that compute while the others wait for them, where that is not reported."""
    found = [each for each in world.scenario.incidents if isinstance(each, Evaluates) and not each.writes]
    late = world.plan.seconds
    if not found or found[0].seconds <= WITHIN + late or world.plan.has(*CRASHES, *TAKEOVERS, *FOREIGN_CHANGES):
        return
    if not any(
        f"is computing {PLACE}; 3 ranks wait for it" in status.get("message", "") for _, status in _statuses(world)
    ):
        yield "a rank computes while the others wait for it, and that is not said"


def remembered(world: World) -> Iterator[str]:
    """The ends, of epochs and of experiments, in which what blocked the gang until then is forgotten."""
    before: Object = {}
    for at, status in _statuses(world):
        stuck = _stuck(before)
        ended = before.get("phase") not in OVER and status["phase"] == "Failed"
        ended = ended or (status["epoch"] > before.get("epoch", inf) and status["phase"] == "Restarting")
        if ended and stuck is not None and stuck["reason"] not in OTHERS and not _effect(world, before["epoch"], stuck):
            cause, reason = status.get("cause") or {}, str(stuck["reason"])
            said = f"{status.get('message')} {json.dumps(cause)} {status.get('reason')}"
            rank = (before.get("known") or {}).get("ranks", "")
            named = not rank.isdigit() or f"rank {rank} " in said or cause.get("rank") == int(rank)
            if not named or (reason not in said and CHARGED.get(reason, reason) not in said):
                yield f"at {at:.0f} s it ends {status.get('reason')} and forgets {reason} of rank {rank}"
        before = status


def _effect(world: World, epoch: int, stuck: Object) -> bool:
    """Whether a member of that epoch had failed before: what blocked the gang was then an effect of that failure."""
    since = datetime.fromisoformat(str(stuck.get("reasonTime", stuck["lastTransitionTime"]))).timestamp()
    return any(run == "run" and of == epoch and at <= since for at, _, run, of, _ in world.incident_log)


def _pause(world: World, epoch: int, at: float) -> tuple[float, float, float]:
    """When the pause of that epoch began that was the last to begin until then, how long it may last, and its end."""
    found = (inf, 0.0, inf)
    for process in world.kubelet.named("run", epoch):
        if not process.worked_at:
            continue
        pauses: list[Pauses | Evaluates] = [
            *world.incidents_of(process, Pauses),
            *world.incidents_of(process, Evaluates),
        ]
        for each in pauses:
            began, work = process.worked_at + each.after, isinstance(each, Evaluates)
            if began <= at and (found[0] == inf or began >= found[0]):
                found = began, OWN_CLOCK if work else STANDS, began + each.seconds
    return found


def _over(world: World, epoch: int) -> float:
    """When the first process of that epoch ended, or was asked to."""
    return min((each.ended_at - EPOCH for each in world.kubelet.named("run", epoch) if each.ended_at), default=inf)


def _statuses(world: World) -> Iterator[tuple[float, Object]]:
    """Every status of ``run``, with the second at which it was written."""
    for change in world.changes:
        if change.path == path_of("run") and (status := change.after.get("status")) and change.kind == "MODIFIED":
            yield change.at - EPOCH, status


def _stuck(status: Object) -> Object | None:
    return next(
        (each for each in status.get("conditions", ()) if (each["type"], each["status"]) == ("Stuck", "True")), None
    )
