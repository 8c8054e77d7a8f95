"""A pod template merged over the rendered pod: it adds, and does not reach what Muster owns."""

import json
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from muster.api.manifest.experiment import parse_experiment
from muster.api.manifest.problems import SpecError
from muster.kinds.experiments import plan_of
from muster.reconcilers.render.pod import PodTemplate, render_pod
from muster.state.vocabulary.plan import Plan
from tests.fakes.plans import gang, member_of

HOSTILE = ["\0name\0 \0rank\0", "\\u0000name\\u0000", 'x", "privileged": true, "y": "', "\u2028\x7f 🦆", "$(HOST) $$"]


def planned(template: dict[str, Any], **spec: Any) -> Plan:
    """Return the plan of a checked experiment of two workers with this template."""
    body = {
        "operator": "jax",
        "image": "train:1",
        "command": "python main.py",
        "types": {"worker": {"count": 2, "resources": {"ramRatio": 2, "shmSizeGB": 1}}},
        "storage": {"attachExistingPVCs": [{"name": "data", "mountPoint": "/data"}]},
        "template": template,
    }
    metadata = {"uid": "u", "name": "e", "namespace": "n", "generation": 1, "resourceVersion": "1"}
    return plan_of(parse_experiment({"metadata": metadata, "spec": body | spec}))


def pod_of(plan: Plan, rank: int = 1) -> dict[str, Any]:
    return render_pod(plan, member_of(plan, rank), 0)


def main_of(pod: dict[str, Any]) -> dict[str, Any]:
    first: dict[str, Any] = pod["spec"]["containers"][0]
    assert first["name"] == "main"
    return first


def test_a_template_adds_to_the_pod_and_to_main() -> None:
    main = {
        "name": "main",
        "env": [{"name": "MINE", "value": "$(MUSTER_RANK)"}],
        "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
        "securityContext": {"capabilities": {"add": ["IPC_LOCK"]}},
    }
    volumes = [{"name": "scratch", "emptyDir": {}}]
    metadata = {"labels": {"team": "vision"}, "annotations": {"a": "b"}}
    spec = {"containers": [{"name": "log", "image": "vector:1"}, main], "volumes": volumes}
    plain, pod = pod_of(planned({})), pod_of(planned({"metadata": metadata, "spec": spec}))
    assert pod["metadata"]["labels"] == {**plain["metadata"]["labels"], "team": "vision"}
    assert pod["metadata"]["annotations"] == {"a": "b"}
    assert pod["spec"]["volumes"] == [*plain["spec"]["volumes"], *volumes]
    own = main_of(plain)
    assert main_of(pod) == {
        **own,
        "env": [*own["env"], *main["env"]],
        "volumeMounts": [*own["volumeMounts"], *main["volumeMounts"]],
        "securityContext": {**own["securityContext"], "capabilities": {"drop": ["ALL"], "add": ["IPC_LOCK"]}},
    }


def test_a_field_that_muster_does_not_set_is_in_the_pod_as_it_is_written() -> None:
    stated = {
        "schedulingGroup": {"podGroupName": "train"},
        "resourceClaims": [{"name": "dra", "resourceClaimTemplateName": "gpu"}],
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}],
        "dnsPolicy": "Default",
        "hostUsers": False,
    }
    spec = pod_of(planned({"spec": stated}))["spec"]
    assert {name: spec.get(name) for name in stated} == stated


def test_an_empty_template_changes_no_byte() -> None:
    template: dict[str, Any]
    for template in ({"metadata": {}}, {"metadata": {"labels": {}}, "spec": {"containers": [{"name": "main"}]}}):
        assert encoded(planned(template)) == encoded(planned({}))


def encoded(plan: Plan) -> bytes:
    return PodTemplate(plan, plan.groups[0], 0).render(member_of(plan, 1))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_of_a_template_stays_text(text: str) -> None:
    template = {
        "metadata": {"annotations": {text: text}},
        "spec": {"containers": [{"name": "main", "env": [{"name": text, "value": text}]}, {"name": text}]},
    }
    plan = gang(2)
    plan = replace(plan, groups=(replace(plan.groups[0], template=template),))
    pod = json.loads(encoded(plan))
    assert pod == pod_of(plan)
    assert pod["metadata"]["annotations"] == {text: text}
    assert pod["spec"]["containers"][0]["env"][-1] == {"name": text, "value": text}
    assert pod["metadata"]["name"] == plan.pod_name(plan.groups[0].member(1), 0)


