"""The same failure again: what a failure is known by, what an advance is, and what follows from the verdict."""

from collections.abc import Sequence
from typing import Any

import pytest

from muster.api.gang import MAX_PLACES, SameFailure, Steps
from muster.api.last_words import NONE, Child
from muster.state.facts.context import Context
from muster.state.policies.failures import recurrence
from muster.state.policies.failures.recurrence import REASON
from muster.state.summary import ends
from muster.state.view.progress import StepReport
from muster.state.view.view import View
from muster.state.vocabulary.group import ProbeKind
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Exit, PodPhase
from muster.state.vocabulary.record import ConditionType, Phase, from_status, to_status
from muster.state.vocabulary.rules import Backoff, FailureAction, FailureRule
from tests.builders import NOW, plan, record, sure
from tests.state.story import Story

RAISED = "ValueError: sample 17 at 0x7f3a is NaN"


def wanted(**changes: Any) -> Plan:
    """A gang of four without a roll, restarted at once, as often as it fails."""
    stated: dict[str, Any] = {"limit": 50, "backoff": Backoff(0), "same_failure_limit": 2, **changes}
    return plan(probe=ProbeKind.NONE, **stated)


class Gang(Story):
    """A gang that runs, and fails."""

    def run(self, seconds: float = 5.0) -> None:
        """Launch the next epoch and let it work."""
        self.bring_up()
        assert self.kept.phase is Phase.RUNNING, self.kept.message
        self.look(seconds)

    def fail(
        self, rank: int = 1, message: str = RAISED, *, code: int = 1, signal: int = 0, reason: str = "Error",
        raised_at: str = "train.py:41 in next", node: str | None = None, child: Child = NONE, last_line: str = "",
    ) -> None:  # fmt: skip
        """A member raises an exception; the gang is restarted, or ends."""
        end = Exit("main", code, signal, reason, message, self.now, bool(message), last_line, raised_at, child)
        where: dict[str, Any] = {} if node is None else {"node": node}
        self.set(rank, phase=PodPhase.FAILED, ready=False, exit=end, **where)
        self.obey()

    def preempt(self) -> None:
        """The scheduler preempts a member; the gang waits until its next epoch may begin."""
        self.set(2, terminating=True, disruption="PreemptionByScheduler")
        self.obey()
        self.gone(2, self.kept.epoch - 1)
        self.look(300)

    def report(self, step: int, calls: int = 2, **more: Any) -> None:
        """All ranks report that step."""
        reports = tuple(StepReport(rank, step, calls, self.now, **more) for rank in range(self.plan.size))
        self.observe_probe(*range(self.plan.size), passed=True, reports=reports)
        self.look(1)

    def repeat(self, times: int, *, seconds: float = 5.0, **failure: Any) -> None:
        """So many epochs work for so long, and fail; the last decision is looked at once more."""
        for _ in range(times):
            self.run(seconds)
            self.fail(**failure)
        if not self.kept.finished:
            self.look()

    @property
    def count(self) -> int:
        row = self.kept.same_failure
        return row.count if row is not None else 0

    @property
    def named(self) -> bool:
        return self.condition(ConditionType.STUCK) == (True, REASON)


def reporting(**changes: Any) -> Gang:
    """A gang of jax, which can report steps."""
    return Gang(plan(limit=50, backoff=Backoff(0), same_failure_limit=2, **changes))


def played(gang: Gang, steps: Sequence[int | None], **failure: Any) -> list[bool]:
    """For each epoch: it reports that step, and fails; whether it is named then."""
    found = []
    for step in steps:
        gang.assemble()
        if step is not None:
            gang.report(max(step - 2, 0), calls=1)
            gang.report(step, calls=2)
        gang.fail(**failure)
        gang.look()
        found.append(gang.named)
    return found


SILENT: dict[str, Any] = {"message": "", "raised_at": ""}


@pytest.mark.parametrize(
    ("end", "failure"),
    [
        ({"code": 78}, "exit code 78"),
        ({"code": 139, "signal": 11}, "exit code 139 (SIGSEGV)"),
        ({"code": 137, "signal": 9, "reason": "OOMKilled"}, "exit code 137 (SIGKILL), OOMKilled"),
        (
            {"last_line": "ssh: Could not resolve hostname worker-1"},
            "exit code 1: ssh: Could not resolve hostname worker-#",
        ),
        (
            {"last_line": "bash: line 1: /data/shard-2: No such file"},
            "exit code 1: bash: line #: /data/shard-#: No such file",
        ),
        ({"child": Child(-11)}, "exit code 1: a process that it started was ended by signal 11 (SIGSEGV)"),
        ({"code": 1}, ""),
        ({"code": 255}, ""),
        ({"code": 137, "signal": 9}, ""),
        ({"code": 143, "signal": 15}, ""),
        ({"last_line": "step 12 of 400 done, loss 0.17"}, ""),
        ({"child": Child(-9, 1)}, ""),
        ({"child": Child(1)}, ""),
    ],
)
def test_a_failure_without_exception_is_known_again_if_its_end_shows_enough(end: dict[str, Any], failure: str) -> None:
    """A launcher exits with 1, or -1, whatever happened. A SIGKILL without last words shows too little."""
    gang = Gang(wanted())
    gang.repeat(2, **SILENT, **end)
    assert (gang.kept.same_failure.failure if gang.kept.same_failure else "") == failure
    assert (gang.count, gang.named) == ((2, True) if failure else (0, False))


