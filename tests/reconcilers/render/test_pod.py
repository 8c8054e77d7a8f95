"""The rendered pod has the values of the plan in their fields, and no other fields."""

import json
from dataclasses import replace
from hashlib import sha1
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.reconcilers.render.objects import Unrenderable
from muster.reconcilers.render.pod import REQUIRED, PodTemplate, kept_off, render_pod
from muster.state.vocabulary.group import Coordinator, Group, ProbeKind, Role
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Env, PodSpec, Port, Source, Toleration, Volume
from tests.fakes.plans import POD_FIELDS, UID, gang, member_of

EVERY_SOURCE = (
    Env("HOST", Source.COORDINATOR_HOST),
    Env("ADDRESS", Source.LITERAL, "$(HOST):1234"),
    Env("RANK", Source.RANK),
    Env("EPOCH", Source.EPOCH),
    Env("ATTEMPT", Source.ATTEMPT),
    Env("JOB_INDEX", Source.JOB_INDEX),
    Env("POD_INDEX", Source.POD_INDEX),
    Env("JOB_GLOBAL_INDEX", Source.JOB_GLOBAL_INDEX),
    Env("JOB_GROUP_INDEX", Source.JOB_GROUP_INDEX),
    Env("JOB_NAME", Source.JOB_NAME),
    Env("JOB_KEY", Source.JOB_KEY),
    Env("RESTARTS", Source.RESTARTS),
    Env("JOB_RESTARTS", Source.JOB_RESTARTS),
    Env("HOSTS", Source.MEMBER_HOSTS),
    Env("POD_IP", Source.POD_IP),
    Env("POD_NAME", Source.POD_NAME),
)
HOSTILE = [
    'echo "quoted" \\ back',
    'x", "privileged": true, "y": "',
    "first\nsecond\r\n\tthird",
    "\0name\0 \0rank\0",
    "\\u0000name\\u0000",
    "$(HOST) $$ `id` ${PATH}",
    "\u2028\u2029\x7f 🦆 é",
    "{name} %s {{rank}}",
]


def full(**changes: Any) -> Plan:
    """Return a plan that uses every field, with two groups."""
    every_field = PodSpec(
        image="registry.example/train:1",
        command="python3 -u main.py",
        requests={"cpu": "4", "memory": "16Gi"},
        limits={"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "8"},
        shm_bytes=1 << 30,
        node_selector={"gpu": "h100"},
        tolerations=(Toleration("gpu", "Exists", "", "NoSchedule"), Toleration("", "Exists", "", "")),
        pre_stop=("python3", "-c", "save()"),
        ptrace=True,
        volumes=(Volume("data", "/data"), Volume("data", "/again")),
        grace=7,
    )
    pod_changes = {name: changes.pop(name) for name in POD_FIELDS if name in changes}
    every_field = replace(every_field, **pod_changes)
    ports = (Port("coordinator", 1234),)
    groups = (
        Group("head", 1, 1, every_field, 0, 0, EVERY_SOURCE, role=Role.COORDINATOR, ports=ports),
        Group("worker", 2, 3, every_field, 1, 1, EVERY_SOURCE),
    )
    return gang(**{"groups": groups, **changes})


def pod_of(plan: Plan, rank: int = 0, epoch: int = 0) -> dict[str, Any]:
    return render_pod(plan, member_of(plan, rank), epoch)


def container_of(pod: dict[str, Any]) -> dict[str, Any]:
    container: dict[str, Any]
    (container,) = pod["spec"]["containers"]
    return container


def variables(pod: dict[str, Any]) -> dict[str, object]:
    return {env["name"]: env.get("value", env.get("valueFrom")) for env in container_of(pod)["env"]}


def test_a_pod_has_the_name_labels_and_owner_of_its_member() -> None:
    plan = full()
    member = member_of(plan, 5)
    pod = render_pod(plan, member, 3)
    assert pod["metadata"]["name"] == plan.pod_name(member, 3)
    assert pod["metadata"]["namespace"] == "lab"
    assert pod["metadata"]["labels"] == {
        "app.kubernetes.io/managed-by": "muster",
        "muster.dev/experiment": "moe",
        "muster.dev/experiment-uid": UID,
        "muster.dev/group": "worker",
        "muster.dev/job-index": "1",
        "muster.dev/pod-index": "1",
        "muster.dev/rank": "5",
        "muster.dev/epoch": "3",
        "muster.dev/attempt": "0",
        "muster.dev/role": "worker",
    }
    (owner,) = pod["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("Experiment", "moe", UID)
    assert owner["controller"] is True
    assert owner["blockOwnerDeletion"] is True


def test_the_hostname_differs_per_epoch() -> None:
    plan = full()
    spec = pod_of(plan, 0, 2)["spec"]
    assert f"{spec['hostname']}.{spec['subdomain']}" == plan.coordinator_host(2)
    assert spec["hostname"] != pod_of(plan, 0, 3)["spec"]["hostname"]


def test_every_source_of_the_environment_is_resolved_in_the_given_order() -> None:
    plan = full()
    pod = pod_of(plan, 5, 1)
    assert list(variables(pod)) == [env.name for env in EVERY_SOURCE]
    assert variables(pod) == {
        "HOST": plan.coordinator_host(1),
        "ADDRESS": "$(HOST):1234",
        "RANK": "5",
        "EPOCH": "1",
        "ATTEMPT": "0",
        "JOB_INDEX": "1",
        "POD_INDEX": "1",
        "JOB_GLOBAL_INDEX": "2",
        "JOB_GROUP_INDEX": "1",
        "JOB_NAME": "moe-worker-1",
        "JOB_KEY": sha1(f"{plan.namespace}/moe-worker-1".encode(), usedforsecurity=False).hexdigest(),
        "RESTARTS": "0",
        "JOB_RESTARTS": "0",
        "HOSTS": ",".join(f"{plan.hostname(each, 1)}.{plan.domain}" for each in plan.members()),
        "POD_IP": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}},
        "POD_NAME": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}},
    }
    assert {env.source for env in EVERY_SOURCE} == set(Source), "a source this test forgot"


