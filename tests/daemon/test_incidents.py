"""The look for incidents: what it costs, whom it speaks to, and what a run that cannot be read does to the others."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from muster.api.values.accelerators import USUAL
from muster.daemon.incidents import EVERY, IncidentWatch
from muster.metrics.collector import Subject
from muster.state.facts.context import Context
from muster.state.facts.incidents.signs import Sign, signs_of
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod_spec import PodSpec
from muster.state.vocabulary.record import Condition, ConditionType, Phase, StoryLine
from tests.builders import NOW, plan, pod, record, view, worker_group

STUCK = Condition(ConditionType.STUCK, True, "NodeNotReady", "", 1, NOW - 5)


class World:
    """Runs on node n7, a clock, and what was said of each."""

    def __init__(self, count: int) -> None:
        self.now = NOW
        self.told: list[tuple[str, str]] = []
        self.runs = [self.run(n) for n in range(count)]
        self.leading = True
        self.watch = IncidentWatch(
            lambda: iter(self.runs),
            lambda: self.leading,
            self.tell,
            clock=lambda: self.now,
            monotonic=lambda: self.now,
            sleep=self.sleep,
            accelerators=USUAL,
        )

    def run(self, n: int) -> Subject:
        wanted = plan(
            uid=f"u{n}",
            name=f"run-{n}",
            namespace=f"team-{n % 4}",
            size=1,
            groups=(worker_group(1, pod=PodSpec(limits={"nvidia.com/gpu": "8"})),),
        )
        return Subject(
            wanted, record(phase=Phase.RUNNING, conditions=(STUCK,)), view(pod(node="n7", ready=False, cut_off=True))
        )

    def tell(self, about: Plan, line: StoryLine) -> None:
        self.told.append((about.name, line.message))

    async def sleep(self, seconds: float) -> None:
        self.now += seconds

    async def looks(self, count: int) -> None:
        for _ in range(count):
            await self.sleep(EVERY)
            await self.watch.look()


async def test_each_run_that_an_incident_explains_is_spoken_to_once() -> None:
    world = World(8)
    await world.looks(10)
    (found,) = world.watch.tracking.shown
    assert (found.key.kind, found.key.subject, len(found.runs)) == ("node", "n7", 8)
    assert sorted(name for name, _ in world.told) == sorted(f"run-{n}" for n in range(8))
    assert world.told[0][1] == "part of an incident: node n7: NodeNotReady; 2 runs of this namespace"


async def test_what_stuck_runs_hold_is_counted_by_reason() -> None:
    world = World(3)
    await world.looks(7)
    assert dict(world.watch.lost) == {("nvidia.com/gpu", "NodeNotReady"): 3 * 8 * 6 * EVERY}


async def test_only_a_changed_or_an_old_run_is_diagnosed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world, asked = World(20), []

    def counted(context: Context) -> tuple[Sign, ...]:
        asked.append(context.plan.uid)
        return signs_of(context)

    monkeypatch.setattr("muster.daemon.incidents.signs_of", counted)
    await world.looks(3)
    assert len(asked) == 20
    world.runs[0] = replace(world.runs[0], record=record(phase=Phase.RUNNING, conditions=(STUCK,), epoch=0))
    await world.looks(1)
    assert asked[20:] == ["u0"]


async def test_one_run_that_cannot_be_read_hides_no_incident() -> None:
    world = World(4)
    world.runs[0] = replace(world.runs[0], view=None)  # type: ignore[arg-type]
    await world.looks(5)
    assert len(world.watch.tracking.shown[0].runs) == 3


async def test_a_standby_has_none() -> None:
    world = World(4)
    await world.looks(5)
    world.watch.stand_by()
    assert not world.watch.tracking.shown


async def test_a_run_that_is_over_is_in_none() -> None:
    world = World(4)
    await world.looks(5)
    world.runs = list(_over(world.runs))
    await world.looks(1)
    assert not world.watch.tracking.shown


def _over(runs: list[Subject]) -> Iterator[Subject]:
    for each in runs:
        yield replace(each, record=record(phase=Phase.FAILED, conditions=(STUCK,)))