@pytest.mark.parametrize(("other", "count"), [(Child(3, 0), 2), (Child(4, 1), 1)])
def test_a_failure_behind_a_launcher_is_known_by_the_exit_code_of_its_process(other: Child, count: int) -> None:
    gang = Gang(wanted())
    gang.repeat(1, **SILENT, child=Child(3, 1))
    gang.repeat(1, **SILENT, child=other)
    assert gang.count == count


def test_an_exception_and_a_kill_behind_a_launcher_are_not_the_same() -> None:
    gang = Gang(wanted(same_failure_ends=True))
    gang.repeat(1, child=Child(1, 1))
    gang.repeat(1, **SILENT, child=Child(-9, 1))
    assert not gang.kept.finished


def test_the_second_failure_that_is_the_same_is_named_and_nothing_else_changes() -> None:
    gang, other = Gang(wanted()), Gang(wanted(same_failure_limit=0))
    for each in (gang, other):
        each.repeat(3)
    assert gang.named
    assert other.condition(ConditionType.STUCK)[0] is False
    assert (gang.kept.phase, gang.kept.restarts, gang.kept.gang_restarts, gang.kept.resume_at) == (
        other.kept.phase, other.kept.restarts, other.kept.gang_restarts, other.kept.resume_at,
    )  # fmt: skip
    assert gang.kept.message.startswith(
        "the last 3 failures are the same, with at most 5s of work in between: "
        "exit code 1: ValueError: sample # at # is NaN, raised at train.py:41 in next"
    )
    assert gang.told.count("Stuck") == 1


def test_numbers_and_addresses_do_not_make_another_failure() -> None:
    gang = Gang(wanted())
    for message in ("E: 3 of 0xdeadbeef, run 4f3a9b2c10", "E: 14.5 of 0x11, run 0123456789"):
        gang.repeat(1, message=message)
    assert gang.count == 2


@pytest.mark.parametrize(
    "other",
    [
        {"message": "ValueError: loss is NaN"},
        {"raised_at": "train.py:88 in step"},
        {"code": 3},
        {"code": 139, "signal": 11},
        {"reason": "OOMKilled"},
    ],
    ids=lambda each: next(iter(each)),
)
def test_another_failure_begins_anew(other: dict[str, Any]) -> None:
    gang = Gang(wanted())
    for failure in ({}, other, {}, other):
        gang.repeat(1, **failure)
        assert (gang.count, gang.named) == (1, False)


def test_a_burst_of_one_epoch_is_one_failure() -> None:
    gang = Gang(wanted())
    gang.run()
    for rank in (0, 2):
        gang.set(rank, phase=PodPhase.FAILED, ready=False, exit=Exit("main", 1, 0, "Error", RAISED, gang.now, True, ""))
    gang.fail()
    assert gang.count == 1


def test_what_the_platform_does_neither_counts_nor_ends_the_row_nor_the_experiment() -> None:
    gang = Gang(wanted(same_failure_limit=3, same_failure_ends=True))
    gang.repeat(2)
    for disruptions in (1, 2):
        gang.run()
        gang.preempt()
        assert (gang.kept.finished, gang.count, gang.kept.disruptions) == (False, 2, disruptions)
    disrupted = next(line.message for line in reversed(gang.kept.story) if line.reason == "GangRestart")
    assert "disruption, not counted" in disrupted
    assert "the same failure" not in disrupted
    gang.repeat(1)
    assert gang.count == 3


def test_five_minutes_of_work_are_an_advance_where_no_steps_are_known() -> None:
    gang = Gang(wanted())
    gang.repeat(1)
    gang.run(310)
    assert gang.kept.same_failure is None
    gang.fail()
    gang.look()
    assert (gang.count, gang.named) == (1, False)
    gang.repeat(1, seconds=298)
    assert (gang.count, gang.named) == (2, True)
    gang.run(290)
    assert gang.wake_at == (gang.kept.assembled_at or 0.0) + 300
    assert gang.named
    gang.look(15)
    assert not gang.named
    assert gang.told.count("NotStuck") == 1


