"""A coordinator is absent after four seconds of silence, and unsteady where that repeats."""

from dataclasses import replace

from muster.state.view.probe_result import LOST_AFTER, ProbeResult, probe_result
from muster.state.view.roll import CoordinatorState, RankState, RollAnswer
from tests.builders import NOW, answer

HERE = (RankState.CONNECTED,) * 2


def served(at: float, before: ProbeResult | None = None) -> ProbeResult:
    return probe_result(answer(*HERE, at=at), 0, before)


def silent(at: float, before: ProbeResult | None, latency: float = 0.0) -> ProbeResult:
    return probe_result(RollAnswer(at=at, coordinator=CoordinatorState.TIMEOUT, latency=latency), 0, before)


def lost(times: int) -> ProbeResult:
    """A coordinator that has been lost and has come back that often, last at ``NOW``."""
    result = served(NOW - 10 * times)
    for number in range(times, 0, -1):
        result = served(NOW - 10 * (number - 1), silent(NOW - 10 * number + 1, result))
    return result


def test_a_silence_counts_from_the_moment_of_the_first_question_without_an_answer() -> None:
    result = silent(NOW + 5, served(NOW), latency=2.0)
    assert result.silent_at == NOW + 3
    assert result.present(NOW + 3 + LOST_AFTER - 0.1)
    assert result.turns_at(NOW + 5) == NOW + 3 + LOST_AFTER
    assert not result.present(NOW + 3 + LOST_AFTER)
    assert result.turns_at(NOW + 8) is None
    assert silent(NOW + 6, result).silent_at == NOW + 3


def test_a_short_silence_is_as_if_it_had_not_been() -> None:
    back = served(NOW + 4, silent(NOW + 1, served(NOW)))
    assert (back.silent_at, back.losses, back.present(NOW + 4)) == (None, 0, True)


def test_a_coordinator_that_never_served_is_not_present() -> None:
    assert not silent(NOW, None).present(NOW)


def test_after_its_first_losses_it_is_present_at_its_first_answer() -> None:
    for times in (1, 2):
        assert (lost(times).losses, lost(times).present(NOW)) == (times, True)


def test_from_the_third_loss_on_it_must_answer_for_a_time_that_doubles_up_to_a_minute() -> None:
    assert [lost(times).hold for times in range(2, 9)] == [0.0, 5.0, 10.0, 20.0, 40.0, 60.0, 60.0]
    third = lost(3)
    assert (third.present(NOW + 4.9), third.turns_at(NOW), third.present(NOW + 5)) == (False, NOW + 5, True)


def test_an_unsteady_coordinator_that_falls_silent_before_its_time_does_not_turn() -> None:
    again = silent(NOW + 2, lost(3))
    assert (again.present(NOW + 3), again.turns_at(NOW + 3)) == (False, None)


def test_the_next_epochs_coordinator_starts_without_a_history() -> None:
    assert probe_result(answer(*HERE, at=NOW), 1, lost(5)).losses == 0


def test_the_longest_gap_between_arrivals_is_kept() -> None:
    result = None
    for at, here in ((0, 1), (3, 2), (15, 3), (16, 4)):
        states = [RankState.ARRIVED] * here + [RankState.MISSING] * (4 - here)
        result = probe_result(replace(answer(*states, at=NOW + at)), 0, result)
    assert result is not None
    assert result.gap == 12.0