WORDS = st.sampled_from(["main", "a", "x", "0"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**64), 2**64) | st.floats() | st.text(max_size=4) | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS | st.text(max_size=4), inner, max_size=2),
    max_leaves=6,
)
NAMES = st.sampled_from(["main", "log", "proxy"])
VOLUMES = st.sampled_from(["scratch", "cache", "shm", "claim-0", "claim-x"])
PATHS = st.sampled_from(["/a", "/data", "/dev/shm"])
ENV = st.sampled_from(["A", "B", "RANK", "MUSTER_RANK", "JAX_COORDINATOR_ADDRESS"])


def mostly(good: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Draw values, one in sixteen of any kind."""
    return st.integers(0, 15).flatmap(lambda number: good if number else JSON)


def records(key: str, names: st.SearchStrategy[str], **optional: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Draw lists of mappings with names of their own."""
    element = st.fixed_dictionaries({key: names}, optional=optional)
    return mostly(st.lists(element, max_size=3, unique_by=lambda each: each[key]))


def container(name: str) -> st.SearchStrategy[Any]:
    """Draw a container that is likely to be accepted."""
    mounts = mostly(st.lists(st.fixed_dictionaries({"name": VOLUMES, "mountPath": PATHS}), max_size=1))
    fields: dict[str, st.SearchStrategy[Any]] = {
        "env": records("name", ENV, value=st.text(max_size=3)),
        "volumeMounts": mounts,
        "securityContext": mostly(st.just({"privileged": True, "capabilities": {"drop": [], "add": ["IPC_LOCK"]}})),
        "tty": st.booleans(),
    }
    required = {"name": st.just(name)}
    if name == "main":
        fields["image"] = st.just("forged:1")
        fields["lifecycle"] = st.just({"preStop": {}})
    else:
        required["image"] = st.just("log:1")
    return st.fixed_dictionaries(required, optional=fields)


TEMPLATES = st.fixed_dictionaries(
    {},
    optional={
        "metadata": st.fixed_dictionaries(
            {},
            optional={
                "labels": mostly(st.dictionaries(st.sampled_from(["team", "muster.dev/rank"]), WORDS, max_size=1)),
                "annotations": st.dictionaries(st.sampled_from(["a", "b"]), st.text(max_size=3)),
            },
        ),
        "spec": st.fixed_dictionaries(
            {"volumes": st.just([{"name": name, "emptyDir": {}} for name in ("scratch", "cache", "claim-x")])},
            optional={
                "containers": st.lists(NAMES.flatmap(container), max_size=3, unique_by=lambda each: each["name"]),
                "tolerations": mostly(st.just([{"operator": "Exists"}])),
                "affinity": mostly(st.just({"nodeAffinity": {}})),
                "securityContext": mostly(st.just({"runAsUser": 0})),
                "hostNetwork": st.booleans(),
                "nodeSelector": mostly(st.just({"pool": "gpu"})),
            },
        ),
    },
)


@given(TEMPLATES)
def test_no_accepted_template_reaches_what_muster_owns(template: Any) -> None:
    try:
        plan = planned(template)
    except SpecError:
        event("refused")
        return
    event("accepted")
    plain, pod = pod_of(planned({})), pod_of(plan)
    for name in ("name", "namespace", "ownerReferences"):
        assert pod["metadata"][name] == plain["metadata"][name]
    assert plain["metadata"]["labels"].items() <= pod["metadata"]["labels"].items()
    for name in ("hostname", "subdomain", "restartPolicy", "terminationGracePeriodSeconds"):
        assert pod["spec"][name] == plain["spec"][name]
    own, main = main_of(plain), main_of(pod)
    for name in ("name", "image", "command", "resources"):
        assert main[name] == own[name]
    assert main["env"][: len(own["env"])] == own["env"]
    assert pod["spec"]["volumes"][: len(plain["spec"]["volumes"])] == plain["spec"]["volumes"]
    assert main["volumeMounts"][1] == {"name": "shm", "mountPath": "/dev/shm"}
    assert encoded(plan) == msgspec.json.encode(pod)
