"""Budget: counted restarts, the window in which they count, back-off with jitter, and gangs that get nowhere."""

from dataclasses import replace

import pytest

from muster.state.policies.failures.cost import backoff, budget
from muster.state.vocabulary.coordinator import ProbeKind
from muster.state.vocabulary.record import Cause, Phase, RuleUse
from muster.state.vocabulary.rules import Backoff, FailureAction, FailureRule
from tests.builders import NOW, plan, record
from tests.state.story import Story

CAUSE = Cause(0, "Error")


def test_without_a_window_every_restart_counts() -> None:
    kept = budget.charged(plan(), record(), counted=True, rule="", now=NOW)
    assert (kept.restarts, kept.restarted_at) == (1, ())
    assert budget.used(plan(), kept, NOW + 1e6) == 1


def test_in_a_window_only_the_last_restarts_count() -> None:
    wanted, kept = plan(window=100.0, limit=2), record()
    for second in (0, 50, 120):
        assert budget.spent(wanted, kept, CAUSE, NOW + second) is None
        kept = budget.charged(wanted, kept, counted=True, rule="", now=NOW + second)
    assert (kept.restarts, kept.restarted_at) == (3, (NOW + 50, NOW + 120))
    over = budget.spent(wanted, kept, CAUSE, NOW + 121)
    assert over is not None
    assert over.message.endswith("; restart limit reached (2 of 2 within 100 s)")
    assert budget.spent(wanted, kept, CAUSE, NOW + 151) is None


def test_a_window_with_its_restarts_used_ends_the_experiment() -> None:
    story = Story(plan(probe=ProbeKind.NONE, window=1000.0, limit=1, backoff=Backoff(0)))
    for wait in (2000, 1):
        story.launch()
        story.start()
        story.look(1)
        story.now += wait
        story.end(1, 1)
        story.look()
        assert story.kept.phase is Phase.RESTARTING or wait == 1
        for action in story.look():
            story.do(action)
        story.look()
    assert (story.kept.phase, story.kept.reason, story.kept.restarts) == (Phase.FAILED, "BackoffLimitExceeded", 1)


def test_a_rule_without_a_limit_leaves_no_trace() -> None:
    kept = budget.charged(plan(), record(), counted=False, rule="", now=NOW)
    assert kept == record()


def test_a_rule_of_limit_zero_never_applies() -> None:
    rule = FailureRule(FailureAction.RESTART_GANG, limit=0, name="never")
    refused = budget.refused(plan(rules=(rule,)), record(), rule, CAUSE)
    assert refused is not None
    assert "limit of failure rule never reached (0)" in refused.message


@pytest.mark.parametrize("limit", [1, 2])
def test_a_rule_that_is_used_up_says_how_often_it_has_applied(limit: int) -> None:
    rule = FailureRule(FailureAction.RESTART_GANG, limit=limit, name="oom")
    kept = record(rule_uses=(RuleUse("oom", limit),))
    refused = budget.refused(plan(rules=(rule,)), kept, rule, Cause(0, "OOMKilled", rank=2, pod="p-2", exit_code=1))
    assert refused is not None
    assert refused.message == (
        f"rank 2 (p-2) ended with exit code 1, OOMKilled; limit of failure rule oom reached ({limit})"
    )


def test_a_rule_without_a_name_is_counted_by_its_number() -> None:
    rules = (FailureRule(FailureAction.FAIL_EXPERIMENT, reasons=("x",)), FailureRule(FailureAction.IGNORE, limit=1))
    assert budget.limited(plan(rules=rules), rules[1]) == "2"


def test_waits_without_jitter_are_the_steps_of_the_backoff() -> None:
    assert [backoff.counted(plan(), number, 1) for number in (1, 2, 3)] == [1, 2, 4]
    assert [backoff.disrupted(plan(), row, 1) for row in (1, 2, 3)] == [0, 1, 2]


def test_jitter_shortens_a_wait_and_gives_the_same_each_time() -> None:
    shaken = plan(jitter=0.5)
    waits = [backoff.counted(shaken, 1, epoch) for epoch in range(200)]
    assert waits == [backoff.counted(shaken, 1, epoch) for epoch in range(200)]
    assert all(0.5 <= wait <= 1 for wait in waits)
    assert min(waits) < 0.6 < 0.9 < max(waits)
    assert backoff.counted(replace(shaken, uid="another"), 1, 0) != waits[0]


def test_restarts_in_a_row_without_progress_end_the_experiment() -> None:
    story = Story(plan(probe=ProbeKind.NONE, limit=50, no_progress_limit=2, backoff=Backoff(0)))
    for _ in range(3):
        story.launch()
        story.start()
        story.look(1)
        story.end(1, 1)
        for action in story.look():
            story.do(action)
        story.look()
    assert (story.kept.phase, story.kept.reason, story.kept.restarts) == (Phase.FAILED, "NoProgress", 2)
    assert story.kept.message.endswith("; limit reached (2 of 2 restarts in a row, each with less than 300 s of work)")


def test_work_between_two_restarts_ends_the_row() -> None:
    story = Story(plan(probe=ProbeKind.NONE, limit=50, no_progress_limit=1, backoff=Backoff(0)))
    for _ in range(3):
        story.launch()
        story.start()
        story.look(1)
        story.look(301)
        assert story.kept.without_progress == 0
        story.end(1, 1)
        for action in story.look():
            story.do(action)
        story.look()
    assert (story.kept.restarts, story.kept.finished) == (3, False)
