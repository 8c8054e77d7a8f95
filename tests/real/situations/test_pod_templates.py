"""Pod templates before a real API server: what it admits, what it refuses, and whether it keeps them unchanged."""

from typing import Any

import msgspec
import pytest

from muster.api.errors import Forbidden, Invalid
from muster.api.manifest.experiment import parse_experiment
from muster.kinds.experiments import plan_of
from muster.kube.resources import core
from muster.reconcilers.render.pod import render_pod
from tests.real.site import PROCESSES, Site

pytestmark = pytest.mark.timeout(400)

SIDECAR = {"name": "endless", "image": "log:1", "command": ["sleep", "3600"]}
TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"team": "vision"}, "annotations": {"example.com/ticket": "1234"}},
    "spec": {
        "schedulerName": "default-scheduler",
        "automountServiceAccountToken": True,
        "imagePullSecrets": [{"name": "registry"}],
        "affinity": {
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 1, "preference": {"matchExpressions": [{"key": "rack", "operator": "Exists"}]}}
                ]
            }
        },
        "tolerations": [{"key": "research", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}],
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "zone",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": {"team": "vision"}},
            }
        ],
        "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "fsGroup": 1000},
        "dnsConfig": {"options": [{"name": "ndots", "value": "1"}]},
        "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["store"]}],
        "volumes": [
            {"name": "data", "emptyDir": {"sizeLimit": "1Gi"}},
            {"name": "me", "downwardAPI": {"items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]}},
        ],
        "initContainers": [
            {"name": "fetch", "image": "fetch:1", "volumeMounts": [{"name": "data", "mountPath": "/data"}]},
            {"name": "metrics", "image": "exporter:1", "restartPolicy": "Always"},
        ],
        "containers": [
            SIDECAR,
            {
                "name": "main",
                "env": [
                    {"name": "RUN_NAME", "value": "moe-$(MUSTER_RANK)"},
                    {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": True}}},
                ],
                "envFrom": [{"configMapRef": {"name": "defaults", "optional": True}}],
                "ports": [{"name": "metrics", "containerPort": 9090}],
                "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                "resources": {"claims": []},
                "securityContext": {"capabilities": {"add": ["IPC_LOCK"]}, "readOnlyRootFilesystem": True},
                "terminationMessagePolicy": "FallbackToLogsOnError",
            },
        ],
    },
}


@pytest.mark.core
async def test_a_pod_with_a_full_template_is_admitted_as_rendered(here: Site) -> None:
    here.row.happens("an experiment with a full pod template")
    await here.submit("full", template=TEMPLATE)
    await here.says("full", "^Running RollComplete 2/2 members are ready")
    pods = await here.pods("full")
    assert len(pods) == 2
    for pod in pods:
        main, sidecar = pod["spec"]["containers"]
        assert (main["name"], sidecar["name"]) == ("main", "endless")
        assert pod["metadata"]["labels"]["team"] == "vision"
        assert main["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["IPC_LOCK"]}
        names = [variable["name"] for variable in main["env"]]
        assert names.index("MUSTER_RANK") < names.index("RUN_NAME")
        assert [init["name"] for init in pod["spec"]["initContainers"]] == ["fetch", "metrics"]


@pytest.mark.core
async def test_a_template_cannot_be_added_changed_or_removed(here: Site) -> None:
    here.row.happens("a pod template is added, changed, removed")
    await here.submit("plain")
    await here.submit("with", template=TEMPLATE)
    for name, template in (("plain", {"spec": {}}), ("with", {"spec": {"dnsPolicy": "Default"}}), ("with", None)):
        with pytest.raises(Invalid, match="template cannot change") as refused:
            await here.change(name, template=template)
        here.row.says(str(refused.value).partition(": ")[2])
    await here.change("with", suspend=True)


@pytest.mark.core
async def test_a_misspelt_field_deep_in_a_template_rejects_the_pod(here: Site) -> None:
    here.row.happens("a pod template with affinity.nodeAfinity")
    await here.submit("typo", template={"spec": {"affinity": {"nodeAfinity": {}}}})
    await here.says("typo", r'^Failed PodRejected .*unknown field "spec\.affinity\.nodeAfinity"')


async def test_what_muster_owns_ends_the_experiment(here: Site) -> None:
    here.row.happens("a pod template that sets hostname")
    await here.submit("owner", template={"spec": {"hostname": "x"}})
    await here.says("owner", r"^Failed InvalidSpec .*spec\.template\.spec\.hostname")


async def test_a_sidecar_that_never_ends_does_not_keep_a_run_going(here: Site) -> None:
    here.row.happens("main exits 0, an extra container runs on")
    await here.submit("sidecar", "echo done", on=PROCESSES, template={"spec": {"containers": [SIDECAR]}})
    await here.says("sidecar", "^Succeeded AllMembersSucceeded", 120)


def main_with(**security: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "main", "securityContext": security}]}}


