"""A sentence about one thing is grammatical, and so is one about many."""

from collections.abc import Callable

import pytest

from muster.api.values.durations import count_of
from muster.state.facts.context import Context
from muster.state.facts.diagnosis import hangs
from muster.state.facts.diagnosis.diagnose import diagnose
from muster.state.facts.obstacle import Kind, Obstacle
from muster.state.facts.sentences import of_ends
from muster.state.policies.gathering.obstacles import PARTLY_QUEUED
from muster.state.policies.watched.following import REPLACED_WITHIN, follow
from muster.state.summary import hurt, obstacles
from muster.state.view.own import OwnState, OwnVerdict
from muster.state.view.places import Places
from muster.state.view.roll import RankState
from muster.state.vocabulary.plan import Engine
from muster.state.vocabulary.pod import Exit, Pod, PodPhase
from muster.state.vocabulary.record import Phase
from tests.builders import NOW, answer, plan, pod, record, view


def done(rank: int) -> Pod:
    return pod(rank, phase=PodPhase.SUCCEEDED, ready=False, exit=Exit("main", 0, 0, "Completed", "", NOW))


def gated(rank: int) -> Pod:
    return pod(rank, phase=PodPhase.PENDING, ready=False, started=False, scheduled=False, node="",
               waiting_reason="SchedulingGated")  # fmt: skip


def case(*pods: Pod, size: int = 4) -> Context:
    return Context.at(plan(size=size), record(phase=Phase.RUNNING), view(*pods), NOW)


def beside(number: int) -> str:
    """So many members run while one is queued."""
    here = case(gated(0), *(pod(rank) for rank in range(1, number + 1)), size=number + 1)
    return obstacles.obstacle_sentence(here, Obstacle(Kind.GATED, PARTLY_QUEUED, 0.0))


def ended(number: int) -> str:
    here = case(*(done(rank) for rank in range(number)), *(pod(number + rank) for rank in range(number)))
    return obstacles.obstacle_sentence(here, Obstacle(Kind.ENDED, "RanksEnded", 0.0))


def absent(number: int) -> str:
    return obstacles.without_pods(case(*(pod(rank) for rank in range(number, 4))))


def expects(number: int) -> str:
    seen = view(*(pod(rank) for rank in range(4)), heard=answer(RankState.ARRIVED, expected=number))
    return diagnose(Context.at(plan(), record(phase=Phase.RUNNING), seen, NOW))[0].what


def joined(number: int) -> str:
    return hangs.of_numbers(Places(0, NOW, numbers=((number, (0,)),)), 4)


def labelled(number: int) -> str:
    crashed = (
        pod(n, phase=PodPhase.FAILED, ready=False, exit=Exit("main", 1, 0, "Error", "", NOW)) for n in range(number)
    )
    seen = view(*crashed)
    seen.own = OwnState(OwnVerdict.ASK_PODS)
    of = plan(size=number, engine=Engine.WATCH)
    return follow(Context.at(of, record(phase=Phase.RUNNING), seen, NOW + REPLACED_WITHIN)).record.message


@pytest.mark.parametrize(
    ("sentence_of", "one", "many"),
    [
        (lambda number: count_of(number, "process"), "1 process", "2 processes"),
        (beside, "while 1 runs; first: rank 0", "while 2 run; first: rank 0"),
        (
            ended,
            "1 member ended with exit code 0 (rank 0, the coordinator) while 1 runs on",
            "2 members ended with exit code 0 (ranks 0-1, among them the coordinator) while 2 run on",
        ),
        (absent, "3/4 pods exist; rank 0 has no pod", "2/4 pods exist; ranks 0-1 have no pod"),
        (
            expects,
            "the coordinator waits for 1 process, the gang has 4",
            "the coordinator waits for 2 processes, the gang has 4",
        ),
        (joined, "rank 0 joined with 1 process;", "rank 0 joined with 2 processes;"),
        (labelled, "its only pod has ended: rank 0", "all 2 pods have ended: rank 0"),
        (
            lambda number: of_ends(case(*map(done, range(number)), *(pod(rank) for rank in range(number, 4)))),
            "rank 0 ended with",
            "ranks 0-1 ended with",
        ),
        (
            lambda number: hurt.blocks("node a", (), ("team",) * number, ranks=number, hits=False),
            "blocks 1 run of namespace team (1 rank)",
            "blocks 2 runs of namespace team (2 ranks)",
        ),
    ],
)
def test_a_sentence_is_grammatical_for_one_and_for_many(sentence_of: Callable[[int], str], one: str, many: str) -> None:
    assert one in sentence_of(1)
    assert many in sentence_of(2)
