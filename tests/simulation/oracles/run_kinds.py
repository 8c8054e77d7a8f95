"""The own status of an object of another kind agrees with what happened, and the record beside it is never lost.

Its readers know the kind's own conditions and counters and nothing of Muster. Each of them is judged over the whole
life of the object, by the persisted statuses and by what its programs did.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from muster.kinds.planning.run_object import TYPE
from muster.state.vocabulary.subject import JOBSET
from tests.fakes.history import Change, Object
from tests.simulation.oracles.departures import GRACE, departures
from tests.simulation.oracles.invariants import OVER
from tests.simulation.oracles.objects import seen_late
from tests.simulation.plans.masks import PROMPT, culprit_not_awaited, unrecorded_epochs
from tests.simulation.plans.plan import FOREIGN_CHANGES
from tests.simulation.world.world import World

FINAL = ("Completed", "Succeeded", "Failed")
"""Conditions that are forever, and exclude each other."""
FIRST_WAIT = 10.0
"""Seconds before a Job replaces the first pod that failed (kubernetes: pkg/controller/job/backoff_utils.go)."""
EARLY = 0.1
GROWING = ("restarts", "restartsCountTowardsMax")
"""Counters that never fall."""


def own_status_true(world: World) -> Iterator[str]:
    """What is wrong with the own status of the objects of another kind."""
    if not world.operator.of_run_kind:
        return
    for name in world.scenario.ends:
        path = world.object_path(name)
        changes = [each for each in world.api.history.changes if each.path == path]
        for life in _lives(changes):
            yield from _record_kept(name, life)
            yield from _final_for_ever(name, life)
            yield from _times_of_turns(name, life)
            yield from _only_grows(name, life)
        if changes and changes[-1].kind != "DELETED":
            yield from _as_stated(world, name, changes[-1].after.get("status") or {})
    yield from strangers_untouched(world)


def no_pod_after_the_end(world: World) -> Iterator[str]:
    """No pod is made for an object of another kind once its end was persisted."""
    if not world.operator.of_run_kind:
        return
    over: dict[str, float] = {}
    for change in world.changes:
        if change.resource == "experiments" and (change.after.get("status") or {}).get("phase") in OVER:
            over.setdefault(change.after["metadata"]["uid"], change.at)
    for pod in departures(world):
        made = world.kubelet.processes[pod.uid].created_at
        late = world.kubelet.processes[pod.uid].path in world.created_late
        if made > over.get(pod.owner, made) and not late:
            yield f"{pod.name} is made {made - over[pod.owner]:.1f} s after the end of its object"


def _lives(changes: list[Change]) -> Iterator[list[Change]]:
    """The changes of each object that had the name."""
    uids = dict.fromkeys(each.after["metadata"]["uid"] for each in changes)
    for uid in uids:
        yield [each for each in changes if each.after["metadata"]["uid"] == uid and each.kind != "DELETED"]


def _record_kept(name: str, life: list[Change]) -> Iterator[str]:
    """Once there is a record, every later status has it, and it is the first condition."""
    begun = False
    for change in life:
        kinds = [each["type"] for each in _conditions(change.after)]
        if begun and kinds[:1] != [TYPE]:
            yield f"{name}: the record is lost (resourceVersion {change.version})"
        if len(kinds) != len(set(kinds)):
            yield f"{name}: a condition is there twice: {kinds}"
        begun = begun or TYPE in kinds


def _final_for_ever(name: str, life: list[Change]) -> Iterator[str]:
    """A terminal condition comes once and stays, and there is no second one."""
    before = ""
    for change in life:
        final = [each["type"] for each in _conditions(change.after) if each["type"] in FINAL and _true(each)]
        said = (change.after.get("status") or {}).get("terminalState", "")
        if len(final) > 1 or (before and final != [before]):
            yield f"{name}: {before or final[0]} is final, and {final} follows"
            return
        if said and final != [said]:
            yield f"{name}: terminalState is {said}, and the conditions say {final}"
        before = final[0] if final else ""


def _times_of_turns(name: str, life: list[Change]) -> Iterator[str]:
    """The time of a condition changes with its status, and only then."""
    for one, other in pairwise(life):
        old = {each["type"]: each for each in _conditions(one.after) if each["type"] != TYPE}
        for now in _conditions(other.after):
            was = old.get(now["type"])
            if was is None or "lastTransitionTime" not in now:
                continue
            turned, moved = was["status"] != now["status"], was["lastTransitionTime"] != now["lastTransitionTime"]
            if moved and not turned:
                yield f"{name}: the time of {now['type']} moves although it stays {now['status']}"


def _only_grows(name: str, life: list[Change]) -> Iterator[str]:
    for one, other in pairwise(life):
        before, after = one.after.get("status") or {}, other.after.get("status") or {}
        for field in GROWING:
            if after.get(field, 0) < before.get(field, 0):
                yield f"{name}: {field} falls from {before[field]} to {after.get(field, 0)}"


def _as_stated(world: World, name: str, status: Object) -> Iterator[str]:
    """The counters and conditions that the scenario states; where nothing else explains others."""
    if world.plan.has(*FOREIGN_CHANGES) or unrecorded_epochs(world, name) or culprit_not_awaited(world, name):
        return
    late = bool(world.scenario.user_actions) or seen_late(world)
    shown = {**status, "conditions": _shown(_conditions(status, own=True))}
    for field, wanted in world.scenario.ends[name].own.items():
        if late and field == "conditions":  # only what holds at the end is certain
            wanted = tuple(each for each in wanted if each.partition("/")[0] in FINAL)
            shown[field] = tuple(each for each in shown[field] if each.partition("/")[0] in FINAL)
        if shown.get(field) != wanted:
            yield f"{name}: its own status says {field} {shown.get(field)}; it should be {wanted}"
    if status.get("terminalState") == "Completed" and world.operator.subject is JOBSET:
        yield from _counts_are_true(world, name, status)


def _counts_are_true(world: World, name: str, status: Object) -> Iterator[str]:
    """No more Jobs are called succeeded than have a pod that did."""
    epoch = max(each.epoch for each in world.kubelet.processes.values() if each.experiment_name == name)
    for row in status["replicatedJobsStatus"]:
        done = {each.job for each in world.kubelet.named(name, epoch) if each.group == row["name"] and each.left}
        if row["succeeded"] > len(done):
            yield f"{name}: {row['succeeded']} Jobs of {row['name']} are called succeeded; {len(done)} have"


def pods_replaced_as_stated(world: World) -> Iterator[str]:
    """A Job replaces a failed pod after 10 s, and after twice as long for each failed pod of it before."""
    if not world.operator.jobs or "failurePolicy" in world.scenario.spec or world.plan.faults:
        return  # a rule may run the whole Job again, at once
    failures: Counter[tuple[str, int, str, int]] = Counter()
    ended = sorted(world.kubelet.processes.values(), key=lambda each: each.ended_at)
    for process in (each for each in ended if each.code):
        job = process.experiment, process.epoch, process.group, process.job
        wanted = FIRST_WAIT * 2 ** failures[job]
        failures[job] += 1
        place = (*job, process.rank, process.attempt + 1)
        for after in ended:
            if (after.experiment, after.epoch, after.group, after.job, after.rank, after.attempt) == place:
                waited = after.created_at - process.ended_at
                early = GRACE if process.terminating else EARLY  # the wait of a pod that is deleted begins with that
                if not wanted - early <= waited <= wanted + PROMPT:
                    yield f"{process.name} is replaced after {waited:.1f} s; its Job waits for {wanted:g} s"


def strangers_untouched(world: World) -> Iterator[str]:
    """Objects of the kind that others manage are not written, and get no pods."""
    for path in world.users.strangers:
        if any(write.path.startswith(path) for write in world.writes):
            yield f"{path} is written, which another controller manages"
    objects = world.api.objects
    owners = {objects[path]["metadata"]["uid"] for path in world.users.strangers if path in objects}
    for pod in departures(world):
        if pod.owner in owners:
            yield f"{pod.name} is made for an object that another controller manages"


def _conditions(obj: Mapping[str, Any], *, own: bool = False) -> list[Object]:
    status = obj if own else obj.get("status") or {}
    return [each for each in status.get("conditions") or () if not (own and each["type"] == TYPE)]


def _shown(conditions: list[Object]) -> tuple[str, ...]:
    texts = ((each, f"{each['type']}/{each['reason']}") for each in conditions)
    return tuple(text if _true(each) else f"({text})" for each, text in texts)


def _true(condition: Object) -> bool:
    return bool(condition["status"] == "True")
