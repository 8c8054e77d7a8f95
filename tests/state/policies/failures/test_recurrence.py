"""The same failure again: what a failure is known by, what an advance is, and what follows from the verdict."""

from collections.abc import Sequence
from typing import Any

import pytest

from muster.api.gang import MAX_PLACES
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
from muster.state.vocabulary.record import ConditionType, Phase, Record, SameFailure, Steps, from_status, to_status
from muster.state.vocabulary.rules import Backoff, FailureAction, FailureRule
from tests.builders import NOW, plan, record
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
        self.launch()
        self.start()
        self.look(1)
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
        for action in self.look():
            self.do(action)

    def preempt(self) -> None:
        """The scheduler preempts a member; the gang waits until its next epoch may begin."""
        self.set(2, terminating=True, disruption="PreemptionByScheduler")
        for action in self.look():
            self.do(action)
        self.gone(2, self.kept.epoch - 1)
        self.look(300)

    def report(self, step: int, calls: int = 2, **more: Any) -> None:
        """All ranks report that step."""
        reports = tuple(StepReport(rank, step, calls, self.now, **more) for rank in range(self.plan.size))
        self.observe_probe(*range(self.plan.size), passed=True, reports=reports)
        self.look(1)

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


@pytest.mark.parametrize(
    ("ends", "count"),
    [
        ([Child(3, 1), Child(3, 0)], 2),
        ([Child(3, 1), Child(4, 1)], 1),
        ([Child(-11), Child(-11)], 2),
        ([Child(-9, 1), Child(-9, 1)], 0),
        ([Child(1), Child(1)], 0),
    ],
)
def test_a_failure_behind_a_launcher_is_known_by_the_end_of_its_process(ends: list[Child], count: int) -> None:
    """A launcher exits with 1 whatever happened. A SIGKILL and an exit code 1 without a word say too little."""
    gang = Gang(wanted())
    for child in ends:
        gang.run()
        gang.fail(message="", raised_at="", child=child)
    assert gang.count == count


def test_an_exception_and_a_kill_behind_a_launcher_are_not_the_same() -> None:
    gang = Gang(wanted(same_failure_ends=True))
    gang.run()
    gang.fail(child=Child(1, 1))
    gang.run()
    gang.fail(message="", raised_at="", child=Child(-9, 1))
    gang.run()
    assert gang.kept.phase is Phase.RUNNING


def test_the_second_failure_that_is_the_same_is_named_and_nothing_else_changes() -> None:
    gang, other = Gang(wanted()), Gang(wanted(same_failure_limit=0))
    for each in (gang, other):
        for _ in range(3):
            each.run()
            each.fail()
        each.look()
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


def test_one_failure_is_no_recurrence() -> None:
    gang = Gang(wanted())
    gang.run()
    gang.fail()
    gang.look()
    assert (gang.count, gang.named) == (1, False)


def test_numbers_and_addresses_do_not_make_another_failure() -> None:
    gang = Gang(wanted())
    for message in ("E: 3 of 0xdeadbeef, run 4f3a9b2c10", "E: 14.5 of 0x11, run 0123456789"):
        gang.run()
        gang.fail(message=message)
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
        gang.run()
        gang.fail(**failure)
        gang.look()
        assert (gang.count, gang.named) == (1, False)


@pytest.mark.parametrize(("code", "signal"), [(1, 0), (137, 9), (143, 15)])
def test_an_end_that_says_nothing_cannot_be_known_again(code: int, signal: int) -> None:
    gang = Gang(wanted())
    for _ in range(3):
        gang.run()
        gang.fail(message="", raised_at="", code=code, signal=signal)
        gang.look()
        assert gang.kept.same_failure is None
    assert not gang.named


@pytest.mark.parametrize(
    ("code", "signal", "reason", "said"),
    [
        (78, 0, "Error", "exit code 78"),
        (139, 11, "Error", "exit code 139 (SIGSEGV)"),
        (137, 9, "OOMKilled", "exit code 137 (SIGKILL), OOMKilled"),
    ],
)
def test_an_exit_code_signal_or_reason_of_its_own_is_enough(code: int, signal: int, reason: str, said: str) -> None:
    gang = Gang(wanted())
    for _ in range(2):
        gang.run()
        gang.fail(message="", raised_at="", code=code, signal=signal, reason=reason)
    row = gang.kept.same_failure
    assert row is not None
    assert (row.count, row.failure) == (2, said)


def test_a_burst_of_one_epoch_is_one_failure() -> None:
    gang = Gang(wanted())
    gang.run()
    for rank in (0, 2):
        gang.set(rank, phase=PodPhase.FAILED, ready=False, exit=Exit("main", 1, 0, "Error", RAISED, gang.now, True, ""))
    gang.fail()
    assert gang.count == 1


