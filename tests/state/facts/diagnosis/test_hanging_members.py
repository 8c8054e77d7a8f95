"""The members that hold up a gang that hangs."""

import pytest

from muster.state.facts.causes.table import Causes
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.hanging_members import of_hang
from muster.state.view.progress import HANG_SECONDS, StepReport
from muster.state.view.roll import RankState
from muster.state.vocabulary.record import Phase
from tests.builders import NOW, answer, plan, pod, record, view, view_of


def reporting(*steps: int, seconds: float = HANG_SECONDS) -> Context:
    """A running gang whose ranks report these steps, unchanged for that time."""
    said = tuple(StepReport(rank, step, 5, 100.0) for rank, step in enumerate(steps))
    connected = (RankState.CONNECTED,) * 4
    running = record(phase=Phase.RUNNING, scheduled_at=NOW, assembled_at=NOW)
    seen = view(*(pod(rank) for rank in range(4)), heard=answer(*connected, reports=said))
    context = Context(plan(), running, seen, NOW + seconds)
    view_of(context).observe_probe(answer(*connected, reports=said, at=NOW + seconds), 0)
    return context


@pytest.mark.parametrize(
    ("steps", "most", "found"),
    [
        ((9, 9, 7, 9), 4, {2: "no step since step 7"}),
        ((9, 8, 7, 9), 1, {1: "no step since step 8"}),
        ((9, 9, 9, 9), 4, dict.fromkeys(range(4), "no step since step 9")),
        ((9, 9, 9, 9), 2, dict.fromkeys(range(2), "no step since step 9")),
    ],
)
def test_the_ranks_behind_hold_the_gang_up_or_else_all_that_report(
    steps: tuple[int, ...], most: int, found: dict[int, str]
) -> None:
    hanging = of_hang(reporting(*steps), most)
    assert {rank: each.what for rank, each in hanging.items()} == found
    for each in hanging.values():
        assert each.cause is Causes.HUNG
        assert each.evidence.startswith("no rank has reported a step since ")
        assert each.evidence.endswith("last step 9")


def test_a_gang_that_gets_on_or_does_not_report_is_held_up_by_no_member() -> None:
    assert of_hang(reporting(9, 9, 7, 9, seconds=HANG_SECONDS - 1), 4) == {}
    assert of_hang(reporting(), 4) == {}
