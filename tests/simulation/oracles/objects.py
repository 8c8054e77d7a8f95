"""The objects that there were and that are left are those of the clean run."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from muster.api.names import LABEL_EXPERIMENT
from tests.scenarios.incidents import Fails, Sidecar
from tests.scenarios.scenario import SubmitsAgain, name_of
from tests.simulation.oracles.invariants import OVER
from tests.simulation.oracles.repairs import repairs
from tests.simulation.oracles.result import Result
from tests.simulation.plans.masks import (
    PROMPT,
    acted_on_before_seen,
    cause_may_differ,
    culprit_not_awaited,
    ended_unwatched,
    events_come_too_late,
    queue_unseen,
    unrecorded_epochs,
)
from tests.simulation.plans.plan import CRASHES, FOREIGN_CHANGES
from tests.simulation.world.process import Stage
from tests.simulation.world.world import World

MILESTONES = ("Scheduled", "CoordinatorReady", "Assembled")
"""Conditions that a run to its end passes."""


def same_objects(world: World, summary: dict[str, Any], clean: Result | None) -> Iterator[str]:
    """No object is created twice, and the same objects are created, deleted and left as in the clean run.

    A pod that a user deleted before its program ran may be created again in the same epoch: no member has met it. And
    a create of a killed leader that is carried out late takes effect: no precondition can prevent it.
    """
    doubtful = any(unrecorded_epochs(world, name) for name in world.scenario.ends)
    not_started = Counter(p.path for p in world.kubelet.processes.values() if p.stage is Stage.WAITING)
    for path, times in summary["created"].items():
        if "/namespaces/" not in path:
            continue  # discovery of a kind that is served again
        named = path.rsplit("/", 1)[1] in world.scenario.ends  # the Experiment or its Service: no uid is in the name
        lives = 1 + (sum(isinstance(each, SubmitsAgain) for each in world.scenario.user_actions) if named else 0)
        if "/workloads/" in path:  # its name holds its podSets: a resumed experiment queues under the same one
            lives += sum(each.spec.get("suspend") is False for each in world.scenario.user_actions)
        deleted = not_started[path] if world.plan.has("delete-pod") else 0
        if repairs(world.scenario) and world.plan.has(*CRASHES):  # one that went while no daemon ran is made again
            lives += sum(kind != "failure" for _, kind, *_ in world.incident_log)
        if times > lives + deleted + (path in world.created_late) + doubtful:
            yield f"{path} is created {times} times"
    yield from _left(world, summary)
    other_end = queue_unseen(world) or any(culprit_not_awaited(world, name) for name in world.scenario.ends)
    if clean is None or doubtful or other_end or world.plan.has(*FOREIGN_CHANGES):
        return  # a deleted pod may cause an epoch that the clean run lacks
    extra = set(summary["created"]) - set(clean.summary["created"])
    # (Of an experiment that is deleted, pods are created until that is seen.)
    if (
        extra
        and world.scenario.end.phase
        and not any(acted_on_before_seen(world, name) for name in world.scenario.ends)
    ):
        yield f"created, but not in the clean run: {sorted(extra)[:4]}"
    # Users act at a fixed second, whatever a fault has delayed until then. And survivors of a gang that is taken down
    # may end by themselves before they are deleted; then they are kept for their logs.
    # And so may an injected container.
    sidecars = any(isinstance(each, Sidecar) for each in world.scenario.incidents)
    raced = world.scenario.user_actions or sidecars
    if not raced and world.scenario.end.phase != "Failed":
        for what in ("created", "deleted", "left"):
            got, wanted = summary[what], clean.summary[what]
            # The head of a cluster may be lost while a late daemon has not yet created the others. And members that
            # wait for no other may end while a daemon that was away, or waits for an answer, has not.
            late = any(fault.seconds > PROMPT for fault in world.plan.faults)
            unfinished = late and (world.operator.cluster or _ended_incomplete(world))
            if unfinished or cause_may_differ(world.plan) or world.plan.has("refuse"):
                got, wanted = _per_epoch(got), _per_epoch(wanted)
                if unfinished or any(isinstance(event, Fails) and event.start for event in world.scenario.incidents):
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
        unseen = MILESTONES if world.scenario.user_actions or seen_late(world) else ()
        # Members that do not meet, and end one by one, may have been there together only while no daemon ran.
        if ended_unwatched(world) and not world.operator.meets:
            unseen = (*unseen, "Assembled")
        differs = {key for key, said in status["conditions"].items() if wanted["conditions"].get(key) != said}
        if differs.difference(unseen):
            yield f"{name}: conditions: {_difference(wanted['conditions'], status['conditions'])}"


def seen_late(world: World) -> bool:
    """What happened was seen when it was over; of an experiment that fails, what its last epoch had reached."""
    failed = world.scenario.end.phase == "Failed" and any(fault.seconds > PROMPT for fault in world.plan.faults)
    return failed or events_come_too_late(world.plan)


def _left(world: World, summary: dict[str, Any]) -> Iterator[str]:
    """A finished experiment has no running pod, and a deleted one has no pod at all."""
    for pod in world.members():
        name, phase = pod["metadata"]["name"], pod.get("status", {}).get("phase", "Pending")
        metadata = pod["metadata"]
        status = summary["experiments"][name_of(metadata["namespace"], metadata["labels"][LABEL_EXPERIMENT])]
        if status is None:
            yield f"{name} exists although its Experiment is gone"
        elif status["phase"] in OVER and phase not in OVER:
            yield f"{name} is {phase} although its Experiment is {status['phase']}"


def _per_epoch(objects: dict[str, Any]) -> dict[str, int]:
    """Objects per kind and epoch, by the suffix that all names of an epoch share. The pod of the cause is kept, and
    if the cause may differ, so may the pod."""
    return dict(Counter(f"{name.rpartition('/')[0]} {name.rsplit('-', 1)[-1]}" for name in objects))


def _ended_incomplete(world: World) -> bool:
    """Some epoch is over, and no status says that all its members had a node."""
    begun, complete = set[tuple[str, int]](), set[tuple[str, int]]()
    for change in world.changes:
        status = change.after.get("status") or {}
        if change.resource == "experiments" and "epoch" in status:
            epoch = change.path, status["epoch"]
            begun.add(epoch)
            if status.get("scheduledTime"):
                complete.add(epoch)
    return bool(begun - complete)


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


def _difference(wanted: dict[str, Any], got: dict[str, Any]) -> str:
    keys = [key for key in {**wanted, **got} if wanted.get(key) != got.get(key)]
    return "; ".join(f"{key}: {got.get(key)} instead of {wanted.get(key)}" for key in keys[:4])
