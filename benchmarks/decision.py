"""What a decision costs: CPU of one ``decide``, for a gang of 8 and for one of 10,000.

The view is kept as pods change, so a decision reads counts and a few notable members and should cost the same for both
gangs. The peer does what a level-triggered controller commonly does: look at every pod each time.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from benchmarks.gangs import gang, pod, roll, seen
from benchmarks.measuring import best_of
from benchmarks.result import Result
from state.actions import CreatePods
from state.machine import Decision, decide
from state.plan import Plan
from state.pod import Pod, PodPhase
from state.record import Phase, Record
from state.view import View

FEW, MANY = 8, 10_000
DECISIONS = 500
BUDGET = 200.0
"""Microseconds."""
RATIO_BUDGET = 1.5
"""How many times the cost for 8 members the cost for 10,000 may be."""
PEER = "a decide that walks all pods"
BEGAN = 1_800_000_000.0
LAST = 5
"""The rank that is late: within the smaller gang, so that both gangs have it."""


@dataclass(slots=True)
class Scene:
    """A gang at a moment of its life, whose every further decision finds it at that moment again."""

    plan: Plan
    record: Record
    view: View
    pods: dict[int, Pod]
    now: float

    def look(self) -> Decision:
        """Decide once."""
        return decide(self.plan, self.record, self.view, self.now)

    def change(self) -> Decision:
        """One pod of the gang is told anew, and what follows is decided."""
        old = self.pods[LAST]
        new = self.pods[LAST] = pod(self.plan, LAST, version=old.resource_version + 1)
        self.view.change(old, new)
        return self.look()


def running(size: int) -> Scene:
    """Everybody has arrived."""
    plan = gang(size)
    pods = [pod(plan, rank) for rank in range(size)]
    scene = _settled(plan, seen(pods, roll(size, BEGAN)), pods)
    assert scene.record.phase is Phase.RUNNING
    return scene


def assembling(size: int) -> Scene:
    """All but one have arrived; that one's pod is on its node and does not start."""
    plan = gang(size)
    pods = [pod(plan, rank, started=rank != LAST) for rank in range(size)]
    scene = _settled(plan, seen(pods, roll(size, BEGAN, absent=frozenset({LAST}))), pods)
    assert scene.record.phase is Phase.ASSEMBLING
    return scene


def launching(size: int) -> Scene:
    """All pods but one were created; the decision asks for that one."""
    plan = gang(size)
    pods = [pod(plan, rank, started=False) for rank in range(size) if rank != LAST]
    scene = _settled(plan, seen(pods, None), pods)
    assert any(isinstance(action, CreatePods) for action in scene.look().actions)
    return scene


def _settled(plan: Plan, view: View, pods: list[Pod]) -> Scene:
    """Decide until nothing needs to be written, as the daemon does."""
    record, now = None, BEGAN
    for _ in range(8):
        decision = decide(plan, record, view, now)
        record, now = decision.record, now + 1.0
    assert record is not None
    return Scene(plan, record, view, {each.rank: each for each in pods}, now)


def naive(plan: Plan, pods: dict[int, Pod]) -> tuple[int, int, int, int, list[int]]:
    """The counts a decision needs, from all pods: what a decision costs that keeps no view."""
    scheduled = started = ready = succeeded = 0
    failed: list[int] = []
    for each in pods.values():
        scheduled += each.scheduled
        started += each.started
        ready += each.ready and not each.terminating
        succeeded += each.phase is PodPhase.SUCCEEDED
        if each.failed:
            failed.append(each.rank)
    absent = [rank for rank in range(plan.size) if rank not in pods]
    return scheduled, started, ready, succeeded, failed + absent


def run() -> list[Result]:
    """Measure each moment at both sizes."""
    results = []
    for name, make, act in (
        ("running, nothing new", running, Scene.look),
        ("running, one pod changed", running, Scene.change),
        ("assembling, one rank missing", assembling, Scene.look),
        ("launching, one pod to create", launching, Scene.look),
    ):
        few, many = make(FEW), make(MANY)
        costs = [_cost(partial(act, scene), DECISIONS) for scene in (few, many)]
        walks = [_cost(partial(naive, scene.plan, scene.pods), times) for scene, times in ((few, 500), (many, 10))]
        for size, cost, walk in zip((FEW, MANY), costs, walks, strict=True):
            what = f"decide, {name}, {size:,} members, CPU"
            results.append(Result(what, cost, "us", BUDGET, cost <= BUDGET, PEER, walk))
        ratio = costs[1] / costs[0]
        what = f"decide, {name}, {MANY:,} to {FEW} members"
        results.append(Result(what, ratio, "ratio", RATIO_BUDGET, ratio <= RATIO_BUDGET, PEER, walks[1] / walks[0]))
    return results


def _cost(work: Callable[[], object], times: int) -> float:
    """Microseconds of CPU per call."""

    def repeated() -> None:
        for _ in range(times):
            work()

    return best_of(repeated, times)


if __name__ == "__main__":
    began = time.monotonic()
    for result in run():
        print(f"{result.name:60} {result.value:10.1f} {result.unit:6} {result.peer_value:10.1f}")
    print(f"{time.monotonic() - began:.1f} s")
