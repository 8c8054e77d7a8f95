"""Reports that programs send: silence counts only from when this daemon could hear."""

from dataclasses import replace

import msgspec
import pytest

from muster.api.gang import Steps
from muster.state.view.own import OwnState
from muster.state.view.progress import HANG_SECONDS, LONGEST_INTERVAL, SENT_AGAIN, Progress, StepReport
from muster.state.view.roll import CoordinatorState, RollAnswer
from muster.state.view.sent_reports import SAME_STEP, SentReports
from muster.state.view.view import View
from muster.state.vocabulary.record import Phase, Record
from tests.builders import sure

RECORD = Record(phase=Phase.RUNNING)
NOW = 1000.0


def record(**fields: object) -> Record:
    return msgspec.structs.replace(RECORD, **fields)


def sent(view: View, step: int, now: float, rank: int = 0, since: float = 0.0, epoch: int = 0) -> Progress:
    view.sent.add(StepReport(rank, step, 0), epoch, now)
    return heard(view, now, since)


def heard(view: View, now: float, since: float = 0.0, of: Record = RECORD) -> Progress:
    view.hear(of, now, since)
    assert view.progress is not None
    return view.progress


def test_reports_without_a_count_are_counted_as_they_come() -> None:
    view = View()
    assert not sent(view, 0, NOW).repeated
    assert view.sent.last[0].longest == 0.0
    seen = sent(view, 10, NOW + 20)
    assert (seen.step, seen.longest, seen.repeated, seen.reporting, seen.rate) == (10, 20.0, True, 1, 0.5)
    assert seen.hangs_at == NOW + 20 + 5 * 20


def test_a_gang_that_sends_nothing_more_hangs_by_the_passing_of_time() -> None:
    view = View()
    sent(view, 0, NOW)
    sent(view, 1, NOW + 5)
    assert not heard(view, NOW + 5 + HANG_SECONDS - 1).hung
    assert heard(view, NOW + 5 + HANG_SECONDS).hung
    assert not sent(view, 2, NOW + 90).hung


def test_one_report_is_no_hang() -> None:
    view = View()
    sent(view, 0, NOW)
    assert not heard(view, NOW + 10_000).hung
    assert sure(view.progress).hangs_at is None


def test_a_report_of_another_epoch_is_not_of_this_one() -> None:
    view = View()
    sent(view, 5, NOW)
    view.sent.add(StepReport(0, 7, 0), 1, NOW + 5)
    view.hear(RECORD, NOW + 6, 0.0)
    assert view.progress_of(1) is None
    view.hear(record(epoch=1), NOW + 7, 0.0)
    assert view.progress_of(1) is not None


def test_a_program_that_has_ended_its_training_is_waited_for_and_keeps_its_step() -> None:
    view = View()
    sent(view, 7, NOW)
    view.sent.add(StepReport(0, SAME_STEP, 0, pause=LONGEST_INTERVAL), 0, NOW + 60)
    assert heard(view, NOW + 61).step == 7
    assert not heard(view, NOW + 7200).hung


def test_silence_counts_from_when_this_daemon_could_hear() -> None:
    view = View()
    sent(view, 0, NOW)
    sent(view, 1, NOW + 5)
    back = NOW + 600
    assert not heard(view, back, since=back).hung, "it was stopped, and what was sent meanwhile is not known"
    assert not heard(view, back + HANG_SECONDS - 1, since=back).hung
    assert heard(view, back + HANG_SECONDS, since=back).hung


STEPS = Steps(0, 1840, "2.0", 1, 200, NOW)


def test_a_daemon_that_takes_over_knows_step_and_patience_from_the_record() -> None:
    view, kept = View(), record(steps=STEPS)
    taken = NOW + 50
    seen = heard(view, taken, taken, kept)
    assert (seen.step, seen.patience, seen.moved_at, seen.hung) == (1840, 200.0, taken, False)
    assert not heard(view, taken + 199, taken, kept).hung
    assert heard(view, taken + 200, taken, kept).hung


def test_a_daemon_that_takes_over_waits_for_the_next_report_for_longer_than_a_minute() -> None:
    view, kept = View(), record(steps=msgspec.structs.replace(STEPS, hung_after=60))
    assert not heard(view, NOW + SENT_AGAIN - 1, NOW, kept).hung
    seen = sent(view, 1841, NOW + 100)
    assert (seen.moved, seen.patience) == (True, HANG_SECONDS)


def test_the_patience_of_the_daemon_before_stays() -> None:
    view, kept = View(), record(steps=STEPS)
    heard(view, NOW, NOW, kept)
    sent(view, 1850, NOW + 40)
    assert sent(view, 1860, NOW + 80).patience == 5 * 40.0


@pytest.mark.parametrize("steps", [None, msgspec.structs.replace(STEPS, epoch=3), Steps(0, 12, "", 1, 0, NOW)])
def test_a_gang_whose_reports_are_read_or_that_reports_nothing_is_not_taken_for_one_that_sends(
    steps: Steps | None,
) -> None:
    view = View()
    view.hear(record(steps=steps), NOW, NOW)
    assert view.progress is None


