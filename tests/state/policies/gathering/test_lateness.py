"""From when on a missing rank is later than a start takes."""

from muster.state.facts.context import Context
from muster.state.policies.gathering import lateness
from muster.state.view.roll import CoordinatorState, RankState, RollAnswer
from muster.state.view.view import View
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Phase
from tests.builders import NOW, answer, plan, pod, record, view
from tests.state.view.test_stage import WAITING

ARRIVED, MISSING = RankState.ARRIVED, RankState.MISSING
QUIET = NOW + 106.0
"""The coordinator serves after 100 s, three ranks arrive at once, and the roll is quiet 6 s later."""


def gathered(late: Pod) -> View:
    """Three ranks that began at ``NOW``, and the fourth."""
    seen = view(*(pod(rank, started_at=NOW) for rank in range(3)), late)
    seen.observe_probe(RollAnswer(at=NOW + 1, coordinator=CoordinatorState.REFUSED), 0)
    seen.observe_probe(answer(ARRIVED, ARRIVED, ARRIVED, MISSING, at=NOW + 100), 0)
    return seen


def late_at(seen: View, now: float = NOW + 100) -> float:
    at = record(phase=Phase.ASSEMBLING, assembling_at=NOW)
    context = Context.at(plan(), at, seen, now)
    assert context.plan.coordinator is not None
    assert context.probe is not None
    return lateness.late_at(context, context.plan.coordinator, context.probe, QUIET)


def test_a_rank_is_late_when_it_takes_twice_as_long_as_the_coordinator_did() -> None:
    assert late_at(gathered(pod(3, started_at=NOW))) == NOW + 200
    assert late_at(gathered(pod(3, started_at=NOW + 90)), now=NOW + 200) == NOW + 90 + 200


def test_a_rank_whose_program_does_not_run_yet_may_take_ten_minutes() -> None:
    assert late_at(gathered(pod(3, **WAITING))) == QUIET + lateness.STARTING


def test_a_rank_that_has_ended_or_has_no_pod_is_late_as_soon_as_the_roll_is_quiet() -> None:
    gone = gathered(pod(3, started_at=NOW))
    gone.change(pod(3, started_at=NOW), None)
    assert late_at(gone) == QUIET
    assert late_at(gathered(pod(3, terminating=True))) == QUIET


def test_a_node_whose_clock_is_ahead_makes_no_rank_early() -> None:
    assert late_at(gathered(pod(3, started_at=NOW + 3600))) == QUIET


def test_what_took_longer_than_five_minutes_says_nothing() -> None:
    seen = view(*(pod(rank, started_at=NOW) for rank in range(4)))
    seen.observe_probe(answer(ARRIVED, ARRIVED, ARRIVED, MISSING, at=NOW + 1000), 0)
    assert late_at(seen, now=NOW + 1000) == NOW + 2 * lateness.LONGEST


def test_the_pace_of_a_coordinator_that_was_run_again_is_that_of_its_new_life() -> None:
    seen = gathered(pod(3, started_at=NOW))
    seen.change(pod(0, started_at=NOW), pod(0, started_at=NOW + 500))
    seen.observe_probe(answer(ARRIVED, ARRIVED, ARRIVED, MISSING, at=NOW + 650, incarnation=2), 0)
    assert late_at(seen, now=NOW + 650) == NOW + 2 * 150


def test_every_start_may_take_some_seconds() -> None:
    seen = gathered(pod(3, started_at=NOW + 650))
    seen.change(pod(0, started_at=NOW), pod(0, started_at=NOW + 649))
    seen.observe_probe(answer(ARRIVED, ARRIVED, ARRIVED, MISSING, at=NOW + 650, incarnation=2), 0)
    assert late_at(seen, now=NOW + 650) == NOW + 650 + lateness.QUICK
