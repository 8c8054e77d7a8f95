"""Each experiment ends as its scenario states, and each of its epochs for one reason."""

from collections.abc import Iterator
from typing import Any

from tests.scenarios.incidents import CoordinatorFlaps
from tests.scenarios.scenario import End, path_of
from tests.simulation.oracles.invariants import OVER
from tests.simulation.oracles.repairs import repairs
from tests.simulation.plans.masks import (
    MOST_EPOCHS,
    PROMPT,
    acted_on_before_seen,
    ahead,
    cause_may_differ,
    culprit_not_awaited,
    ended_altered,
    events_come_too_late,
    incident_averted,
    queue_unseen,
    stalled,
    unrecorded_epochs,
)
from tests.simulation.plans.plan import CRASHES, FOREIGN_CHANGES, RESTART_DELAY, TAKEOVER, Fault
from tests.simulation.world.world import EPOCH, World

DISRUPTIONS = ("disruption", "deletion")


def ends_as_stated(world: World, name: str, end: End, status: dict[str, Any] | None) -> Iterator[str]:
    """The experiment ends as its scenario states."""
    if status is None:
        if end.phase:
            yield f"{name} no longer exists; it should be {end.phase}"
        return
    plan = world.plan
    if stalled(world):
        return  # its clock may have run out unseen
    if culprit_not_awaited(world, name):
        return
    wanted: dict[str, Any] = {"phase": end.phase, "reason": end.reason}
    if incident_averted(world, name):
        wanted = {"phase": "Succeeded", "reason": end.reason if end.phase == "Succeeded" else "AllMembersSucceeded"}
    if world.operator.of_run_kind and (plan.has("delete-pod") or ended_altered(world, name)):
        # It is a failed pod of its Job there, and a failure of a JAXJob without restarts: the budget may not be enough.
        # And with which code a pod has failed that was altered is not seen.
        wanted = {"phase": status["phase"] if status["phase"] in OVER else "Succeeded or Failed"}
    # A deleted pod ends an epoch: then only accounted_for can say what is right. And the job of a cluster may have
    # ended when a daemon that is minutes late hears that a worker was lost.
    over = (world.operator.cluster and events_come_too_late(plan)) or queue_unseen(world)
    if not (over or plan.has(*FOREIGN_CHANGES) or unrecorded_epochs(world, name)):
        wanted |= {"restarts": end.restarts, "disruptions": end.disruptions}
        if not acted_on_before_seen(world, name):  # the daemon cannot end an epoch that it was never asked to begin
            wanted["epoch"] = end.epoch
        if not cause_may_differ(plan):
            wanted["cause"] = end.charged(plan.size)["cause"]
    got = {key: status[key] for key in wanted}
    if got != wanted:
        yield f"{name} ends as {got}; it should be {wanted}"
    if end.clock is not None:
        yield from _clock(world, name, end)


def _clock(world: World, name: str, end: End) -> Iterator[str]:
    """The clock that ended the experiment was acted upon in time, by the world's clock and not by the daemon's."""
    since, finished = _set_at(world, name, end.since), _written_at(world, name, "finishTime")
    expires = since + (end.clock or 0.0)
    late = finished - expires
    shifts = [_shift(world, fault, since, expires) for fault in world.plan.faults]
    least, most = sum(early for early, _ in shifts), sum(delay for _, delay in shifts)
    if not -PROMPT - least <= late <= PROMPT + most:
        yield f"{name} ends {late:.3f} s after its clock expired"


def _shift(world: World, fault: Fault, since: float, expires: float) -> tuple[float, float]:
    """By how many seconds a fault may let a clock act early, and late.

    A leader whose wall clock is ahead of the last one's acts that much early on a clock that began under the last one,
    and one that is behind that much late. A clock that begins and runs out under one leader knows nothing of that. What
    a leader that is behind persists, or moves to its own present, is that much too early for the leader after it.
    """
    early = ahead(world.plan, fault)
    if fault.kind not in ("skew", "failover") or fault not in world.injected:
        return early, fault.seconds
    killed, skew = world.injected[fault], float(fault.how or 0.0)
    away = (TAKEOVER if fault.kind == "failover" else RESTART_DELAY) + PROMPT
    own = since > killed
    delay = away if expires < killed + away else 0.0  # it ran out while no daemon led
    followed = any(each.kind in CRASHES and each.at > fault.at for each in world.plan.faults)
    left_behind = max(-skew, 0.0) if followed else 0.0
    return (left_behind, delay) if own else (left_behind + max(skew, 0.0), delay + max(-skew, 0.0))


def _set_at(world: World, name: str, field: str) -> float:
    """The wall-clock second at which that field was set for the last time after it had none. (A step of the daemon's
    clock changes its value, and not when it was set.)"""
    at, there = 0.0, False
    for change in world.changes:
        if change.path == path_of(name):
            now = (change.after.get("status") or {}).get(field) is not None
            if now and not there:
                at = change.at
            there = now
    return at


def _written_at(world: World, name: str, field: str) -> float:
    """The wall-clock second at which that field of the status got the value that it has in the end."""
    obj = world.experiment_named(name)
    value = (obj or {}).get("status", {}).get(field)
    changes = (each for each in world.changes if each.path == path_of(name))
    return next((each.at for each in changes if (each.after.get("status") or {}).get(field) == value), 0.0)


def accounted_for(world: World, name: str, status: dict[str, Any] | None) -> Iterator[str]:
    """Each epoch ended for one reason, and is counted once under that reason."""
    if status is None or not status["phase"] or repairs(world.scenario):
        return  # (of those that go on within an epoch, oracles.repairs asks)
    doubtful = unrecorded_epochs(world, name) | ended_altered(world, name)
    incidents = [(kind, epoch) for _, kind, experiment, epoch, _ in world.incident_log if experiment == name]
    failed = doubtful | {epoch for kind, epoch in incidents if kind == "failure"}
    disrupted = doubtful | {epoch for kind, epoch in incidents if kind in DISRUPTIONS}
    frozen = [each for each in world.scenario.incidents if isinstance(each, CoordinatorFlaps)]
    disrupted |= {epoch for each in frozen for epoch in failed & set(each.epochs[:MOST_EPOCHS])}  # lost by the platform
    others = world.scenario.ends[name].other_ends
    ended = range(status["epoch"])
    causeless = [epoch for epoch in ended if epoch not in failed | disrupted]
    if len(causeless) > others:
        yield f"{name}: epochs {causeless} ended without a reason"
    sure = sum(epoch in failed and epoch not in disrupted for epoch in ended)
    most = sum(epoch in failed for epoch in ended)
    if not sure - others <= status["restarts"] <= most + others:  # a clock may have expired first
        yield f"{name}: {status['restarts']} restarts are counted, {most} failures were injected"
    free = sum(epoch in disrupted and epoch not in failed for epoch in ended)
    most = sum(epoch in disrupted for epoch in ended)
    if not free - others <= status["disruptions"] <= most:
        yield f"{name}: {status['disruptions']} disruptions are counted, {most} were injected"


def ended(world: World) -> float:
    """When the last experiment was finished, in seconds from the beginning."""
    return max((_written_at(world, name, "finishTime") - EPOCH for name in world.scenario.ends), default=0.0)