def test_what_is_read_from_the_gangs_own_store_comes_first() -> None:
    view = View()
    sent(view, 5, NOW)
    answer = RollAnswer(at=NOW + 1, coordinator=CoordinatorState.SERVING, reports=())
    view.observe_probe(answer, 0)
    assert view.progress is not None
    assert view.progress.sent, "an empty store says nothing"
    view.observe_probe(replace(answer, at=NOW + 2, reports=(StepReport(0, 9, 3),)), 0)
    assert (view.progress.step, view.progress.sent) == (9, False)
    assert sent(view, 77, NOW + 3).step == 9


def test_what_another_controller_says_of_its_object_is_a_report_once() -> None:
    view = View()
    view.own = OwnState(report=StepReport(0, 12, 0), reported="20:00:00")
    assert heard(view, NOW).step == 12
    assert heard(view, NOW + 30).moved_at == NOW, "the same words are no news"
    view.own = OwnState(report=StepReport(0, 13, 0), reported="20:00:40")
    assert heard(view, NOW + 40).step == 13


def test_a_new_leader_forgets_what_was_sent_to_it_and_keeps_what_is_in_the_gangs_store() -> None:
    view = View()
    sent(view, 5, NOW)
    view.take_over()
    view.hear(RECORD, NOW + 1, NOW + 1)
    assert view.progress is None
    answer = RollAnswer(at=NOW + 1, coordinator=CoordinatorState.SERVING, reports=(StepReport(0, 9, 3),))
    view.observe_probe(answer, 0)
    view.take_over()
    assert sure(view.progress).step == 9


def test_a_gang_that_hangs_does_not_get_on_because_nothing_could_be_heard() -> None:
    view = View()
    sent(view, 0, NOW)
    sent(view, 1, NOW + 5)
    assert heard(view, NOW + 500).hung
    assert heard(view, NOW + 501, since=NOW + 501).hung
    assert not sent(view, 2, NOW + 502, since=NOW + 501).hung


def test_a_report_that_only_shows_work_is_no_step_and_holds_for_as_long_as_it_says() -> None:
    view = View()
    sent(view, 0, NOW)
    sent(view, 1, NOW + 5)
    last = StepReport(0, 1, 2, at=NOW + 5, longest=5.0)
    view.sent.add(last._replace(works=20.0), 0, NOW + 40)
    view.sent.add(last._replace(rank=1), 0, NOW + 40)
    heard(view, NOW + 41)
    view.sent.add(last._replace(works=20.0), 0, NOW + 50)
    seen = heard(view, NOW + 69)
    assert seen.workers == {0}
    assert seen.moved_at == NOW + 41
    assert not heard(view, NOW + 70).workers


def test_what_shows_work_in_an_epoch_that_is_over_shows_nothing_of_the_next() -> None:
    view = View()
    view.sent.add(StepReport(0, 1, 2, works=60.0), 0, NOW)
    assert heard(view, NOW).workers == {0}
    view.sent.add(StepReport(0, 1, 2), 1, NOW + 5)
    view.hear(record(epoch=1), NOW + 5, 0.0)
    assert not sure(view.progress).workers


def test_one_report_after_a_takeover_and_then_none_is_a_hang() -> None:
    view = View()
    taken_over = record(steps=Steps(epoch=0, step=400, reporting=1, hung_after=60))
    view.hear(taken_over, NOW, 0.0)
    view.sent.add(StepReport(0, 408, 0), 0, NOW + 2)
    assert not heard(view, NOW + 3, of=taken_over).hung
    assert heard(view, NOW + 2 + HANG_SECONDS + 1, of=taken_over).hung


def test_a_report_that_repeats_a_step_needs_one_before_it() -> None:
    reports = SentReports()
    reports.add(StepReport(1, SAME_STEP, 0), 0, NOW)
    assert (reports.last, reports.came_at, reports.fresh) == ({}, {}, False)
    reports.add(StepReport(1, 7, 0), 0, NOW)
    reports.add(StepReport(1, SAME_STEP, 0), 0, NOW + 9)
    reports.add(StepReport(1, 8, 0), 0, NOW + 12)
    assert (reports.last[1].step, reports.last[1].calls, reports.last[1].at) == (8, 3, NOW + 12)
    assert (reports.last[1].longest, reports.came_at) == (9.0, {1: NOW + 12})


def test_addresses_are_forgotten_once_they_are_more_than_twice_the_reports() -> None:
    reports = SentReports()
    reports.add(StepReport(0, 1, 0), 0, NOW)
    for address in ("a", "b", "c"):
        reports.came_from(address)
    assert list(reports.addresses) == ["a", "b", "c"]
    reports.came_from("d")
    assert list(reports.addresses) == ["d"]
    reports.add(StepReport(0, 1, 0), 1, NOW)
    assert (list(reports.addresses), reports.epoch) == ([], 1)
