"""Replays recorded Workloads, event by event, through the watcher into the decision; see traces/README.md."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from muster.kube.listwatch.decoder import Projection
from muster.state.vocabulary.actions import PatchWorkloadStatus, QueueAction, ReadAdmission
from muster.state.vocabulary.group import ProbeKind
from muster.state.vocabulary.plan import Plan, Queue
from muster.state.vocabulary.workload import Placement, Workload
from muster.watchers.workloads import DECODER
from tests.builders import plan
from tests.fakes.api import merge_patch
from tests.state.story import Story

TRACES = Path(__file__).parent / "traces"


class Moment(NamedTuple):
    """One record of a trace: a note, or the Workload as the watch delivered it (None: deleted)."""

    ms: int
    note: str = ""
    uid: str = ""
    workload: Workload | None = None


def moments(name: str) -> Iterator[Moment]:
    """The records of a trace, in order."""
    objects: dict[str, Any] = {}
    for line in (TRACES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if "note" in record:
            yield Moment(record["ms"], record["note"])
            continue
        uid = record.get("uid") or record["object"]["metadata"]["uid"]
        objects[uid] = merge_patch(objects.get(uid), record.get("patch", record.get("object")))
        gone = record["type"] == "DELETED"
        yield Moment(record["ms"], "", uid, None if gone else decoded(objects[uid]))


def decoded(obj: Any) -> Workload:
    """The object as the watcher reads it."""
    projection: Projection[Any, Workload] = DECODER
    page = projection.page(json.dumps({"metadata": {"resourceVersion": "1"}, "items": [obj]}).encode())
    assert not page.problems, page.problems
    (workload,) = page.objects.values()
    return workload


def queued_plan(workload: str = "own", **overrides: Any) -> Plan:
    """A gang of four without a coordinator, in the queue ``q``."""
    return plan(probe=ProbeKind.NONE, coordinator=None, **{"queue": Queue("q", "low", workload)} | overrides)


class QueueStory(Story):
    """A story whose pods start and end at once, as the decisions ask. ``asked`` holds what was asked of the queue."""

    def __init__(self, plan: Plan, **rest: Any) -> None:
        super().__init__(plan, **rest)
        self.asked: list[QueueAction] = []
        self.lag = False
        """Deleted pods do not end yet."""

    def see(self, workload: Workload | None, uid: str = "") -> None:
        """The watch delivers a Workload, or its deletion."""
        if workload is None:
            self.view.workloads.pop(uid)
        else:
            self.view.workloads[workload.uid] = workload

    def turn(self, after: float = 0.0) -> tuple[str, ...]:
        """Decide and obey until nothing follows; the names of the actions on the Workload."""
        names: list[str] = []
        for _ in range(20):
            actions = self.look(after)
            after = 0.0
            pods = [action for action in actions if not isinstance(action, QueueAction)]
            queue = [action for action in actions if isinstance(action, QueueAction)]
            new = [action for action in queue if action not in self.asked]
            self.asked += new
            names += [type(action).__name__ for action in new]
            for action in queue:
                if isinstance(action, ReadAdmission):
                    self.view.engine.placement = Placement(action.epoch, action.workload.uid)
            before = self.version
            for each in pods:
                if not (self.lag and type(each).__name__ == "DeletePods"):
                    self.do(each)
            if any(type(each).__name__ == "CreatePods" for each in pods):
                self.start()
            if not new and (not pods or self.lag) and self.version == before:
                return tuple(names)
        raise AssertionError("the decisions do not come to an end")

    @property
    def running(self) -> int:
        """Pods that may run."""
        return sum(len(tally.alive) for tally in self.view.epochs.values())

    def patch(self) -> PatchWorkloadStatus:
        """The last patch of the status."""
        found = self.asked[-1]
        assert isinstance(found, PatchWorkloadStatus)
        return found


def written(action: PatchWorkloadStatus) -> dict[str, tuple[str, str]]:
    """Status and reason by type of the conditions in a patch."""
    return {each.type: (each.status, each.reason) for each in action.conditions}


def conditions(workload: Workload) -> dict[str, tuple[str, str]]:
    """The same of a Workload."""
    return {each.type: (each.status, each.reason) for each in workload.conditions}