def test_what_the_platform_does_neither_counts_nor_ends_the_row() -> None:
    gang = Gang(wanted())
    gang.run()
    gang.fail()
    gang.run()
    gang.preempt()
    assert (gang.count, gang.kept.disruptions) == (1, 1)
    gang.run()
    gang.fail()
    assert gang.count == 2


def test_five_minutes_of_work_are_an_advance_where_no_steps_are_known() -> None:
    gang = Gang(wanted())
    gang.run()
    gang.fail()
    gang.run(310)
    assert gang.kept.same_failure is None
    gang.fail()
    gang.look()
    assert (gang.count, gang.named) == (1, False)
    gang.run(298)
    gang.fail()
    gang.look()
    assert (gang.count, gang.named) == (2, True)
    gang.run(290)
    assert gang.named
    gang.look(15)
    assert not gang.named
    assert gang.told.count("NotStuck") == 1


def test_it_wakes_when_five_minutes_of_work_are_over() -> None:
    gang = Gang(wanted())
    gang.run()
    gang.fail()
    gang.run()
    assert gang.last is not None
    assert gang.kept.assembled_at is not None
    assert gang.last.wake_at == gang.kept.assembled_at + 300


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


def test_a_gang_whose_best_step_rises_is_never_named() -> None:
    assert played(reporting(), (50, 90, 130, 170)) == [False] * 4


def test_steps_after_an_epoch_of_which_none_was_read_may_be_an_advance() -> None:
    gang = reporting()
    assert played(gang, (None, 210)) == [False, False]
    assert played(gang, (210,)) == [True]


def test_epochs_of_which_no_step_was_read_are_judged_by_their_work() -> None:
    assert played(reporting(), (None, None)) == [False, True]


def test_steps_between_two_looks_are_no_advance() -> None:
    assert played(reporting(), (47, 49, 48, 50)) == [False, True, True, True]


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
    gang = reporting()
    gang.assemble()
    gang.report(50)
    gang.fail()
    gang.assemble()
    gang.report(45)
    gang.look(1000)  # no look has read a step since
    gang.fail()
    gang.look()
    assert (gang.count, gang.named) == (1, False)


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
    for _ in range(3):
        assert not gang.kept.finished if gang.record else True
        gang.run()
        gang.fail()
    assert (gang.kept.phase, gang.kept.reason, gang.kept.epoch, gang.kept.restarts) == (Phase.FAILED, REASON, 2, 2)
    assert gang.kept.message.startswith("the last 3 failures are the same, with at most 5s of work in between: ")
    assert "; rank 1 (" in gang.kept.message
    assert gang.count == 3
    assert gang.condition(ConditionType.STUCK) == (False, "NotStuck")


def test_a_rule_of_the_spec_goes_before_it() -> None:
    rules = (FailureRule(FailureAction.FAIL_EXPERIMENT, name="bad"),)
    gang = Gang(wanted(same_failure_ends=True, rules=rules))
    gang.run()
    gang.fail()
    assert gang.kept.reason == "FailureRule"


def test_disruptions_end_nothing_after_a_failure_that_is_the_same() -> None:
    gang = Gang(wanted(same_failure_ends=True, same_failure_limit=2))
    gang.run()
    gang.fail()
    for _ in range(3):
        gang.run()
        gang.preempt()
    assert (gang.kept.finished, gang.count) == (False, 1)


def test_different_nodes_point_to_the_program() -> None:
    gang = Gang(wanted())
    for rank in (1, 2):
        gang.run()
        gang.fail(rank)
    gang.look()
    assert gang.kept.message.startswith("the last 2 failures are the same")
    assert "they were on different nodes (node-1, node-2), which points to the program" in gang.kept.message


def test_one_node_and_different_ranks_point_to_the_node() -> None:
    gang = Gang(wanted())
    for rank in (1, 2):
        gang.run()
        gang.fail(rank, node="bad")
    gang.look()
    assert "all were on node bad, of different ranks (1, 2), which points to the node" in gang.kept.message


def test_one_node_says_nothing_where_the_gang_has_no_other() -> None:
    gang = Gang(wanted())
    for rank in (1, 2):
        gang.launch()
        gang.start()
        for each in range(4):
            gang.set(each, node="only")
        gang.look(1)
        gang.fail(rank)
    gang.look()
    assert "points to" not in gang.kept.message


def test_one_rank_on_one_node_tells_nothing_apart() -> None:
    gang = Gang(wanted())
    for _ in range(2):
        gang.run()
        gang.fail()
    gang.look()
    assert "points to" not in gang.kept.message


def test_the_places_of_a_failure_are_bounded() -> None:
    gang = Gang(wanted())
    for each in range(MAX_PLACES + 2):
        gang.run()
        gang.fail(node=f"n{each}")
    row = gang.kept.same_failure
    assert row is not None
    assert (row.count, row.nodes) == (MAX_PLACES + 2, tuple(f"n{each}" for each in range(MAX_PLACES)))
    gang.look()
    assert "n7 and others)" in ends.recurring(gang.kept)


