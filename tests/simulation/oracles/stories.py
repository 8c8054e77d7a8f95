"""Each line of the story is said once: in the status, as an Event, and in the counters."""

from collections import Counter
from collections.abc import Iterator

from tests.scenarios.incidents import CoordinatorFlaps
from tests.simulation.oracles.repairs import repairs
from tests.simulation.plans.masks import unrecorded_epochs
from tests.simulation.plans.plan import COUNTED_IN_WRITES, CRASHES
from tests.simulation.world.world import World

ONCE = ("Started", "GangRestart", "Restarted", "Scheduled", "Assembling", "CoordinatorReady", "Running")
"""Reasons that the story may contain once per epoch."""


def told_once(world: World) -> Iterator[str]:
    """Each line of the story appears once and has its Event, unless the write of an Event failed.

    The status of an object of another kind has no story: its Events are all there is of it.
    """
    plan = world.plan
    if world.operator.of_run_kind:
        yield from _counters(world)
        return
    events = [change.after for change in world.changes if change.resource == "events"]
    written = Counter((event["involvedObject"]["uid"], event["reason"], event["message"]) for event in events)
    lines = {(uid, reason, message) for (uid, _, reason, message) in world.invariants.story_lines}
    flaps = any(isinstance(each, CoordinatorFlaps) for each in world.scenario.incidents)
    for obj in world.experiments():
        story = (obj.get("status") or {}).get("story", ())
        turns = Counter((line.get("epoch", 0), line["reason"]) for line in story)
        flaps = flaps or _out_of_sight(world)
        once = set(ONCE) - {"CoordinatorReady"} if flaps else set(ONCE)
        # A coordinator that is lost unseen, before a status said that all members have a node, is made again.
        made_again = world.operator.cluster or plan.has("expire")
        again = unrecorded_epochs(world, obj["metadata"]["name"]) if made_again else set[int]()
        twice = [turn for turn, times in turns.items() if times > 1 and turn[1] in once and turn[0] not in again]
        if twice:
            yield f"{obj['metadata']['name']}: the story has these lines twice: {twice}"
    hit = [fault for fault in plan.faults if fault.kind in COUNTED_IN_WRITES and _is_event(world, fault.at)]
    if not hit and not plan.has(*CRASHES):
        there = {obj["metadata"]["uid"] for obj in world.experiments()}  # a deleted Experiment needs no Events
        for uid, reason, message in sorted(line for line in lines - set(written) if line[0] in there):
            yield f"there is no Event for {reason}: {message} ({uid[-4:]})"
    yield from _counters(world)


def _out_of_sight(world: World) -> bool:
    """A coordinator's pod was altered: it is not asked until the watch shows it again. Where no coordinator is asked,
    that was the pod of the only member that was ready."""
    found = (world.kubelet.processes[uid] for uid in world.users.altered)
    return any(each.host == each.coordinator_host or not world.operator.probed for each in found)


def _is_event(world: World, number: int) -> bool:
    return number <= len(world.writes) and world.writes[number - 1].resource == "events"


def _counters(world: World) -> Iterator[str]:
    """Restarts and outcomes are counted once each; a crash may lose a count but never double it."""
    restarts = outcomes = ended = finished = 0.0
    for run in world.runs:
        restarts += run.count("muster_gang_restarts")
        outcomes += run.count("muster_outcomes")
    for status in world.statuses():
        if repairs(world.scenario):  # the others were of members, within an epoch
            ended += status.get("gangRestarts", 0)
        else:
            ended += status["restarts"] + status["disruptions"] + bool(status.get("restartRequest"))
        finished += status["phase"] in ("Succeeded", "Failed")
    finished += bool(world.scenario.watched)  # each daemon begins anew with a run of which it holds the record
    exact = not world.plan.has(*CRASHES)
    if restarts > ended or (exact and restarts < ended):
        yield f"{restarts:g} gang restarts are counted, {ended:g} happened"
    if outcomes > finished or (exact and outcomes < finished):
        yield f"{outcomes:g} outcomes are counted, {finished:g} experiments are finished"