def test_a_failure_that_is_seen_late_counts_by_the_time_of_its_end() -> None:
    gang = Gang(wanted())
    for _ in range(2):
        gang.run()
        end = Exit("main", 1, 0, "Error", RAISED, gang.now, True, "")
        gang.set(1, phase=PodPhase.FAILED, ready=False, exit=end)
        gang.take_over()
        gang.obey(900)
    assert gang.count == 2


def test_a_gang_that_fails_at_one_step_again_and_again_is_named_however_long_it_worked() -> None:
    gang = reporting()
    found = []
    for _ in range(3):
        gang.assemble()
        gang.report(40, calls=1)
        gang.look(4000)
        gang.report(50)
        gang.fail()
        gang.look()
        found.append(gang.named)
    assert found == [False, True, True]
    assert "with at most 66m of work in between (best step 50):" in gang.kept.message


@pytest.mark.parametrize(
    ("steps", "named"),
    [
        ((50, 90, 130, 170), [False, False, False, False]),
        ((47, 49, 48, 50), [False, True, True, True]),
        ((None, 210, 210), [False, False, True]),
        ((None, None), [False, True]),
    ],
    ids=[
        "the best step rises", "steps between two looks", "of the first epoch none was read", "none was ever read",
    ],
)  # fmt: skip
def test_a_gang_is_named_once_its_epochs_come_no_further(steps: Sequence[int | None], named: list[bool]) -> None:
    assert played(reporting(), steps) == named


def test_it_is_withdrawn_as_soon_as_the_gang_is_past_its_best_step() -> None:
    gang = reporting()
    assert played(gang, (50, 50)) == [False, True]
    gang.assemble()
    gang.report(45, calls=1)
    assert gang.named
    gang.look(20)
    gang.report(50)
    assert gang.named
    gang.look(20)
    gang.report(120, calls=3)
    assert not gang.named
    assert gang.kept.same_failure is None


def test_a_rise_before_a_preemption_is_an_advance() -> None:
    gang = reporting()
    played(gang, (50,))
    gang.assemble()
    gang.report(150, calls=1)
    gang.preempt()
    assert gang.kept.best_step == 150
    assert played(gang, (150,)) == [False]


def test_steps_that_were_read_long_before_the_end_prove_nothing() -> None:
    gang = reporting().assemble()
    gang.report(50)
    gang.fail()
    gang.assemble()
    gang.report(45)
    gang.look(1000)  # no look has read a step since
    gang.fail()
    gang.look()
    assert (gang.count, gang.named) == (1, False)


@pytest.mark.parametrize(("seconds", "count"), [(20, 2), (60, 1)])
def test_an_epoch_of_which_no_step_was_read_may_have_advanced(seconds: float, count: int) -> None:
    gang = reporting()
    played(gang, (50,))
    gang.assemble()
    gang.look(seconds)
    gang.fail()
    gang.look()
    assert (gang.count, gang.named) == (count, count == 2)


def test_a_daemon_that_takes_over_goes_on_with_the_row() -> None:
    gang = reporting()
    played(gang, (50,))
    gang.take_over()
    assert played(gang, (50,)) == [True]
    gang.take_over()
    gang.look()
    assert gang.named
    assert gang.told.count("Stuck") == 1


@pytest.mark.parametrize(("step", "epoch", "kept"), [(70, 1, False), (50, 1, True), (70, 0, True)])
def test_steps_of_the_record_stand_for_those_that_a_new_daemon_has_not_read(step: int, epoch: int, kept: bool) -> None:
    row = SameFailure("f", "ended with exit code 3", 2, 0, again=True)
    before = record(
        phase=Phase.RUNNING, epoch=1, best_step=50, same_failure=row, steps=Steps(epoch, step, "1", 4, 0, NOW)
    )
    after = recurrence.track(Context.at(plan(), before, View(), NOW))
    assert (after.same_failure is not None) is kept


@pytest.mark.parametrize("apart", [1e-300, 1e-9])
def test_a_rate_that_no_program_has_widens_nothing(apart: float) -> None:
    gang = reporting()
    played(gang, (50, 50))
    gang.assemble()
    at = gang.now
    for step, calls, second in ((1, 1, at), (60, 2, at + apart), (61, 3, at + 2 * apart)):
        reports = tuple(StepReport(rank, step, calls, second) for rank in range(4))
        gang.observe_probe(*range(4), passed=True, reports=reports)
        gang.look(1)
    assert not gang.named


