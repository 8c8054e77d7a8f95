"""The simulation itself, and the share of its plans that ``make test`` plays; ``make simulate`` plays all of them."""

import asyncio
import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from weakref import ref

import pytest

from tests.scenarios.catalogue import scenarios
from tests.scenarios.scenario import Scenario
from tests.simulation import runner
from tests.simulation.oracles.judge import play
from tests.simulation.plans.families import FAMILIES, random_plan
from tests.simulation.plans.plan import KINDS, Fault, Plan, parse
from tests.simulation.world.virtual_loop import Deadlock, HotLoop, RealWorld, VirtualLoop
from tests.simulation.world.world import World

CORE = [scenario.name for scenario in scenarios().values() if scenario.core]
EVERY = 601
"""Every Nth plan is played here: a prime, so that no family is left out for long. `make simulate SHARE=1` plays one in
eight, in CI."""


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    loop = VirtualLoop()
    yield loop
    loop.close()


# Time


def test_a_task_that_waits_for_nothing_is_a_deadlock(loop: VirtualLoop) -> None:
    with pytest.raises(Deadlock, match="nothing is left to wait for"):
        loop.run_until_complete(asyncio.Event().wait())


def test_a_loop_that_never_rests_is_detected(loop: VirtualLoop) -> None:
    def again() -> None:
        loop.call_soon(again)

    again()
    with pytest.raises(HotLoop):
        loop.run_until_complete(asyncio.sleep(1))


def test_threads_and_sockets_are_refused(loop: VirtualLoop) -> None:
    with pytest.raises(RealWorld):
        loop.run_until_complete(asyncio.to_thread(print))
    with pytest.raises((RealWorld, NotImplementedError)):
        loop.run_until_complete(asyncio.open_connection("127.0.0.1", 9))


def test_timers_of_one_instant_run_in_order_and_cancelled_ones_never(loop: VirtualLoop) -> None:
    seen: list[int] = []
    timers = [loop.call_at(5.0, seen.append, number) for number in range(50)]
    loop.call_at(4.0, timers[7].cancel)
    loop.run_until_complete(asyncio.sleep(6))
    assert seen == [number for number in range(50) if number != 7]


def test_a_callback_that_raises_is_a_violation_and_does_not_end_the_world() -> None:
    world = World(parse("happy:n=1"))
    world.loop.call_later(3.0, [].pop)
    world.play()
    assert any("pop from empty list" in violation for violation in world.violations)
    assert world.loop.time() > 600.0


def test_the_order_of_a_shuffled_loop_depends_on_its_seed_alone() -> None:
    def order(seed: int) -> list[int]:
        loop = VirtualLoop(Random(seed))
        seen: list[int] = []
        for number in range(10):
            loop.call_soon(seen.append, number)
            loop.call_at(0.5, seen.append, 10 + number)
        loop.run_until_complete(asyncio.sleep(1))
        loop.close()
        assert sorted(seen[10:]) == list(range(10, 20))
        return seen

    for part in (slice(0, 10), slice(10, 20)):
        assert order(1)[part] == order(1)[part] != list(range(20))[part]
    assert order(1) != order(2)


# Plans


def test_a_plan_and_its_line_convert_into_each_other() -> None:
    faults = tuple(Fault(kind, number, "3") for number, kind in enumerate(KINDS, 1))
    for plan in (Plan("happy", 4), Plan("happy", 16, faults, 7, shuffle=True, operator="xgboost")):
        assert parse(str(plan)) == plan
    for line in ("happy:n=4:crash-after=17", "happy:op=jobset-sequential:n=4:crash-after=17"):
        assert str(parse(line)) == line
    with pytest.raises(ValueError, match="not a fault"):
        parse("happy:n=4:crashafter=17")
    with pytest.raises(ValueError, match="not a fault"):
        parse("happy:op=kubeflow:n=4")
    for never in ("crash-after=0", "drop=0", "double=-1"):
        with pytest.raises(ValueError, match="never happens"):
            parse(f"happy:n=4:{never}")


# Histories


@pytest.mark.parametrize("line", ["member-fails:n=4", "side-by-side:n=4:crash-after=9:hold=20/8:seed=5:shuffle"])
def test_the_same_plan_has_the_same_history(line: str) -> None:
    assert play(parse(line)).history == play(parse(line)).history


def test_events_that_come_twice_make_the_same_history() -> None:
    plan, clean = parse("happy:n=1:double=0"), runner.reference("happy", 1)
    assert play(plan, clean).violations == ()
    another = replace(clean, history=runner.reference("member-fails", 1).history)
    assert play(plan, another).violations == ("events that come twice make a difference",)


def test_another_seed_has_another_history() -> None:
    plan = Plan("member-fails", 4, shuffle=True)
    assert play(plan).history != play(replace(plan, seed=1)).history


