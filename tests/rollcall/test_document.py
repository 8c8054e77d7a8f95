"""The small pieces of a roll-call document."""

import pytest

from muster.api.gang import RollCall
from muster.rollcall.document import stamp
from muster.rollcall.make import detail, summary
from muster.state.facts.context import Context
from muster.state.view.progress import StepReport
from muster.state.view.recorder.arrivals import CollectiveReport, Share
from muster.state.view.roll import RankState
from muster.state.vocabulary.record import Phase
from tests.builders import NOW, answer, plan, record, view


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), 1e300, -1e300])
def test_a_time_no_calendar_has_is_left_out(odd: float) -> None:
    assert stamp(odd) == ""


def test_after_a_restart_of_the_daemon_the_record_names_the_missing() -> None:
    told = detail(Context.at(plan(), record(phase=Phase.ASSEMBLING, roll=RollCall(4, 2, (1, 3))), view(), NOW))
    assert [missed.rank for missed in told.missing_ranks] == [1, 3]
    assert told.missing_ranks[0].pod == ""
    assert "no pod yet" in told.missing_ranks[0].why
    assert told.coordinator is None


@pytest.mark.parametrize("phase", [Phase.SUSPENDED, Phase.SUCCEEDED])
def test_who_does_not_run_misses_nobody(phase: Phase) -> None:
    told = summary(Context.at(plan(), record(phase=phase), view(), NOW))
    assert (told.arrived, told.missing) == (None, None)


def test_what_a_program_reports_is_in_the_document() -> None:
    seen = view()
    for look in range(3):
        said = tuple(StepReport(rank, look * 30, look + 1, look * 3.0, 3.0, (("loss", 0.5),)) for rank in range(4))
        seen.observe_probe(answer(*[RankState.CONNECTED] * 4, at=NOW + 3.0 * look, reports=said), 0)
    found = summary(Context.at(plan(), record(phase=Phase.RUNNING), seen, NOW + 6)).progress
    assert found is not None
    assert (found.sentence, found.step) == ("step 60, 10 steps/s", 60)
    assert (found.per_second, found.reporting, found.hung, found.scalars) == (10.0, 4, False, {"loss": 0.5})


def test_a_rank_that_comes_last_to_collectives_is_in_the_document_while_the_gang_runs() -> None:
    seen = view()
    for look in range(7):
        share = Share("0", "default_pg", "gloo", 2, "0-1", 100 * look, 120 * look, 0, 0)
        said = tuple(
            CollectiveReport(rank, rank, 1, look, look, 0.0, 0.0, None, (share._replace(inside=80 * look * rank),))
            for rank in range(2)
        )
        seen.observe_probe(answer(*[RankState.CONNECTED] * 4, at=NOW + 60.0 * look, collectives=said), 0)
    found = detail(Context.at(plan(), record(phase=Phase.RUNNING), seen, NOW + 360), {}).slow
    assert found is not None
    assert found.ranks == "0"
    assert found.sentence.startswith("rank 0 comes last to the collectives of default_pg, 0.4 s after half")
    assert detail(Context.at(plan(), record(phase=Phase.RESTARTING), seen, NOW + 360), {}).slow is None


@pytest.mark.parametrize("phase", [Phase.RESTARTING, Phase.SUCCEEDED])
def test_a_gang_that_does_not_run_has_no_progress(phase: Phase) -> None:
    seen = view()
    seen.observe_probe(answer(RankState.CONNECTED, reports=(StepReport(0, 1, 1),)), 0)
    assert summary(Context.at(plan(), record(phase=phase), seen, NOW)).progress is None
