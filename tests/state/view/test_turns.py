"""Work on what tenants wrote is done in turns, and a whole answer of a coordinator is taken in so."""

import asyncio

from muster.state.view.places import PlaceReport
from muster.state.view.progress import StepReport
from muster.state.view.recorder.arrivals import CollectiveReport
from muster.state.view.roll import CoordinatorState, RankState, RollAnswer
from muster.state.view.turns import A_TURN, Turns, at_once, batches, finished
from muster.state.view.view import View
from muster.watchers.probes.bounded.connection import in_turns

SIZE = 4 * A_TURN


def sum_in_turns(most: int, done: list[int]) -> Turns[int]:
    """Add up all numbers below that."""
    total = 0
    for batch in batches(range(most)):
        total += sum(batch)
        done.append(len(batch))
        yield
    return total


def test_a_turn_has_a_bounded_number_of_items() -> None:
    done: list[int] = []
    assert finished(sum_in_turns(2 * A_TURN + 1, done)) == sum(range(2 * A_TURN + 1))
    assert done == [A_TURN, A_TURN, 1]


def test_work_at_once_is_the_same_work() -> None:
    whole = at_once(sum_in_turns)
    assert (whole(9, []), whole.__name__, whole.__doc__) == (36, "sum", sum_in_turns.__doc__)


async def test_other_tasks_have_their_turns_between() -> None:
    done: list[int] = []
    seen: list[int] = []

    async def other() -> None:
        while len(done) < 5:
            seen.append(len(done))
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    await in_turns(sum_in_turns(5 * A_TURN, done))
    await task
    assert seen == [1, 2, 3, 4]


def test_an_answer_with_everything_is_taken_in_in_turns() -> None:
    answer = RollAnswer(
        at=5000.0,
        coordinator=CoordinatorState.SERVING,
        states=(RankState.CONNECTED,) * SIZE,
        reports=tuple(StepReport(rank, 1, 1) for rank in range(SIZE)),
        collectives=tuple(CollectiveReport(rank, rank, 1, 1, 1, 0.0, 0.0) for rank in range(SIZE)),
        places=tuple(PlaceReport(rank, 1.0, 0.0) for rank in range(SIZE)),
    )
    view = View()
    turns = sum(1 for _ in view.observe_in_turns(answer, 0))
    assert turns >= 4 * SIZE // A_TURN
    assert None not in (view.progress, view.collectives, view.places, view.probe)


def test_an_answer_that_is_left_in_the_midst_of_its_turns_changes_nothing_by_halves() -> None:
    answer = RollAnswer(
        at=5000.0, coordinator=CoordinatorState.SERVING, reports=tuple(StepReport(rank, 1, 1) for rank in range(SIZE))
    )
    view = View()
    next(view.observe_in_turns(answer, 0))
    assert (view.progress, view.probe) == (None, None)