def test_where_the_spec_says_so_it_ends_the_experiment() -> None:
    gang = Gang(wanted(same_failure_limit=3, same_failure_ends=True))
    gang.repeat(3)
    assert (gang.kept.phase, gang.kept.reason, gang.kept.epoch, gang.kept.restarts) == (Phase.FAILED, REASON, 2, 2)
    assert gang.kept.message.startswith("the last 3 failures are the same, with at most 5s of work in between: ")
    assert "; rank 1 (" in gang.kept.message
    assert gang.count == 3
    assert gang.condition(ConditionType.STUCK) == (False, "NotStuck")


def test_a_rule_of_the_spec_goes_before_it() -> None:
    rules = (FailureRule(FailureAction.FAIL_EXPERIMENT, name="bad"),)
    gang = Gang(wanted(same_failure_limit=1, same_failure_ends=True, rules=rules))
    gang.repeat(1)
    assert gang.kept.reason == "FailureRule"


@pytest.mark.parametrize(
    ("ends", "other", "place"),
    [
        (((1, None), (2, None)), "", "they were on different nodes (node-1, node-2), which points to the program"),
        (((1, "bad"), (2, "bad")), "", "all were on node bad, of different ranks (1, 2), which points to the node"),
        (((1, "only"), (2, "only")), "only", ""),
        (((1, None), (1, None)), "", ""),
    ],
    ids=["different nodes", "one node, different ranks", "the gang has no other node", "one rank on one node"],
)
def test_nodes_and_ranks_of_the_failures_point_to_the_program_or_to_the_node(
    ends: tuple[tuple[int, str | None], ...], other: str, place: str
) -> None:
    gang = Gang(wanted())
    for rank, node in ends:
        gang.run()
        for each in range(4) if other else ():
            gang.set(each, node=other)
        gang.fail(rank, node=node)
    gang.look()
    assert gang.kept.message.startswith("the last 2 failures are the same")
    assert f"; {place}" in gang.kept.message if place else "points to" not in gang.kept.message


def test_the_places_of_a_failure_are_bounded() -> None:
    gang = Gang(wanted())
    for each in range(MAX_PLACES + 2):
        gang.repeat(1, node=f"n{each}")
    row = sure(gang.kept.same_failure)
    assert (row.count, row.nodes) == (MAX_PLACES + 2, tuple(f"n{each}" for each in range(MAX_PLACES)))
    assert "n7 and others)" in ends.recurring(gang.kept)


def test_what_a_program_says_is_bounded() -> None:
    gang = Gang(wanted())
    gang.repeat(2, message="ä" * 512)
    row = sure(gang.kept.same_failure)
    assert len(row.failure) < 300
    assert row.failure.endswith("…, raised at train.py:41 in next")
    assert sure(from_status(to_status(gang.kept))).same_failure == row


def test_progress_gives_the_budget_back_where_the_spec_says_so() -> None:
    without = Gang(wanted(limit=1))
    without.repeat(2, seconds=310, message="")
    assert without.kept.reason == "BackoffLimitExceeded"
    gang = Gang(wanted(limit=1, renews=True))
    gang.repeat(4, seconds=310, message="")
    assert (gang.kept.finished, gang.kept.restarts, gang.kept.renewed) == (False, 4, 3)
    gang.repeat(1, seconds=200, message="")
    assert (gang.kept.phase, gang.kept.reason) == (Phase.FAILED, "BackoffLimitExceeded")
    assert gang.kept.message.endswith("restart limit reached (1 of 1 since its last progress)")


def test_a_gang_that_works_without_a_new_step_gets_nothing_back() -> None:
    gang = reporting(renews=True).assemble()
    gang.report(50)
    gang.fail(message="")
    gang.assemble()
    gang.report(40, calls=1)
    gang.look(400)
    assert gang.kept.renewed == 0
    gang.report(200, calls=3)
    assert gang.kept.renewed == 1


@pytest.mark.parametrize("same_failure_limit", [0, 3])
def test_a_restart_names_its_number_and_how_often_the_failure_was_the_same(same_failure_limit: int) -> None:
    gang = Gang(wanted(limit=6, same_failure_limit=same_failure_limit))
    gang.repeat(1, message="OSError: disk quota exceeded")
    gang.repeat(3)
    lines = [line.message for line in gang.kept.story if line.reason == "GangRestart"]
    assert [line.partition(": ")[0] for line in lines] == [f"epoch {n} ended (restart {n + 1} of 6)" for n in range(4)]
    assert ["; the same failure" in line for line in lines] == [False, False, True, True]
    assert lines[-1].endswith("; the same failure 3 times")
    assert gang.count == 3


def test_the_end_names_how_often_the_failure_was_the_same() -> None:
    gang = Gang(wanted(limit=2, same_failure_limit=0))
    gang.repeat(3)
    assert gang.kept.message.endswith("restart limit reached (2 of 2); the same failure 3 times")
