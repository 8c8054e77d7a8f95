"""The strategic merge of pod templates: mappings by key, named lists by name, the rest replaced."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.manifest.template.field import POD, Rules, merge

MAIN = {"name": "main", "image": "train:1", "env": [{"name": "RANK", "value": "0"}]}


def container(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Container main with ``above`` merged over ``below``."""
    pods = [{"spec": {"containers": [{"name": "main", **fields}]}} for fields in (below, above)]
    (merged,) = merge(pods[0], pods[1])["spec"]["containers"]
    return {name: value for name, value in merged.items() if name != "name"}


def spec(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    merged = merge({"spec": below}, {"spec": above})["spec"]
    assert isinstance(merged, dict)
    return merged


@pytest.mark.parametrize(
    ("field", "below", "above", "merged"),
    [
        ("volumes", [{"name": "a", "emptyDir": {}}], [{"name": "b", "nfs": {}}], [0, 1]),
        ("volumes", [{"name": "a", "emptyDir": {}}], [{"name": "a", "nfs": {}}], [1]),
        ("imagePullSecrets", [{"name": "a"}], [{"name": "a"}, {"name": "b"}], [0, 2]),
        ("tolerations", [{"key": "gpu"}], [{"key": "gpu"}], [0]),
        ("tolerations", [{"key": "gpu"}], [{"key": "gpu", "operator": "Exists"}], [0, 1]),
        ("hostAliases", [{"ip": "10.0.0.1", "hostnames": ["a"]}], [{"ip": "10.0.0.1", "hostnames": ["b"]}], [1]),
        (
            "topologySpreadConstraints",
            [{"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 1}],
            [
                {"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 2},
                {"topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "maxSkew": 1},
            ],
            [1, 2],
        ),
        ("nodeSelector", {"a": "1", "b": "1"}, {"b": "2", "c": "2"}, {"a": "1", "b": "2", "c": "2"}),
        ("schedulerName", "default-scheduler", "volcano", "volcano"),
        (
            "affinity",
            {"nodeAffinity": {"required": [1]}, "podAffinity": {"required": [1]}},
            {"nodeAffinity": {"required": [2]}},
            {"nodeAffinity": {"required": [2]}, "podAffinity": {"required": [1]}},
        ),
        ("securityContext", {"runAsUser": 1, "fsGroup": 2}, {"runAsUser": 3}, {"runAsUser": 3, "fsGroup": 2}),
        ("hostNetwork", False, True, True),
    ],
)
def test_fields_of_the_pod(field: str, below: Any, above: Any, merged: Any) -> None:
    """Numbers in ``merged`` are places in ``below`` followed by ``above``."""
    if isinstance(merged, list):
        merged = [(below + above)[place] for place in merged]
    assert spec({field: below}, {field: above}) == {field: merged}
    assert spec({}, {field: above}) == {field: above}


@pytest.mark.parametrize(
    ("field", "below", "above", "merged"),
    [
        ("env", [{"name": "A", "value": "1"}], [{"name": "B", "value": "$(A)"}], [0, 1]),
        ("env", [{"name": "A", "value": "1"}], [{"name": "A", "valueFrom": {"x": 1}}], [1]),
        ("envFrom", [{"secretRef": {"name": "s"}}], [{"secretRef": {"name": "s"}}, {"prefix": "P"}], [0, 2]),
        ("volumeMounts", [{"name": "a", "mountPath": "/a"}], [{"name": "b", "mountPath": "/a"}], [1]),
        ("volumeMounts", [{"name": "a", "mountPath": "/a"}], [{"name": "a", "mountPath": "/b"}], [0, 1]),
        ("ports", [{"containerPort": 1, "protocol": "TCP"}], [{"containerPort": 1, "protocol": "UDP"}], [0, 1]),
        ("command", ["a", "b"], ["c"], [2]),
    ],
)
def test_fields_of_a_container(field: str, below: Any, above: Any, merged: list[int]) -> None:
    assert container({field: below}, {field: above}) == {field: [(below + above)[place] for place in merged]}


def test_capabilities_are_added_to_those_of_the_manifest() -> None:
    below = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"], "add": ["SYS_PTRACE"]}}
    merged = container({"securityContext": below}, {"securityContext": {"capabilities": {"add": ["IPC_LOCK"]}}})
    assert merged["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"], "add": ["SYS_PTRACE", "IPC_LOCK"]},
    }


def test_extra_containers_stand_behind_main() -> None:
    sidecar = {"name": "log", "image": "vector:1"}
    merged = spec({"containers": [MAIN]}, {"containers": [sidecar, {"name": "main", "tty": True}]})
    assert merged["containers"] == [{**MAIN, "tty": True}, sidecar]


def test_neither_side_is_changed() -> None:
    below, above = (
        {"spec": {"containers": [MAIN]}},
        {"spec": {"containers": [{"name": "main", "env": [{"name": "B"}]}]}},
    )
    kept = repr((below, above))
    merge(below, above)
    assert repr((below, above)) == kept


NAMES = st.sampled_from(["main", "log", "a", "b"])
SCALARS = st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["", "x", "main"])


def fields(rules: Rules, *, any_kind: bool, depth: int = 3) -> st.SearchStrategy[dict[str, Any]]:
    """Mappings with the fields that have rules, and some that have none; ``any_kind``: values of the wrong kind too."""
    plain = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2))
    shapes: dict[str, st.SearchStrategy[Any]] = {"labels": st.dictionaries(NAMES, SCALARS, max_size=2)}
    if any_kind:
        shapes["other"] = plain
    if depth:
        shapes |= {name: fields(inside, any_kind=any_kind, depth=depth - 1) for name, inside in rules.mappings.items()}
        for name, rule in rules.lists.items():
            element = fields(rule.inside or Rules(), any_kind=any_kind, depth=depth - 1)
            optional = dict.fromkeys(rule.keys[1:], NAMES)
            keys = st.fixed_dictionaries(dict.fromkeys(rule.keys[:1], NAMES), optional=optional)
            named = st.builds(lambda a, b: {**a, **b}, element, keys)
            shapes[name] = st.lists(named | SCALARS if any_kind else named, max_size=3)
    return st.fixed_dictionaries({}, optional=shapes)


PODS = fields(POD, any_kind=True)
KUBERNETES_PODS = fields(POD, any_kind=False)
"""A field has the same kind everywhere, as it has in checked templates."""


@given(PODS)
def test_an_empty_template_changes_nothing(pod: dict[str, Any]) -> None:
    assert merge(pod, {}) == pod


@given(PODS, PODS)
def test_merging_twice_is_merging_once(pod: dict[str, Any], template: dict[str, Any]) -> None:
    once = merge(pod, template)
    assert repr(merge(once, template)) == repr(once)


@given(KUBERNETES_PODS, KUBERNETES_PODS, KUBERNETES_PODS)
def test_merging_templates_first_gives_the_same_pod(pod: Any, experiment: Any, group: Any) -> None:
    assert repr(merge(merge(pod, experiment), group)) == repr(merge(pod, merge(experiment, group)))
