"""The first rule that matches a failure applies; one that is used up says as what the failure counts for the rest."""

import time
from dataclasses import replace as replace_rule
from typing import Any

import pytest
from msgspec.structs import replace

from muster.state.facts.failure_cause import first_rule
from muster.state.vocabulary.plan_parts import Failures
from muster.state.vocabulary.record import Cause
from muster.state.vocabulary.rules import Escalation, FailureAction, FailureRule
from tests.builders import edited, plan

CAUSE = Cause(0, "Error", "boom", pod="p-1", group="worker", rank=1, container="main", exit_code=3)
TWICE = FailureRule(FailureAction.RESTART_MEMBER, per_job=2, counted=False, becomes=Escalation("UsedUp", "all gone"))
FREE = FailureRule(FailureAction.RESTART_MEMBER, counted=False)
END = FailureRule(FailureAction.FAIL_EXPERIMENT, reasons=("UsedUp",))


def applied(*rules: FailureRule, failures: float = 0, of_job: bool = False, cause: Cause = CAUSE) -> FailureRule:
    return first_rule(edited(plan(), rules=rules), cause, failures, of_job=of_job)


def test_without_a_rule_the_gang_is_restarted_and_that_counts() -> None:
    assert applied() == FailureRule(FailureAction.RESTART_GANG)


@pytest.mark.parametrize(("failures", "rule"), [(0, TWICE), (1, TWICE), (2, END), (9, END)])
def test_a_rule_applies_to_the_members_of_a_job_as_often_as_it_says(failures: int, rule: FailureRule) -> None:
    assert applied(TWICE, END, failures=failures) is rule


@pytest.mark.parametrize("member", [FREE, FailureRule(FailureAction.IGNORE)])
def test_a_rule_about_a_member_does_not_judge_the_failure_of_its_job(member: FailureRule) -> None:
    assert applied(TWICE, member, END, failures=2) is END
    assert applied(member, FailureRule(FailureAction.RESTART_JOB), of_job=True).action is FailureAction.RESTART_JOB


def test_a_used_up_rule_that_says_no_more_leaves_the_failure_as_it_is() -> None:
    silent = FailureRule(FailureAction.RESTART_MEMBER, per_job=0)
    assert applied(silent, FREE) is FREE


def test_rules_after_a_used_up_one_match_the_message_that_it_makes_of_the_failure() -> None:
    becomes = Escalation("UsedUp", "{container} of {namespace}/{pod}: {exit_code}, {message}")
    made = FailureRule(FailureAction.FAIL_EXPERIMENT, messages=(r"^main of \w+/p-1: 3, boom$",))
    assert applied(FailureRule(FailureAction.RESTART_MEMBER, per_job=0, becomes=becomes), made) is made


@pytest.mark.parametrize(
    ("matchers", "matches"),
    [
        ({}, True),
        ({"groups": ("worker",)}, True),
        ({"groups": ("driver",)}, False),
        ({"exit_codes": (3, 4)}, True),
        ({"exit_codes": (5,)}, False),
        ({"except_codes": (4,)}, True),
        ({"except_codes": (3,)}, False),
        ({"reasons": ("Error",)}, True),
        ({"reasons": ("OOMKilled",)}, False),
        ({"messages": ("^x$", "oo")}, True),
        ({"messages": ("^oo",)}, False),
        ({"disruption": False}, True),
        ({"disruption": True}, False),
        ({"container": "main"}, True),
        ({"container": "side"}, False),
        ({"groups": ("worker",), "exit_codes": (5,)}, False),
    ],
)
def test_a_rule_applies_where_all_its_matchers_hold(matchers: dict[str, Any], matches: bool) -> None:
    rule = FailureRule(FailureAction.FAIL_EXPERIMENT, **matchers)
    assert (applied(rule) is rule) is matches


@pytest.mark.parametrize("code", [0, None])
def test_a_rule_about_other_exit_codes_needs_a_failure_with_one(code: int | None) -> None:
    rule = FailureRule(FailureAction.FAIL_EXPERIMENT, except_codes=(3,))
    assert applied(rule, cause=replace(CAUSE, exit_code=code)) is not rule


def test_rules_of_a_group_and_of_all_are_tried_in_their_order() -> None:
    rules = tuple(FailureRule(FailureAction.FAIL_EXPERIMENT, name=name, groups=groups) for name, groups in (
        ("a", ("x",)), ("b", ()), ("c", ("worker", "x")), ("d", ("worker",)), ("e", ()),
    ))  # fmt: skip
    failures = Failures(rules)
    assert "".join(rule.name for rule in failures.of_group("worker")) == "bcde"
    assert "".join(rule.name for rule in failures.of_group("x")) == "abce"
    assert "".join(rule.name for rule in failures.of_group("other")) == "be"
    assert [failures.place(rule) for rule in rules] == [0, 1, 2, 3, 4]
    assert failures.place(FREE) == 5


def test_a_failure_asks_the_rules_of_its_own_group_alone() -> None:
    rules = tuple(replace_rule(TWICE, groups=(f"g{number}",)) for number in range(20_000))
    wanted = edited(plan(), rules=rules)
    began = time.process_time()
    for _ in range(10_000):
        first_rule(wanted, CAUSE, 0)
    assert time.process_time() - began < 1.0