def test_what_a_program_says_is_bounded() -> None:
    gang = Gang(wanted())
    for _ in range(2):
        gang.run()
        gang.fail(message="ä" * 512)
    row = gang.kept.same_failure
    assert row is not None
    assert len(row.failure) < 300
    assert row.failure.endswith("…, raised at train.py:41 in next")
    again = from_status(to_status(gang.kept))
    assert again is not None
    assert again.same_failure == row


def test_a_record_without_the_fields_reads_back() -> None:
    status = to_status(record(phase=Phase.RUNNING))
    assert not {"sameFailure", "bestStep", "renewedRestarts"} & set(status)
    again = from_status(status)
    assert again is not None
    assert (again.same_failure, again.best_step, again.renewed) == (None, None, 0)


def test_progress_gives_the_budget_back_where_the_spec_says_so() -> None:
    gang = Gang(wanted(limit=1, renews=True))
    for _ in range(4):
        gang.run(310)
        gang.fail(message="")
    assert (gang.kept.phase, gang.kept.restarts, gang.kept.renewed) == (Phase.RESTARTING, 4, 3)
    gang.run(200)
    gang.fail(message="")
    assert (gang.kept.phase, gang.kept.reason) == (Phase.FAILED, "BackoffLimitExceeded")
    assert gang.kept.message.endswith("restart limit reached (1 of 1 since its last progress)")


def test_without_that_word_progress_gives_nothing_back() -> None:
    gang = Gang(wanted(limit=1))
    for _ in range(2):
        gang.run(310)
        gang.fail(message="")
    assert gang.kept.reason == "BackoffLimitExceeded"


def test_a_gang_that_works_without_a_new_step_gets_nothing_back() -> None:
    gang = reporting(renews=True)
    gang.assemble()
    gang.report(50)
    gang.fail(message="")
    gang.assemble()
    gang.report(40, calls=1)
    gang.look(400)
    assert gang.kept.renewed == 0
    gang.report(200, calls=3)
    assert gang.kept.renewed == 1


def test_a_suspension_forgets_the_row() -> None:
    gang = Gang(wanted())
    for _ in range(2):
        gang.run()
        gang.fail()
    gang.plan = wanted(suspend=True)
    gang.obey()
    kept: Record = gang.kept
    assert (kept.phase, kept.same_failure, kept.best_step) == (Phase.SUSPENDED, None, None)


def restarts(gang: Gang) -> list[str]:
    """What the story says of each restart of the gang."""
    return [line.message.partition(": ")[0] + "|" + line.message.rpartition("; ")[2] for line in gang.kept.story
            if line.reason == "GangRestart"]  # fmt: skip


@pytest.mark.parametrize("same_failure_limit", [0, 3])
def test_a_restart_says_which_of_how_many_it_is_and_how_often_the_failure_was_the_same(same_failure_limit: int) -> None:
    gang = Gang(wanted(limit=6, same_failure_limit=same_failure_limit))
    gang.run()
    gang.fail(message="OSError: disk quota exceeded")
    for _ in range(3):
        gang.run()
        gang.fail()
    assert [said.partition("|")[0] for said in restarts(gang)] == [
        f"epoch {n} ended (restart {n + 1} of 6)" for n in range(4)
    ]
    assert [said.partition("|")[2].startswith("the same failure") for said in restarts(gang)] == [False] * 2 + [
        True
    ] * 2
    assert restarts(gang)[-1].endswith("|the same failure 3 times")
    assert gang.kept.same_failure is not None
    assert gang.kept.same_failure.count == 3


def test_the_end_says_how_often_the_failure_was_the_same() -> None:
    gang = Gang(wanted(limit=2, same_failure_limit=0))
    for _ in range(3):
        gang.run()
        gang.fail()
    assert gang.kept.message.endswith("restart limit reached (2 of 2); the same failure 3 times")


def test_a_disruption_is_no_failure_that_was_the_same() -> None:
    gang = Gang(wanted(limit=6))
    for _ in range(2):
        gang.run()
        gang.fail()
    gang.run()
    gang.preempt()
    said = next(line.message for line in reversed(gang.kept.story) if line.reason == "GangRestart")
    assert "disruption, not counted" in said
    assert "the same failure" not in said


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("ssh: Could not resolve hostname worker-1: Name or service not known", 3),
        ("bash: line 1: /data/shard-2: No such file or directory", 3),
        ("step 12 of 400 done, loss 0.17", 0),
        ("", 0),
    ],
)
def test_a_last_line_that_is_a_reason_is_known_again_and_any_other_is_not(line: str, count: int) -> None:
    gang = Gang(wanted())
    for _ in range(3):
        gang.run()
        gang.fail(message="", raised_at="", last_line=line)
    assert gang.count == count
    assert gang.named == (count >= 2)
