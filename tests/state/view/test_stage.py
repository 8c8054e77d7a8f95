"""The stage of a member, and that the counts of stages follow every change of pods and roll."""

from collections import Counter
from random import Random
from typing import Any

import pytest

from muster.api.values.rank_ranges import to_ranges
from muster.state.view.roll import RankState
from muster.state.view.stage import Shown, Stage, shown, stage_of
from muster.state.view.view import View
from muster.state.vocabulary.pod import Exit, Pod, PodPhase
from tests.builders import NOW, answer, plan, pod, record

WAITING: dict[str, Any] = {"phase": PodPhase.PENDING, "ready": False, "started": False}
NODELESS: dict[str, Any] = WAITING | {"scheduled": False, "node": "", "ip": ""}
CRASH = Exit("main", 1, 0, "Error", "", NOW)
END = Exit("main", 0, 0, "Completed", "", NOW)
CRASHED: dict[str, Any] = {"phase": PodPhase.FAILED, "ready": False, "exit": CRASH}

CASES: list[tuple[Stage, dict[str, Any]]] = [
    (Stage.QUEUED, NODELESS | {"waiting_reason": "SchedulingGated"}),
    (Stage.UNSCHEDULABLE, NODELESS | {"waiting_reason": "Unschedulable"}),
    (Stage.UNSCHEDULABLE, NODELESS | {"waiting_reason": "SchedulerError"}),
    (Stage.SCHEDULING, NODELESS),
    (Stage.CANNOT_START, WAITING | {"waiting_reason": "ErrImagePull"}),
    (Stage.CANNOT_START, WAITING | {"waiting_reason": "ImagePullBackOff"}),
    (Stage.CANNOT_START, WAITING | {"waiting_reason": "InvalidImageName"}),
    (Stage.CANNOT_START, WAITING | {"waiting_reason": "CreateContainerConfigError"}),
    (Stage.CANNOT_START, WAITING | {"waiting_reason": "CrashLoopBackOff"}),
    (Stage.STARTING, WAITING | {"waiting_reason": "ContainerCreating"}),
    (Stage.STARTING, WAITING),
    (Stage.NODE_NOT_READY, {"cut_off": True, "ready": False}),
    (Stage.TERMINATING, {"terminating": True}),
    (Stage.TERMINATING, WAITING | {"terminating": True}),
    (Stage.RUNNING, {"ready": False}),
    (Stage.READY, {}),
    (Stage.ENDED, {"phase": PodPhase.SUCCEEDED, "ready": False, "exit": END}),
    (Stage.CRASHED, CRASHED),
    (Stage.CRASHED, {"ready": False, "exit": CRASH}),
    (Stage.UNKNOWN, {"phase": PodPhase.UNKNOWN, "ready": False}),
]


@pytest.mark.parametrize(("stage", "seen"), CASES)
def test_a_pod_is_in_the_stage_that_it_shows(stage: Stage, seen: dict[str, Any]) -> None:
    one = pod(**seen)
    assert stage_of(one, one.succeeded) is stage


def test_every_stage_has_a_case() -> None:
    assert {stage for stage, _ in CASES} == set(Stage)


def test_a_member_that_is_done_has_ended_whatever_its_pod_shows() -> None:
    assert stage_of(pod(terminating=True), done=True) is Stage.ENDED


@pytest.mark.parametrize("seed", range(20))
def test_the_counts_are_those_of_the_members_that_have_not_arrived(seed: int) -> None:
    random, size, seen = Random(seed), 6, View()
    here: dict[int, Pod] = {}
    roll: tuple[RankState, ...] = ()
    saved: set[int] = set()
    for step in range(60):
        rank = random.randrange(size)
        match random.randrange(5):
            case 0:
                roll = tuple(random.choice((RankState.MISSING, RankState.ARRIVED)) for _ in range(size))
                seen.observe_probe(answer(*roll, at=NOW + step), 0)
            case 1 if rank in here:
                seen.change(here.pop(rank), None)
            case 2:
                saved |= {rank}
                seen.remember(plan(size=size), record(completed=to_ranges(sorted(saved), 100)), NOW)
            case _:
                new = pod(rank, resource_version=step, uid=f"{rank}", **random.choice(CASES)[1])
                seen.change(here.get(rank), new)
                here[rank] = new
        tally = seen.of(0)
        expected: Counter[Shown] = Counter()
        for each in range(size):
            if roll and roll[each] is not RankState.MISSING:
                continue
            if each in here:
                expected[shown(here[each], each in tally.done)] += 1
            elif each in tally.collected:
                expected[Shown(Stage.ENDED)] += 1
        assert tally.missing == expected
