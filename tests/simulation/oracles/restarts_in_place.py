"""Every restart of a container in its pod is counted, in status and metric, and has its Event; no other one is."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.simulation.plans.plan import CRASHES, FOREIGN_CHANGES
from tests.simulation.world.process import WATCHED
from tests.simulation.world.world import World

SAID = re.compile(r"rank (\d+) \((?:\S+, )?(\S+)\) .*; started again in its pod (once|\d+ times)")


def counted_in_place(world: World) -> Iterator[str]:
    """The restarts that are not counted or said, and those that never were."""
    if world.plan.has(*FOREIGN_CHANGES):
        return
    truth = Counter[str]()
    pods: dict[str, int] = {}
    for process in world.kubelet.processes.values():
        truth[process.experiment_name] += process.restarts
        pods[process.name] = process.restarts
    counts = {name: (status.get("containerRestarts") or {}).get("count", 0) for name, status in _known(world)}
    for name, count in counts.items():
        if count != truth[name]:
            yield f"{count} restarts in the pods of {name} are counted; there were {truth[name]}"
    metric, all_restarts = sum(run.count("muster_container_restarts") for run in world.runs), truth.total()
    if metric > all_restarts or (metric < all_restarts and not world.plan.has(*CRASHES)):
        yield f"the metric has {metric:g} restarts in pods; there were {all_restarts}"
    said = Counter[str]()
    for change in world.changes:
        if change.resource != "events" or change.after["reason"] != "RestartedInPlace" or change.kind == "DELETED":
            continue
        message = change.after["message"]
        found = SAID.search(message)
        if found is None or found[2] not in pods:
            yield f"an Event names no pod that was started again: {message}"
            return
        times = 1 if found[3] == "once" else int(found[3].split()[0])
        if times > pods[found[2]]:
            yield f"an Event says that {found[2]} was started again {found[3]}; it was {pods[found[2]]} times"
        said[found[2].rpartition("-")[0] if found[2].startswith(WATCHED) else "run"] += 1
    missed = [name for name in truth if truth[name] and not said[name]]
    if missed and not world.plan.has(*CRASHES):
        yield f"no Event says that containers of {missed} were started again"


def _known(world: World) -> Iterator[tuple[str, dict[str, Any]]]:
    """What is known at the end of each run: from its object, or from the daemon that leads."""
    for name in world.scenario.ends:
        if (obj := world.experiment_named(name)) is not None:
            yield name, obj.get("status") or {}
    leads = [run.daemon for run in world.runs if run.daemon is not None and not run.transport.dead]
    for daemon in leads[-1:] if world.scenario.watched else ():
        subject = daemon.find("team", f"pods/{WATCHED}")
        if subject is not None and subject.record is not None:
            in_place = subject.record.in_place
            yield WATCHED, {"containerRestarts": {"count": in_place.count if in_place is not None else 0}}
