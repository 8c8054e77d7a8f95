"""Gates between groups: when they open, and what is said while they are shut."""

from typing import Any

import pytest

from muster.state.decide.machine import decide
from muster.state.facts import gates
from muster.state.facts.context import Context
from muster.state.policies import startup
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod, PodPhase, PodSpec
from muster.state.vocabulary.record import Phase
from muster.state.vocabulary.rules import Gate, GateCondition
from tests.builders import NOW, plan, pod, record, view, view_of
from tests.state.story import creations

TRAIN = 4
CREATED, READY, COMPLETE = GateCondition.CREATED, GateCondition.READY, GateCondition.COMPLETE


def staged(condition: GateCondition = COMPLETE, train: int = TRAIN) -> Plan:
    """A group ``eval`` of two that waits for ``train``."""
    groups = (
        Group("eval", 2, 1, PodSpec(), first_rank=0, gates=(Gate(condition, "train"),)),
        Group("train", 1, train, PodSpec(), first_rank=2),
    )
    return plan(groups=groups, coordinator=None)


def trained(rank: int, **facts: Any) -> Pod:
    return pod(rank + 2, group="train", job=0, **facts)


def case(run: Plan, *pods: Pod, **facts: Any) -> Context:
    seen = view(*pods)
    seen.engine.confirmed, seen.engine.service = 0, True
    return Context.at(run, record(**facts), seen, NOW)


def created(here: Context) -> list[int]:
    return creations(startup.launch(here))


DONE = {"phase": PodPhase.SUCCEEDED, "ready": False}


@pytest.mark.parametrize(
    ("condition", "facts", "opens"),
    [
        (CREATED, {"ready": False, "started": False, "phase": PodPhase.PENDING}, True),
        (READY, {"ready": False}, False),
        (READY, {}, True),
        (READY, DONE, True),
        (COMPLETE, {}, False),
        (COMPLETE, DONE, True),
    ],
)
def test_a_group_starts_when_every_awaited_pod_has_come_so_far(
    condition: GateCondition, facts: dict[str, Any], opens: bool
) -> None:
    run = staged(condition)
    assert created(case(run)) == [2, 3, 4, 5]
    assert created(case(run, *(trained(rank, **facts) for rank in range(TRAIN - 1)))) == [5]
    assert created(case(run, *(trained(rank, **facts) for rank in range(TRAIN)))) == ([0, 1] if opens else [])


def test_a_group_of_no_members_holds_nobody_back() -> None:
    assert created(case(staged(train=0))) == [0, 1]


def test_what_a_group_waits_for_is_reported() -> None:
    pods = [trained(rank, **DONE) for rank in range(3)] + [trained(3)]
    assert gates.awaited(case(staged(), *pods)) == "group eval waits until train is complete (3/4 are)"
    assert gates.awaited(case(staged(READY), trained(0))) == "group eval waits until train is ready (1/4 are)"
    assert gates.awaited(case(staged(CREATED))) == "group eval waits until train is created (0/4 are)"
    assert gates.awaited(case(staged(CREATED), *pods)) == ""
    assert gates.awaited(case(staged(), *pods, pod(0, group="eval"), pod(1, group="eval"))) == ""


def test_the_sentence_of_a_large_group_stands_while_its_count_moves() -> None:
    some = [gates.awaited(case(staged(READY, 40), *(trained(rank) for rank in range(count)))) for count in (3, 19, 20)]
    assert some[0] == some[1] == "group eval waits until train is ready (fewer than 20 of 40 are)"
    assert some[2] == "group eval waits until train is ready (20 to 39 of 40 are)"


@pytest.mark.parametrize("phase", [Phase.PENDING, Phase.ASSEMBLING])
def test_the_status_says_what_is_awaited(phase: Phase) -> None:
    here = case(staged(), *(trained(rank) for rank in range(TRAIN)), phase=phase, assembling_at=NOW)
    found = decide(here.plan, here.record, view_of(here), NOW).record
    assert found.reason == "AwaitingGroup"
    assert found.message.startswith("group eval waits until train is complete (0/4 are); 4/6 members are ready")


@pytest.mark.parametrize(
    ("ready", "pending", "held"),
    [((), (), 4), ((), (0, 3), 4), ((0,), (3,), 2), ((0, 3), (), 0), ((1, 2), (), 2), ((), (0, 1, 2, 3, 4, 5), 0)],
    ids=[
        "no pod",
        "leaders that are not ready",
        "one leader",
        "both leaders",
        "a job that lost its leader",
        "all pods",
    ],
)
def test_members_without_a_pod_are_held_back_until_the_leader_of_their_job_is_ready(
    ready: tuple[int, ...], pending: tuple[int, ...], held: int
) -> None:
    run = plan(groups=(Group("w", 2, 3, PodSpec(), first_rank=0, leader_first=True),), coordinator=None)
    pods = [pod(rank, group="w", job=rank // 3, ready=rank in ready) for rank in (*ready, *pending)]
    here = case(run, *pods)
    assert gates.held_back(here) == held
    assert [rank for rank in range(6) if gates.awaits_leader(here, rank)] == [
        rank for rank in range(6) if rank % 3 and rank // 3 * 3 not in ready
    ]