HARDENED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
NON_ROOT = {"securityContext": {"runAsNonRoot": True}}
LEVELS: dict[str, tuple[str, dict[str, Any]]] = {
    "nothing": ("baseline", {}),
    "a user": ("restricted", {"spec": {**NON_ROOT}}),
    "user 0": ("baseline", {"spec": {"securityContext": {"runAsUser": 0}}}),
    "a hardened sidecar": (
        "restricted",
        {"spec": {**NON_ROOT, "containers": [{**SIDECAR, "securityContext": HARDENED}]}},
    ),
    "a sidecar as it comes": ("baseline", {"spec": {**NON_ROOT, "containers": [SIDECAR]}}),
    "emptyDir": ("restricted", {"spec": {**NON_ROOT, "volumes": [{"name": "a", "emptyDir": {}}]}}),
    "nfs": ("baseline", {"spec": {**NON_ROOT, "volumes": [{"name": "a", "nfs": {"server": "s", "path": "/"}}]}}),
    "capabilities kept": ("baseline", main_with(capabilities={"drop": []})),
    "CHOWN": ("baseline", main_with(capabilities={"add": ["CHOWN"]})),
    "IPC_LOCK": ("privileged", main_with(capabilities={"add": ["IPC_LOCK"]})),
    "NET_RAW": ("privileged", main_with(capabilities={"add": ["NET_RAW"]})),
    "privileged": ("privileged", main_with(privileged=True, allowPrivilegeEscalation=True)),
    "Unconfined": ("privileged", main_with(seccompProfile={"type": "Unconfined"})),
    "hostNetwork": ("privileged", {"spec": {"hostNetwork": True}}),
    "hostPID": ("privileged", {"spec": {"hostPID": True}}),
    "hostIPC": ("privileged", {"spec": {"hostIPC": True}}),
    "hostPath": ("privileged", {"spec": {"volumes": [{"name": "a", "hostPath": {"path": "/"}}]}}),
    "hostPort": (
        "privileged",
        {"spec": {"containers": [{"name": "main", "ports": [{"containerPort": 1, "hostPort": 1}]}]}},
    ),
    "a probe's host": (
        "privileged",
        {"spec": {"containers": [{"name": "main", "readinessProbe": {"tcpSocket": {"port": 1, "host": "a"}}}]}},
    ),
}
"""What a template has, and the strictest level that admits it: the table of docs/pod-template.md."""
ORDER = ("privileged", "baseline", "restricted")


@pytest.mark.parametrize(
    "level",
    [pytest.param(level, marks=pytest.mark.labels({"pod-security.kubernetes.io/enforce": level})) for level in ORDER],
)
@pytest.mark.core
async def test_pod_security_admits_what_the_page_says(here: Site, level: str) -> None:
    here.row.happens(f"pods of {len(LEVELS)} templates in a namespace of level {level}")
    admitted = 0
    for what, (strictest, template) in LEVELS.items():
        body = here.experiment("e", template=template)
        body["metadata"] |= {"uid": "u", "generation": 1, "resourceVersion": "1"}
        plan = plan_of(parse_experiment(body))
        member = plan.member(0)
        assert member is not None
        pod = render_pod(plan, member, 0)
        del pod["metadata"]["ownerReferences"]
        fits = ORDER.index(level) <= ORDER.index(strictest)
        assert await admits(here, pod) == fits, what
        admitted += fits
    here.row.says(f"{admitted} admitted, the others refused, as docs/pod-template.md says")


async def admits(here: Site, pod: Any) -> bool:
    """Whether the namespace's Pod Security level admits the pod."""
    try:
        params = {"dryRun": "All", "fieldValidation": "Strict"}
        body = msgspec.json.encode(pod)
        await here.client.transport.request("POST", core(here.namespace, "pods"), params=params, body=body)
    except Forbidden as error:
        if "violates PodSecurity" not in error.message:
            raise
        return False
    return True
