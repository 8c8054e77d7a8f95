"""What must be true at the end of every plan.

Each plan is compared with the end that its scenario states, and with the run of the same scenario without faults (the
oracle of Sieve: the same end state, the same objects created and deleted). Where a fault may rightly change something,
a mask says why (``plans/masks.py``).
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from muster.api.names import LABEL_EXPERIMENT
from muster.api.values.timestamps import seconds_of
from tests.simulation.oracles.departures import lingering
from tests.simulation.oracles.histories import History, history
from tests.simulation.oracles.invariants import OVER
from tests.simulation.plans.masks import (
    CONVERGE,
    PROMPT,
    acted_on_before_seen,
    cause_may_differ,
    events_come_too_late,
    extra_refresh_delay,
    incident_averted,
    unrecorded_epochs,
)
from tests.simulation.plans.plan import COUNTED_IN_WRITES, CRASHES, FOREIGN_CHANGES, Plan
from tests.simulation.scenarios.scenario import End, Fails, name_of
from tests.simulation.world.process import Stage
from tests.simulation.world.world import EPOCH, World

MILESTONES = ("Scheduled", "CoordinatorReady", "Assembled")
"""Conditions that a run to its end passes."""
DISRUPTIONS = ("disruption", "deletion")
ONCE = ("Started", "GangRestart", "Restarted", "Scheduled", "Assembling", "CoordinatorReady", "Running")
"""Reasons that the story may contain once per epoch."""


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a plan. ``summary`` is what is compared with the clean run."""

    plan: Plan
    violations: tuple[str, ...]
    summary: dict[str, Any]
    ended: float
    history: History | None = None
    """Every step, if this is the clean run or was not compared with one."""


def play(plan: Plan, clean: Result | None = None) -> Result:
    """Play a plan and judge it; without ``clean``, by what its scenario states alone."""
    world = World(plan)
    world.play()
    summary = _summary(world)
    violations = (*world.violations, *_judge(world, summary, clean))
    return Result(plan, violations, summary, _ended(world), history(world) if clean is None else None)


def _summary(world: World) -> dict[str, Any]:
    changes = world.api.history.changes
    made = Counter(change.path for change in changes if change.kind == "ADDED" and change.resource != "events")
    gone = Counter(change.path for change in changes if change.kind == "DELETED" and change.resource != "events")
    return {
        "experiments": {name: _status(world, name) for name in world.scenario.ends},
        "created": dict(sorted(made.items())),
        "deleted": dict(sorted(gone.items())),
        "left": {pod["metadata"]["name"]: pod["status"]["phase"] for pod in world.objects("pods")},
    }


def _status(world: World, name: str) -> dict[str, Any] | None:
    obj = world.experiment_named(name)
    if obj is None:
        return None
    status = obj.get("status") or {}
    cause = status.get("cause")
    return {
        "phase": status.get("phase"),
        "reason": status.get("reason"),
        "epoch": status.get("epoch"),
        "restarts": status.get("restarts"),
        "disruptions": status.get("disruptions"),
        "cause": (cause.get("reason"), cause.get("rank")) if cause else None,
        "conditions": {c["type"]: (c["status"], c["reason"]) for c in status.get("conditions", ())},
    }


def _judge(world: World, summary: dict[str, Any], clean: Result | None) -> Iterator[str]:
    for name, end in world.scenario.ends.items():
        yield from _end(world, name, end, summary["experiments"][name])
        yield from _accounts(world, name, summary["experiments"][name])
    yield from _objects(world, summary, clean)
    yield from lingering(world)
    yield from _rest(world, clean)
    yield from _forgotten(world)
    yield from _found(world)
    yield from _stories(world)
    yield from _repeated(world, clean)


def _end(world: World, name: str, end: End, status: dict[str, Any] | None) -> Iterator[str]:
    """The experiment ends as its scenario states."""
    if status is None:
        if end.phase:
            yield f"{name} no longer exists; it should be {end.phase}"
        return
    plan = world.plan
    wanted: dict[str, Any] = {"phase": end.phase, "reason": end.reason}
    if incident_averted(world, name):
        wanted = {"phase": "Succeeded", "reason": "AllMembersSucceeded"}
    # A deleted pod ends an epoch: then only _accounts can say what is right.
    if not (plan.has(*FOREIGN_CHANGES) or unrecorded_epochs(world, name)):
        wanted |= {"restarts": end.restarts, "disruptions": end.disruptions}
        if not acted_on_before_seen(world, name):  # the daemon cannot end an epoch that it was never asked to begin
            wanted["epoch"] = end.epoch
        if not cause_may_differ(plan):
            rank = end.cause[1] if end.cause else None
            rank = rank % plan.size if rank is not None else None
            wanted["cause"] = (end.cause[0], rank) if end.cause else None
    got = {key: status[key] for key in wanted}
    if got != wanted:
        yield f"{name} ends as {got}; it should be {wanted}"
    if end.clock is not None:
        yield from _clock(world, name, end)