@pytest.mark.slow
def test_histories_do_not_depend_on_the_order_of_sets() -> None:
    code = (
        "from tests.simulation.oracles.judge import play; from tests.simulation.plans.plan import parse;"
        "print(play(parse('side-by-side:n=4:crash-after=9:hold=20/8:seed=5:shuffle')).history.digest)"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[2],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(digests) == 1


# Oracles


def test_a_wrong_end_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scenario states another number of restarts than it has."""
    happy = scenarios()["happy"]
    lie: Scenario = replace(happy, end=replace(happy.end, restarts=1))
    monkeypatch.setitem(scenarios(), "happy", lie)
    assert any("restarts" in violation for violation in play(Plan("happy", 1)).violations)


def test_a_sentence_that_is_not_reported_in_its_turn_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    happy = scenarios()["happy"]
    for says, wrong in (("^Running ", "^Succeeded "), False), (("^Succeeded ", "^Running "), True), (("rank 7",), True):
        monkeypatch.setitem(scenarios(), "happy", replace(happy, says=says))
        assert any("does not say" in violation for violation in play(Plan("happy", 1)).violations) is wrong


# Bugs that it has found

FOUND = {
    "same-name:n=1:delete-pod=9/0:stale=29/9:hold=9/8:seed=4891:shuffle": "a daemon that started on a stale "
    "record deleted an ended pod of a newer epoch: with nothing to write, no resourceVersion stopped it",
    "happy:n=1:edit-spec=2": "a status write was answered after the watch had delivered a later version, which set the "
    "known version back: every later write met Conflict, forever",
    "happy:n=4:refuse=3/403": "a refused Service was never created, because all pods existed",
    "happy:n=4:lose=17/504": "with a lost answer, the Event and the counter of that write were lost",
    "happy:n=4:crash-after=16": "a restarted daemon withdrew the roll until the first probe, and repeated an Event",
    "preempted:n=4:crash-before=17": "a member was removed while no daemon ran, and its survivors' aborts were charged",
    "preempted:n=4:hold=7/120": "a pod that had run and was gone before all pods were seen was created again",
    "preempted:n=1:stale=4/4": "the same, where an earlier daemon had created the pods",
    "preempted:n=4:stale=2/2:drop=24:seed=11378:shuffle": "a watch lost the one event that showed a preemption, and a "
    "survivor's abort was charged",
    "side-by-side:n=1:stale=20/11": "a restarted daemon received a status before the pods that it was decided on, "
    "withdrew that they were ready, and repeated the Event",
    "side-by-side:n=4:stale=50/18:seed=814:shuffle": "in the same way an ended pod seemed to run still, and was "
    "deleted with the log of the failure",
    "node-lost:n=4:stale=22/28": "the loss of a member was confirmed after the watch had delivered the next epoch, and "
    "was taken for a loss in that epoch",
    "gives-up:n=4:expire=22:delete-pod=21/3": "a deleted pod was seen for the first time when it had ended, and was "
    "charged as a failure",
    "unschedulable-restarts:n=4:hold=47/120": "a clock expired for a gang that had been scheduled, run and succeeded "
    "while the watch was silent, and the gang was restarted",
    "happy:n=1:stale=10/3:delete-pod=11/0:refuse=2/409:crash-before=8": "a launch decided on an old status was "
    "confirmed: a pod that was gone after it had run was created again",
    "crashes-at-start:n=4:drop=52:lose=30/reset:seed=1732:shuffle": "after a lost answer the retries were remembered "
    "instead of the write",
}


@pytest.mark.parametrize("family", FAMILIES)
def test_nothing_outlives_its_world(family: str) -> None:
    """Not even a frame of the daemon's: what keeps one alive here would leak one in production."""
    tasks = [line for _, line in runner.exhaustive([family], ["happy"], sizes=[1, 4])]
    world = World(parse(tasks[len(tasks) // 2]))
    world.play()
    gone = ref(world)
    del world
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("line", FOUND)
def test_a_bug_that_was_found_once_does_not_return(line: str) -> None:
    assert not runner.judge(parse(line)).violations, FOUND[line]


# A share of all plans


@pytest.mark.parametrize("scenario", scenarios())
def test_a_part_of_all_plans_holds(scenario: str) -> None:
    tasks = [line for _, line in runner.exhaustive(FAMILIES, [scenario], sizes=[1, 4])][::EVERY]
    broken = {line: found for line in tasks if (found := runner.judge(parse(line)).violations)}
    assert not broken, _replays(broken)


def test_some_random_plans_hold() -> None:
    plans = [random_plan(seed, runner.reference) for seed in range(1, 13)]
    broken = {str(plan): found for plan in plans if (found := runner.judge(plan).violations)}
    assert not broken, _replays(broken)


def _replays(broken: dict[str, tuple[str, ...]]) -> str:
    return "\n".join(
        f"python -m tests.simulation --replay '{line}'\n    {'; '.join(found)}" for line, found in broken.items()
    )
