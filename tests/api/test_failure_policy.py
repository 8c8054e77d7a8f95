"""The failure policy and the restart policy of a spec: each mistake is named with its place and what to write."""

from typing import Any

import pytest

from tests.api.test_gates import document, spec, typed
from tests.api.test_manifest_rules import complaint

JOBS = {"a": typed(), "b": typed()}
WORKERS = {"worker": typed()}


def rules(*stated: dict[str, Any]) -> dict[str, Any]:
    return {"failurePolicy": {"rules": list(stated)}}


def test_rules_are_read_in_order() -> None:
    first = {
        "name": "oom",
        "action": "FailExperiment",
        "onExitCodes": [137],
        "onReasons": ["OOMKilled"],
        "onMessagePatterns": ["out of memory$"],
        "targetGroups": ["a"],
        "disruption": False,
        "counted": False,
        "limit": 2,
    }
    policy = spec("jobset", JOBS, **rules(first, {"action": "RestartMember"})).failure_policy
    assert policy is not None
    assert [rule.action for rule in policy.rules] == ["FailExperiment", "RestartMember"]
    assert policy.rules[0].model_dump(by_alias=True, mode="json") == first


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (
            {"targetGroups": ["c"]},
            "spec.failurePolicy.rules[0].targetGroups[0]: there is no type c, the types are a, b",
        ),
        ({"action": "Restart"}, "rules[0].action: the text 'Restart' is not allowed here, it is RestartGang"),
        (
            {"onMessagePatterns": ["ok", "(oops"]},
            "rules[0].onMessagePatterns[1]: not a regular expression of RE2: missing ): (oops",
        ),
        ({"onMessagePatterns": ["(?=a)"]}, "invalid perl operator"),
        ({"onMessagePatterns": ["a" * 257]}, "onMessagePatterns[0]: "),
        ({"onExitCodes": [0]}, "onExitCodes[0]: "),
        ({"onReason": ["x"]}, "did you mean onReasons?"),
    ],
)
def test_a_rule_that_cannot_be_used_is_refused_with_its_place(rule: dict[str, Any], words: str) -> None:
    text = complaint(document("jobset", JOBS, **rules({"action": "Ignore", **rule})))
    assert words in text, text
    assert text.startswith("m.yaml:")


@pytest.mark.parametrize(("operator", "action"), [("jax", "RestartMember"), ("pytorch", "Ignore")])
def test_members_of_one_program_are_not_judged_one_by_one(operator: str, action: str) -> None:
    text = complaint(document(operator, WORKERS, **rules({"action": action})))
    assert f"rules[0].action: the members of operator {operator} are one program" in text


def test_two_rules_of_one_name_are_refused() -> None:
    text = complaint(document("jobset", JOBS, **rules(*2 * [{"name": "x", "action": "Ignore"}])))
    assert "spec.failurePolicy.rules[1].name: another rule is named x" in text


@pytest.mark.parametrize(
    ("targets", "refused"), [((), True), (("head",), True), (("small",), False), (("small", "head"), True)]
)
def test_a_ray_head_cannot_be_replaced_alone(targets: tuple[str, ...], refused: bool) -> None:
    types = {"Head": {"resources": {"ramRatio": 2}}, "Workers": [{"name": "small", "resources": {"ramRatio": 2}}]}
    asked = rules({"action": "RestartMember", "targetGroups": list(targets)})
    if refused:
        assert "name groups other than head in targetGroups" in complaint(document("kuberay", types, **asked))
    else:
        assert spec("kuberay", types, **asked)


def test_the_restart_policy_has_jitter_and_nodes_to_avoid() -> None:
    policy = spec("jax", WORKERS, restartPolicy={"backoff": {"jitter": 0.2}, "avoidNodes": {}}).restart_policy
    assert policy.backoff.jitter == 0.2
    assert policy.avoid_nodes is not None
    assert (policy.avoid_nodes.after_failures, policy.avoid_nodes.most) == (2, 16)


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ({"window": "1h"}, "restartPolicy.window: unknown field, write renewOnProgress: true"),
        ({"noProgressLimit": 2}, "restartPolicy.noProgressLimit: unknown field, write renewOnProgress: true"),
        ({"backoff": {"jitter": 2}}, "restartPolicy.backoff.jitter: "),
        ({"avoidNodes": {"afterFailures": 0}}, "restartPolicy.avoidNodes.afterFailures: "),
        ({"avoidNodes": True}, "restartPolicy.avoidNodes: "),
    ],
)
def test_a_wrong_restart_policy_is_refused(stated: dict[str, Any], words: str) -> None:
    text = complaint(document("jax", WORKERS, restartPolicy=stated))
    assert words in text, text
