"""Where the time went adds up in every status that was ever persisted, and no sum falls from one to the next.

A scrape is computed from a persisted status. So each status and the one before it are compared at the second at which
the later one was decided. The wall time is compared with the time of the world, without the suspended time.
"""

from collections.abc import Iterator
from itertools import pairwise

from muster.api.goodput import BADPUT, Bucket, Goodput, micros
from muster.api.status import ExperimentStatus
from tests.fakes.history import Object
from tests.simulation.plans.plan import CRASHES, Plan
from tests.simulation.world.world import World

SKEWS = ("skew", "step-clock", "failover")
"""Faults that set the wall clock: times of two statuses cannot be compared then."""
LATE = 30.0
"""Seconds from a decision to its status, in a world in which requests fail and daemons die, for each of its turns."""
IDLE = ("Suspended", "Succeeded", "Failed")


def added_up(world: World) -> Iterator[str]:
    """The sums that are false."""
    written: dict[str, list[tuple[float, ExperimentStatus]]] = {}
    for change in world.changes:
        status: Object = change.after.get("status") or {}
        written_now = status != ((change.before or {}).get("status") or {})  # not a finalizer, a label, an edit
        if change.resource == "experiments" and change.kind == "MODIFIED" and status.get("phase") and written_now:
            written.setdefault(change.after["metadata"]["uid"], []).append(
                (change.at, ExperimentStatus.from_object(status))
            )
    for uid, statuses in written.items():
        for what in _false(statuses, stepped=world.plan.has(*SKEWS), between_clocks=_between_clocks(world.plan)):
            yield f"time of {uid[-4:]}: {what}"


def _between_clocks(plan: Plan) -> bool:
    """A daemon begins after the clock of the one before was set: to it that step looks like time that has passed."""
    return plan.has("step-clock") and plan.has(*CRASHES)


def _false(statuses: list[tuple[float, ExperimentStatus]], *, stepped: bool, between_clocks: bool) -> Iterator[str]:
    idle, turns = 0.0, 0
    for (at, before), (then, after) in pairwise(statuses):
        was, now = before.goodput, after.goodput
        if was is None or now is None:
            yield f"a status of {after.phase} has no sums"
            continue
        yield from _negative(now)
        if before.phase in IDLE:
            idle += then - at
            turns += 1
        if stepped:
            continue
        seen, next_seen = was.at(after.updated_at), now.at(after.updated_at)
        for bucket in BADPUT:
            if next_seen.of(bucket) < seen.of(bucket) and after.phase not in ("Succeeded", "Failed"):
                yield f"{bucket.value} falls from {seen.of(bucket)} to {next_seen.of(bucket)} ms in {after.phase}"
        for name in ("productive", "taken_back", "wall"):
            if getattr(next_seen, name) < getattr(seen, name) and after.phase not in ("Succeeded", "Failed"):
                yield f"{name} falls from {getattr(seen, name)} to {getattr(next_seen, name)} ms in {after.phase}"
        if was.bucket and now.wall - was.wall != (micros(now.counted_at) - micros(was.counted_at)) // 1000:
            yield f"{now.wall - was.wall} ms are counted between {was.counted_at} and {now.counted_at}"
    began, last = statuses[0], statuses[-1]
    passed = last[0] - began[0] - idle
    sums = last[1].goodput
    counted = sums.at(last[1].updated_at).wall / 1000 if sums is not None else 0.0
    if not between_clocks and abs(counted - passed) > LATE * (2 + turns):
        yield f"{counted:.3f} s of wall time are counted, and {passed:.3f} s have passed"


def _negative(sums: Goodput) -> Iterator[str]:
    for bucket in Bucket:
        if sums.of(bucket) < 0:
            yield f"{bucket.value} is {sums.of(bucket)} ms"
