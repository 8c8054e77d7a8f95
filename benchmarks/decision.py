"""The cost of a decision: CPU of one ``decide``, for a gang of 8 and for one of 10,000.

The view is updated as pods change, so a decision reads counts and a few members, and should cost the same for both
gangs. The peer does what a level-triggered controller commonly does: it reads every pod each time.
"""

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from benchmarks.harness.gangs import gang, pod, roll, seen
from benchmarks.harness.report import Result
from muster.state.decide.machine import Decision, decide
from muster.state.view.view import View
from muster.state.vocabulary.actions import CreatePods
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod, PodPhase
from muster.state.vocabulary.record import Phase, Record

FEW, MANY = 8, 10_000
ROUNDS = 15
BUDGET = 100.0
"""Microseconds, on an idle machine."""
RATIO_BUDGET = 1.5
"""Limit of the cost for 10,000 members, as a multiple of that for 8."""
PEER = "a decide that walks all pods"
BEGAN = 1_800_000_000.0
LAST = 5
"""The rank that is late: within the smaller gang, so that both gangs have it."""


@dataclass(slots=True)
class Scene:
    """A gang in one state. A decision does not change that state, so every further decision costs the same."""

    plan: Plan
    record: Record
    view: View
    pods: dict[int, Pod]
    news: Pod
    """The next version of one pod."""
    now: float

    def look(self) -> Decision:
        """Decide once."""
        return decide(self.plan, self.record, self.view, self.now)

    def change(self) -> Decision:
        """Change one pod, then decide once."""
        old, new = self.pods[LAST], self.news
        self.pods[LAST], self.news = new, old
        self.view.change(old, new)
        return self.look()


def running(size: int) -> Scene:
    """Return a scene in which all ranks have arrived."""
    plan = gang(size)
    pods = [pod(plan, rank) for rank in range(size)]
    scene = _settled(plan, seen(pods, roll(size, BEGAN)), pods)
    assert scene.record.phase is Phase.RUNNING
    return scene


def assembling(size: int) -> Scene:
    """Return a scene in which all ranks but one have arrived; the pod of that one is scheduled and does not start."""
    plan = gang(size)
    pods = [pod(plan, rank, started=rank != LAST) for rank in range(size)]
    scene = _settled(plan, seen(pods, roll(size, BEGAN, absent=frozenset({LAST}))), pods)
    assert scene.record.phase is Phase.ASSEMBLING
    return scene


def launching(size: int) -> Scene:
    """Return a scene in which all pods but one exist; the decision creates that one.

    Only in this state does a decision look for absent pods among all ranks: once per wave of creates, and each create
    costs the daemon far more.
    """
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
    return Scene(plan, record, view, {each.rank: each for each in pods}, pod(plan, LAST, version=2), now)


def naive(scene: Scene) -> tuple[int, int, int, int, list[int]]:
    """Return the counts that a decision needs, from all pods: the least that a decision without a view costs."""
    plan, pods = scene.plan, scene.pods
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
    """Measure each state at both sizes. A launch of many has no budget, because it looks at all: see ``launching``."""
    results = []
    for name, make, act, same in (
        ("running, nothing new", running, Scene.look, True),
        ("running, one pod changed", running, Scene.change, True),
        ("assembling, one rank missing", assembling, Scene.look, True),
        ("launching, one pod to create", launching, Scene.look, False),
    ):
        few, many = make(FEW), make(MANY)
        works: list[Callable[[], object]] = [
            partial(act, few),
            partial(act, many),
            partial(naive, few),
            partial(naive, many),
        ]
        *costs, few_walk, many_walk = _costs(works, (200, 200, 200, 5))
        for size, cost, walk in zip((FEW, MANY), costs, (few_walk, many_walk), strict=True):
            what = f"decide, {name}, {size:,} members, CPU"
            budget = BUDGET if same or size == FEW else None
            results.append(Result(what, cost, "us", budget, PEER, walk))
        if same:
            what = f"decide, {name}, {MANY:,} to {FEW} members"
            ratio, peer_ratio = costs[1] / costs[0], many_walk / few_walk
            results.append(Result(what, ratio, "times", RATIO_BUDGET, PEER, peer_ratio))
    return results


def _costs(works: Sequence[Callable[[], object]], times: Sequence[int]) -> list[float]:
    """Return microseconds of CPU per call of each function, the best of many short rounds.

    The functions take turns, so that a busy machine slows all of them alike and their ratio stays true.
    """
    best = [float("inf")] * len(works)
    gc.collect()
    for _ in range(ROUNDS):
        for which, (work, count) in enumerate(zip(works, times, strict=True)):
            began = time.process_time()
            for _ in range(count):
                work()
            best[which] = min(best[which], (time.process_time() - began) / count * 1e6)
    return best
