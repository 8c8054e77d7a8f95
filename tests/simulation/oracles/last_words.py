"""A cause is what really ended the process, and no word of its launcher, nor one from before its gang was at work."""

import json
import re
import signal
from collections.abc import Iterator

from muster.api.names import CONTAINER
from tests.scenarios.incidents import Child
from tests.scenarios.scenario import path_of
from tests.simulation.plans.plan import FOREIGN_CHANGES
from tests.simulation.world.world import World

OF_A_LAUNCHER = re.compile(
    r"ChildFailedError|CalledProcessError|====|----|FAILED|Root Cause|sigkill_handler|mpirun (noticed|detected)"
)
OLDER = re.compile(r"loading the model|hostname of the client socket|UserWarning|warnings\.warn")


def as_it_ended(world: World) -> Iterator[str]:
    """The causes and sentences that say something else."""
    if world.plan.has(*FOREIGN_CHANGES) or not any(each.child for each in world.kubelet.processes.values()):
        return
    for change in world.changes:
        status = change.after.get("status")
        if change.path != path_of("run") or not status:
            continue
        said = " ".join([status.get("message", ""), *(line.get("message", "") for line in status.get("story", ()))])
        cause = status.get("cause") or {}
        for pattern in (OF_A_LAUNCHER, OLDER):
            if found := pattern.search(f"{json.dumps(cause)} {said}"):
                yield f"{found[0]!r} is said of an end: {cause.get('message')} {cause.get('lastLine')} {said[:80]}"
                return
        process = world.kubelet.processes.get(cause.get("uid", ""))
        child = process.child if process is not None and cause.get("exitCode") else None
        if process is not None and child is not None and not _names(cause, child, process.epoch):
            yield f"the cause of epoch {process.epoch} is {cause.get('message')!r}; its process ended by {child}"
            return


def _names(cause: dict[str, object], child: Child, epoch: int) -> bool:
    said = str(cause.get("message", ""))
    if child.raises:
        return said == child.raised(epoch)
    if child.code < 0:
        name = signal.Signals(-child.code).name
        return cause["exitCode"] == 128 - child.code or f"signal {-child.code} ({name})" in said
    return cause["exitCode"] == child.code or f"exit code {child.code}" in said


def kind_of(child: Child) -> tuple[object, ...]:
    """What a failure is known again by; empty for one that says nothing: exit code 1, and what others may have done."""
    if child.raises:
        return re.sub(r"[0-9]+|EPOCH", "", child.raises), child.line
    return () if child.code in (1, -signal.SIGKILL, -signal.SIGTERM) else (child.code, CONTAINER)