def test_of_a_repeated_variable_the_last_stays_at_its_place() -> None:
    env = (Env("RANK", Source.LITERAL, "forged"), Env("A", Source.LITERAL, "1"), Env("RANK", Source.RANK))
    assert list(variables(pod_of(gang(env=env), 2)).items()) == [("A", "1"), ("RANK", "2")]


def test_the_default_security_context_drops_every_privilege() -> None:
    spec = pod_of(gang())["spec"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["enableServiceLinks"] is False
    assert spec["restartPolicy"] == "Never"
    security = container_of({"spec": spec})["securityContext"]
    assert security["allowPrivilegeEscalation"] is False
    assert security["privileged"] is False
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}


def test_the_kubelet_takes_the_termination_message_from_the_log_of_a_failed_member() -> None:
    assert container_of(pod_of(gang()))["terminationMessagePolicy"] == "FallbackToLogsOnError"


def test_ptrace_adds_one_capability() -> None:
    security = container_of(pod_of(gang(ptrace=True)))["securityContext"]
    assert security["capabilities"] == {"drop": ["ALL"], "add": ["SYS_PTRACE"]}


def test_resources_volumes_and_placement_come_from_the_group() -> None:
    spec = pod_of(full(), 1)["spec"]
    container = container_of({"spec": spec})
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "8"
    assert spec["volumes"] == [
        {"name": "claim-0", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "claim-1", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "1073741824"}},
    ]
    assert [(mount["name"], mount["mountPath"]) for mount in container["volumeMounts"]] == [
        ("claim-0", "/data"),
        ("claim-1", "/again"),
        ("shm", "/dev/shm"),
    ]
    assert spec["nodeSelector"] == {"gpu": "h100"}
    assert spec["tolerations"] == [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}, {"operator": "Exists"}]
    assert spec["terminationGracePeriodSeconds"] == 7
    assert container["lifecycle"] == {"preStop": {"exec": {"command": ["python3", "-c", "save()"]}}}


def test_without_a_template_no_field_that_could_reach_the_node_is_there() -> None:
    pod = pod_of(full(), 1)
    assert " ".join(sorted(pod["spec"])) == (
        "automountServiceAccountToken containers enableServiceLinks hostname nodeSelector restartPolicy "
        "securityContext subdomain terminationGracePeriodSeconds tolerations volumes"
    )
    assert " ".join(sorted(container_of(pod))) == (
        "command env image lifecycle name resources securityContext terminationMessagePolicy volumeMounts"
    )