def _clock(world: World, name: str, end: End) -> Iterator[str]:
    obj = world.experiment_named(name)
    status = obj["status"] if obj else {}
    late = seconds_of(status.get("finishTime")) - seconds_of(status.get(end.since)) - (end.clock or 0.0)
    allowed = PROMPT + sum(fault.seconds for fault in world.plan.faults)
    if not -0.001 <= late <= allowed:
        yield f"{name} ends {late:.3f} s after its clock expired"


def _accounts(world: World, name: str, status: dict[str, Any] | None) -> Iterator[str]:
    """Each epoch ended for one reason, and is counted once under that reason."""
    if status is None or not status["phase"]:
        return
    doubtful = unrecorded_epochs(world, name)
    incidents = [(kind, epoch) for _, kind, experiment, epoch, _ in world.incident_log if experiment == name]
    failed = doubtful | {epoch for kind, epoch in incidents if kind == "failure"}
    disrupted = doubtful | {epoch for kind, epoch in incidents if kind in DISRUPTIONS}
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


def _objects(world: World, summary: dict[str, Any], clean: Result | None) -> Iterator[str]:
    """No object is created twice, and the same objects are created, deleted and left as in the clean run.

    A pod that a user deleted before its program ran may be created again in the same epoch: no member has met it. And
    a create of a killed leader that is carried out late takes effect: no precondition can prevent it.
    """
    doubtful = any(unrecorded_epochs(world, name) for name in world.scenario.ends)
    not_started = Counter(p.path for p in world.kubelet.processes.values() if p.stage is Stage.WAITING)
    for path, times in summary["created"].items():
        if times > 1 + not_started[path] * world.plan.has("delete-pod") + (path in world.created_late) + doubtful:
            yield f"{path} is created {times} times"
    yield from _left(world, summary)
    if clean is None or doubtful or world.plan.has(*FOREIGN_CHANGES):
        return  # a deleted pod may cause an epoch that the clean run lacks
    if extra := set(summary["created"]) - set(clean.summary["created"]):
        yield f"created, but not in the clean run: {sorted(extra)[:4]}"
    # Users act at a fixed second, whatever a fault has delayed until then. And survivors of a gang that is taken down
    # may end by themselves before they are deleted; then they are kept for their logs.
    if not world.scenario.user_actions and world.scenario.end.phase != "Failed":
        for what in ("created", "deleted", "left"):
            got, wanted = summary[what], clean.summary[what]
            if cause_may_differ(world.plan):
                got, wanted = _per_epoch(got), _per_epoch(wanted)
                if any(isinstance(event, Fails) and event.start for event in world.scenario.incidents):
                    # A member that fails at its start may end its epoch before the others were created.
                    got = _with_uncreated(got, wanted, summary["created"], clean.summary["created"])
            if got != wanted:
                yield f"{what}: {_difference(wanted, got)}"
    for name, status in summary["experiments"].items():
        wanted = clean.summary["experiments"][name]
        if not status or not wanted:
            continue
        # A daemon that receives everything minutes late never sees the gang assemble, and its conditions say so;
        # and users may end an experiment before it has come that far.
        unseen = MILESTONES if events_come_too_late(world.plan) or world.scenario.user_actions else ()
        differs = {key for key, said in status["conditions"].items() if wanted["conditions"].get(key) != said}
        if differs.difference(unseen):
            yield f"{name}: conditions: {_difference(wanted['conditions'], status['conditions'])}"


def _per_epoch(objects: dict[str, Any]) -> dict[str, int]:
    """Objects per kind and epoch, by the suffix that all names of an epoch share. The pod of the cause is kept, and
    if the cause may differ, so may the pod."""
    return dict(Counter(f"{name.rpartition('/')[0]} {name.rsplit('-', 1)[-1]}" for name in objects))


def _with_uncreated(
    got: dict[str, int], wanted: dict[str, int], made: dict[str, Any], meant: dict[str, Any]
) -> dict[str, int]:
    """``got``, completed for members that were never created, but for no more than these."""
    born, intended = _by_suffix(_per_epoch(made)), _by_suffix(_per_epoch(meant))
    counts = dict(got)
    for key, number in wanted.items():
        suffix = _suffix(key)
        if 0 < number - counts.get(key, 0) <= intended.get(suffix, 0) - born.get(suffix, 0):
            counts[key] = number
    return counts


def _by_suffix(counts: dict[str, int]) -> dict[str, int]:
    return {_suffix(key): number for key, number in counts.items()}


def _suffix(key: str) -> str:
    """The epoch in a key of ``_per_epoch``, without the kind."""
    return key.rpartition(" ")[2]


def _repeated(world: World, clean: Result | None) -> Iterator[str]:
    """If the only fault is that events come twice, the run is the same as the clean run."""
    disturbed = world.plan.shuffle or {fault.kind for fault in world.plan.faults} != {"double"}
    if clean is None or clean.history is None or disturbed:
        return
    if history(world).digest != clean.history.digest:
        yield "events that come twice make a difference"


