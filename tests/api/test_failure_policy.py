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
    ("operator", "types", "rule", "said"),
    [
        (
            "jobset",
            JOBS,
            {"action": "Ignore", "targetGroups": ["c"]},
            "spec.failurePolicy.rules[0].targetGroups[0]: there is no type c, the types are a, b",
        ),
        (
            "jobset",
            JOBS,
            {"action": "Restart"},
            "rules[0].action: the text 'Restart' is not allowed here, it is RestartGang",
        ),
        (
            "jobset",
            JOBS,
            {"action": "Ignore", "onMessagePatterns": ["ok", "(oops"]},
            "rules[0].onMessagePatterns[1]: not a regular expression of RE2: missing ): (oops",
        ),
        ("jobset", JOBS, {"action": "Ignore", "onMessagePatterns": ["(?=a)"]}, "invalid perl operator"),
        ("jobset", JOBS, {"action": "Ignore", "onMessagePatterns": ["a" * 257]}, "onMessagePatterns[0]: "),
        ("jobset", JOBS, {"action": "Ignore", "onExitCodes": [0]}, "onExitCodes[0]: "),
        ("jobset", JOBS, {"action": "Ignore", "onReason": ["x"]}, "did you mean onReasons?"),
        ("jax", WORKERS, {"action": "RestartMember"}, "rules[0].action: the members of operator jax are one program"),
        ("pytorch", WORKERS, {"action": "Ignore"}, "the members of operator pytorch are one program"),
    ],
)
def test_a_rule_that_cannot_be_used_is_refused_with_its_place(
    operator: str, types: dict[str, Any], rule: dict[str, Any], said: str
) -> None:
    text = complaint(document(operator, types, **rules(rule)))
    assert said in text, text
    assert text.startswith("m.yaml:")


def test_two_rules_of_one_name_are_refused() -> None:
    text = complaint(document("jobset", JOBS, **rules(*2 * [{"name": "x", "action": "Ignore"}])))
    assert "spec.failurePolicy.rules[1].name: another rule is named x" in text


@pytest.mark.parametrize(
    ("targets", "refused"), [((), True), (("head",), True), (("small",), False), (("small", "head"), True)]
)
def test_a_ray_head_cannot_be_replaced_alone(targets: tuple[str, ...], refused: bool) -> None:
    types = {"Head": {"resources": {"ramRatio": 2}}, "Workers": [{"name": "small", "resources": {"ramRatio": 2}}]}
    asked = document("kuberay", types, **rules({"action": "RestartMember", "targetGroups": list(targets)}))
    if refused:
        assert "name groups other than head in targetGroups" in complaint(asked)
    else:
        assert spec("kuberay", types, **rules({"action": "RestartMember", "targetGroups": list(targets)}))


def test_the_restart_policy_has_jitter_and_nodes_to_avoid() -> None:
    stated = {
        "backoffLimit": 5,
        "backoff": {"jitter": 0.2},
        "avoidNodes": {},
    }
    policy = spec("jax", WORKERS, restartPolicy=stated).restart_policy
    assert policy.backoff.jitter == 0.2
    assert policy.avoid_nodes is not None
    assert (policy.avoid_nodes.after_failures, policy.avoid_nodes.most) == (2, 16)


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"window": "1h"}, "restartPolicy.window: unknown field, write renewOnProgress: true"),
        ({"noProgressLimit": 2}, "restartPolicy.noProgressLimit: unknown field, write renewOnProgress: true"),
        ({"backoff": {"jitter": 2}}, "restartPolicy.backoff.jitter: "),
        ({"avoidNodes": {"afterFailures": 0}}, "restartPolicy.avoidNodes.afterFailures: "),
        ({"avoidNodes": True}, "restartPolicy.avoidNodes: "),
    ],
)
def test_a_wrong_restart_policy_is_refused(stated: dict[str, Any], said: str) -> None:
    text = complaint(document("jax", WORKERS, restartPolicy=stated))
    assert said in text, text
