"""Members and jobs that run again within their epoch: each attempt is charged, waits, and is within its limits."""

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from muster.api.values.rank_ranges import from_ranges
from muster.api.values.timestamps import seconds_of
from tests.fakes.history import Object
from tests.scenarios.operators import OPERATORS
from tests.scenarios.scenario import Scenario, path_of
from tests.simulation.plans.plan import CRASHES, FOREIGN_CHANGES

if TYPE_CHECKING:
    from tests.simulation.world.world import World

PARTIAL = ("RestartMember", "RestartJob", "Ignore")
EARLY = 0.1
"""Seconds by which a pod may be created before its back-off is over, as for epochs (``oracles.backoffs``)."""
SIZE = 1000
"""More members than any gang has."""


def repairs(scenario: Scenario) -> bool:
    """A rule of the scenario, or of its operator, leaves the rest of the gang at work."""
    alone = any(OPERATORS[name].cluster or OPERATORS[name].jobs for name in scenario.operators)
    return alone or any(rule["action"] in PARTIAL for rule in _rules(scenario))


def attempts_of(status: Object) -> dict[int, int]:
    """The attempt of each rank that has one other than 0."""
    return {rank: each["attempt"] for each in status.get("attempts", ()) for rank in from_ranges(each["ranks"], SIZE)}


def begun(before: Object, after: Object) -> list[int]:
    """The ranks that begin another attempt between two statuses."""
    if before["epoch"] != after["epoch"]:
        return []
    old = attempts_of(before)
    return [rank for rank, attempt in attempts_of(after).items() if attempt != old.get(rank, 0)]


def repaired(world: "World") -> Iterator[str]:
    """What is wrong with the attempts of the experiments."""
    for name in world.scenario.ends:
        changes = [each for each in world.changes if each.path == path_of(name)]
        said = [each.after for each in changes if (each.after.get("status") or {}).get("phase")]
        course = [each["status"] for each in said]
        for one, other in pairwise(said):
            if one["metadata"]["uid"] == other["metadata"]["uid"]:  # else another object of the name
                yield from _only_grows(name, one["status"], other["status"])
        if course:
            yield from _within_limits(world, name, course[-1])
        if course and repairs(world.scenario):
            yield from _charged(world, name, course[-1])
            yield from _waited(world, name, course)


def _only_grows(name: str, before: Object, after: Object) -> Iterator[str]:
    if before["epoch"] == after["epoch"]:
        now = attempts_of(after)
        for rank, attempt in attempts_of(before).items():
            if now.get(rank, 0) < attempt:
                yield f"{name}: rank {rank} goes back from attempt {attempt} to {now.get(rank, 0)}"


def _within_limits(world: "World", name: str, status: Object) -> Iterator[str]:
    limit = world.scenario.spec.get("restartPolicy", {}).get("backoffLimit")
    counted = status["restarts"] - status.get("renewedRestarts", 0)
    if limit is not None and counted > limit:
        yield f"{name}: {counted} restarts are counted, {limit} are allowed"
    used = {each["name"]: each["used"] for each in status.get("ruleUses", ())}
    for rule in _rules(world.scenario):
        if "limit" in rule and used.get(rule["name"], 0) > rule["limit"]:
            yield f"{name}: rule {rule['name']} was applied {used[rule['name']]} times, {rule['limit']} are allowed"


def _charged(world: "World", name: str, status: Object) -> Iterator[str]:
    """Each incident is one restart, of the right account. (A user who deletes a pod adds disruptions.)"""
    if world.plan.has(*FOREIGN_CHANGES, *CRASHES):
        return
    kinds = [kind for _, kind, experiment, _, _ in world.incident_log if experiment == name]
    failures = kinds.count("failure")
    if status["restarts"] > failures:
        yield f"{name}: {status['restarts']} restarts are counted, {failures} failures were injected"
    if status["disruptions"] > len(kinds) - failures:
        yield f"{name}: {status['disruptions']} disruptions are counted, {len(kinds) - failures} were injected"


def _waited(world: "World", name: str, course: list[Object]) -> Iterator[str]:
    """No pod of an attempt is created before its back-off is over."""
    due: dict[tuple[int, int, int], float] = {}
    for status in course:
        for each in status.get("attempts", ()):
            for rank in from_ranges(each["ranks"], SIZE):
                due.setdefault((status["epoch"], rank, each["attempt"]), _moment(each))
    for process in world.kubelet.processes.values():
        at = due.get((process.epoch, process.rank, process.attempt), 0.0)
        if process.experiment_name == name and not world.plan.faults and process.created_at < at - EARLY:
            yield f"{process.name} is created {at - process.created_at:.1f} s before its back-off is over"


def _moment(attempts: Object) -> float:
    return seconds_of(attempts["resumeTime"]) if "resumeTime" in attempts else 0.0


def _rules(scenario: Scenario) -> list[dict[str, Any]]:
    rules: list[dict[str, Any]] = scenario.spec.get("failurePolicy", {}).get("rules", [])
    return rules