def _left(world: World, summary: dict[str, Any]) -> Iterator[str]:
    """A finished experiment has no running pod, and a deleted one has no pod at all."""
    for pod in world.objects("pods"):
        name, phase = pod["metadata"]["name"], pod.get("status", {}).get("phase", "Pending")
        metadata = pod["metadata"]
        status = summary["experiments"][name_of(metadata["namespace"], metadata["labels"][LABEL_EXPERIMENT])]
        if status is None:
            yield f"{name} exists although its Experiment is gone"
        elif status["phase"] in OVER and phase not in OVER:
            yield f"{name} is {phase} although its Experiment is {status['phase']}"


def _difference(wanted: dict[str, Any], got: dict[str, Any]) -> str:
    keys = [key for key in {**wanted, **got} if wanted.get(key) != got.get(key)]
    return "; ".join(f"{key}: {got.get(key)} instead of {wanted.get(key)}" for key in keys[:4])


def _ended(world: World) -> float:
    """When the last experiment was finished, in seconds from the beginning."""
    latest = 0.0
    for obj in world.experiments():
        latest = max(latest, seconds_of((obj.get("status") or {}).get("finishTime")) - EPOCH)
    return latest


def _rest(world: World, clean: Result | None) -> Iterator[str]:
    """When nothing changes any more, the daemon soon stops writing."""
    own = {write.committed for write in world.writes}
    changes = [change.at for change in world.api.history.changes if change.version not in own]
    faults = [at + fault.seconds for fault, at in world.injected.items()]
    actions = [EPOCH + step.second for step in world.scenario.user_actions]
    last = max([*changes, *faults, *actions])
    written = world.writes[-1].at if world.writes else 0.0
    if written > last + world.scenario.settle_within + extra_refresh_delay(world):
        yield f"the last write comes {written - last:.1f} s after every other change"
    if clean is not None and not world.plan.has(*FOREIGN_CHANGES):
        late = _ended(world) - clean.ended - sum(fault.seconds for fault in world.plan.faults)
        if late > CONVERGE:
            yield f"it ends {late:.1f} s later than the faults explain"


def _forgotten(world: World) -> Iterator[str]:
    """The last daemon keeps nothing of experiments that are gone."""
    daemon = world.runs[-1].daemon
    assert daemon is not None
    existing = {obj["metadata"]["uid"] for obj in world.experiments()}
    views = {uid for _, uid in daemon.index.members}
    for what, kept in (("entries", set(daemon.index.entries)), ("views", views)):
        if left := kept - existing:
            yield f"{what} of {len(left)} experiments that are gone are kept"


def _found(world: World) -> Iterator[str]:
    """The last daemon finds every experiment by namespace and name, as the roll-call page asks for it."""
    daemon = world.runs[-1].daemon
    assert daemon is not None
    for obj in world.experiments():
        metadata = obj["metadata"]
        subject = daemon.find(metadata["namespace"], metadata["name"])
        if subject is None or subject.plan.uid != metadata["uid"]:
            yield f"looking for {metadata['namespace']}/{metadata['name']} finds {subject and subject.plan.uid}"


def _stories(world: World) -> Iterator[str]:
    """Each line of the story appears once and has its Event, unless the write of an Event failed."""
    plan = world.plan
    events = [change.after for change in world.api.history.changes if change.resource == "events"]
    written = Counter((event["involvedObject"]["uid"], event["reason"], event["message"]) for event in events)
    lines = {(uid, reason, message) for (uid, _, reason, message) in world.invariants.story_lines}
    for obj in world.experiments():
        story = (obj.get("status") or {}).get("story", ())
        turns = Counter((line.get("epoch", 0), line["reason"]) for line in story)
        twice = [turn for turn, times in turns.items() if times > 1 and turn[1] in ONCE]
        if twice:
            yield f"{obj['metadata']['name']}: the story has these lines twice: {twice}"
    hit = [fault for fault in plan.faults if fault.kind in COUNTED_IN_WRITES and _is_event(world, fault.at)]
    if not hit and not plan.has(*CRASHES):
        there = {obj["metadata"]["uid"] for obj in world.experiments()}  # a deleted Experiment needs no Events
        for uid, reason, message in sorted(line for line in lines - set(written) if line[0] in there):
            yield f"there is no Event for {reason}: {message} ({uid[-4:]})"
    yield from _counters(world)


def _is_event(world: World, number: int) -> bool:
    return number <= len(world.writes) and world.writes[number - 1].resource == "events"


def _counters(world: World) -> Iterator[str]:
    """Restarts and outcomes are counted once each; a crash may lose a count but never double it."""
    restarts = outcomes = ended = finished = 0.0
    for run in world.runs:
        restarts += run.count("muster_gang_restarts")
        outcomes += run.count("muster_outcomes")
    for status in world.statuses():
        ended += status["restarts"] + status["disruptions"]
        finished += status["phase"] in ("Succeeded", "Failed")
    exact = not world.plan.has(*CRASHES)
    if restarts > ended or (exact and restarts < ended):
        yield f"{restarts:g} gang restarts are counted, {ended:g} happened"
    if outcomes > finished or (exact and outcomes < finished):
        yield f"{outcomes:g} outcomes are counted, {finished:g} experiments are finished"
