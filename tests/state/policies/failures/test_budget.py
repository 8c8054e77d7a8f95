"""Budget: counted restarts, the window in which they count, back-off with jitter, and gangs that get nowhere."""

from dataclasses import replace

import pytest

from muster.api.gang import RuleUse
from muster.state.facts.context import Context
from muster.state.policies import restart
from muster.state.policies.failures import repair
from muster.state.summary import ends
from muster.state.view.view import View
from muster.state.vocabulary.record import Cause, Record
from muster.state.vocabulary.rules import FailureAction, FailureRule
from tests.builders import NOW, plan, record, sure

CAUSE = Cause(0, "Error")


def refusal(kept: Record, rule: FailureRule, cause: Cause) -> str:
    """The message of the end where that rule is used up."""
    of_rule = plan(rules=(rule,))
    refused = sure(restart.used_up(of_rule, kept, rule, cause))
    return ends.worded(Context.at(of_rule, kept, View(), NOW), refused).message


def test_a_rule_without_a_limit_leaves_no_trace() -> None:
    kept = restart.charged(plan(), record(), CAUSE, counted=False)
    assert (kept.rule_uses, kept.restarts) == ((), 0)


def test_a_rule_of_limit_zero_never_applies() -> None:
    rule = FailureRule(FailureAction.RESTART_GANG, limit=0, name="never")
    assert "limit of failure rule never reached (0)" in refusal(record(), rule, CAUSE)


@pytest.mark.parametrize("limit", [1, 2])
def test_a_rule_that_is_used_up_says_how_often_it_has_applied(limit: int) -> None:
    rule = FailureRule(FailureAction.RESTART_GANG, limit=limit, name="oom")
    kept = record(rule_uses=(RuleUse("oom", limit),))
    assert refusal(kept, rule, Cause(0, "OOMKilled", rank=2, pod="p-2", exit_code=1)) == (
        f"rank 2 (p-2) ended with exit code 1, OOMKilled; limit of failure rule oom reached ({limit})"
    )


def test_a_rule_without_a_name_is_counted_by_its_number() -> None:
    rules = (FailureRule(FailureAction.FAIL_EXPERIMENT, reasons=("x",)), FailureRule(FailureAction.IGNORE, limit=1))
    assert restart.limited(plan(rules=rules), rules[1]) == "2"


def test_waits_without_jitter_are_the_steps_of_the_backoff() -> None:
    assert [repair.counted(plan(), number, 1) for number in (1, 2, 3)] == [1, 2, 4]
    assert [repair.disrupted(plan(), row, 1) for row in (1, 2, 3)] == [0, 1, 2]


def test_jitter_shortens_a_wait_and_gives_the_same_each_time() -> None:
    shaken = plan(jitter=0.5)
    waits = [repair.counted(shaken, 1, epoch) for epoch in range(200)]
    assert waits == [repair.counted(shaken, 1, epoch) for epoch in range(200)]
    assert all(0.5 <= wait <= 1 for wait in waits)
    assert min(waits) < 0.6 < 0.9 < max(waits)
    assert repair.counted(replace(shaken, uid="another"), 1, 0) != waits[0]