def test_pod_template_and_render_pod_give_the_same_bytes() -> None:
    plan = full()
    for group in plan.groups:
        template = PodTemplate(plan, group, 4)
        for offset in range(group.size):
            member = group.member(offset)
            assert template.render(member) == msgspec.json.encode(render_pod(plan, member, 4))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text_in_both_renderings(text: str) -> None:
    plan = full(command=text, image=text, name=text, pre_stop=(text,))
    group = replace(plan.groups[1], name=text, env=(Env(text, Source.LITERAL, text), Env("RANK", Source.RANK)))
    plan = replace(plan, groups=(plan.groups[0], group))
    pod = json.loads(PodTemplate(plan, group, 0).render(group.member(4)))
    assert pod == render_pod(plan, group.member(4), 0)
    assert container_of(pod)["image"] == text
    assert variables(pod) == {text: text, "RANK": "5"}
    assert "privileged" not in pod["spec"]


@given(st.text(), st.text(), st.integers(0, 2**31))
def test_both_renderings_agree_for_any_plan(text: str, name: str, epoch: int) -> None:
    env = (Env(text, Source.LITERAL, name), *EVERY_SOURCE)
    plan = gang(2, name=name, command=text, env=env)
    member = member_of(plan, 1)
    template = PodTemplate(plan, plan.groups[0], epoch)
    assert template.render(member) == msgspec.json.encode(render_pod(plan, member, epoch))


def test_a_lone_surrogate_is_an_error_that_names_the_group() -> None:
    plan = gang(command="echo \ud83e")
    with pytest.raises(Unrenderable, match=r"group 'worker' of experiment lab/moe .* surrogate"):
        PodTemplate(plan, plan.groups[0], 0)


def test_a_member_that_the_plan_lacks_is_an_error() -> None:
    plan, other = full(), gang(20)
    with pytest.raises(ValueError, match="has no member"):
        render_pod(plan, member_of(other, 19), 0)
    with pytest.raises(ValueError, match="has no member"):
        render_pod(plan, member_of(other, 0), 0)
    with pytest.raises(ValueError, match="not of group 'head'"):
        PodTemplate(plan, plan.groups[0], 0).render(member_of(plan, 1))


def test_without_a_coordinator_its_host_variable_is_empty() -> None:
    env = (Env("HOST", Source.COORDINATOR_HOST),)
    assert variables(pod_of(gang(coordinator=None, env=env))) == {"HOST": ""}
    far = gang(coordinator=Coordinator(3, 1, ProbeKind.NONE), env=env)
    assert variables(pod_of(far)) == {"HOST": far.coordinator_host(0)}


AWAY = [{"key": "metadata.name", "operator": "NotIn", "values": [node]} for node in ("a", "b")]
GPU = {"key": "gpu", "operator": "Exists"}


def pod(**spec: Any) -> dict[str, Any]:
    return {"spec": {"restartPolicy": "Never", **spec}}


def test_a_pod_without_avoided_nodes_is_as_it_was() -> None:
    assert kept_off(pod(), ()) == pod()


def test_a_pod_without_affinity_gets_one() -> None:
    wanted = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchFields": AWAY}]}}}
    assert kept_off(pod(), ("a", "b")) == pod(affinity=wanted)


def test_every_term_of_a_template_gets_the_condition_and_the_rest_stays() -> None:
    terms: list[dict[str, Any]] = [
        {"matchExpressions": [GPU]},
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["c"]}]},
    ]
    given = {"podAntiAffinity": {"x": 1}, "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}, "preferred": []}}
    before = repr(given)
    found = kept_off(pod(affinity=given), ("a", "b"))["spec"]["affinity"]
    assert found["podAntiAffinity"] == {"x": 1}
    assert found["nodeAffinity"]["preferred"] == []
    assert found["nodeAffinity"][REQUIRED]["nodeSelectorTerms"] == [
        {"matchExpressions": [GPU], "matchFields": AWAY},
        {"matchFields": [*terms[1]["matchFields"], *AWAY]},
    ]
    assert repr(given) == before
