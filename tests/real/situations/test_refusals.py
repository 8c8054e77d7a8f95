"""The API server says no: quota, admission, Pod Security, policies and webhooks."""

import pytest

from muster.api.names import name_suffix, pod_name
from muster.kube.resources import core
from tests.real.namespace import eventually, trial
from tests.real.site import Site
from tests.real.webhook import Behaviour, webhook

pytestmark = pytest.mark.timeout(400)


async def counted(here: Site, quota: str) -> None:
    """Wait until the controller manager counts that ResourceQuota."""

    async def counts() -> bool:
        found = await here.get(core(here.namespace, "resourcequotas", quota))
        return found is not None and "hard" in found.get("status", {})

    await eventually(counts)


async def refused(here: Site, words: str, **container: object) -> None:
    """Wait until the API server refuses a pod with those words: its admission learns of new objects by watches."""
    await eventually(lambda: here.refusal(trial(**container)), holds=lambda found: words in found)


@pytest.mark.core
async def test_a_quota_is_reported_and_its_raise_lets_the_gang_in(here: Site) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "small"},
        "spec": {"hard": {"pods": "1"}},
    }
    await here.apply(quota)
    await counted(here, "small")
    here.row.happens("a ResourceQuota of 1 pod, an experiment of 2")
    await here.submit("run")
    pattern = "QuotaExceeded.*exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1"
    await here.is_stuck("run", "QuotaExceeded", pattern)
    await here.says("run", r"exceeded quota(?!.*Pod Security).*Free or raise the ResourceQuota")
    quota["spec"] = {"hard": {"pods": "5"}}
    await here.apply(quota)
    await here.phase("run", "Running")


async def test_a_limit_range_is_reported(here: Site) -> None:
    limits = [{"type": "Container", "max": {"cpu": "50m"}}]
    await here.apply(
        {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "low"}, "spec": {"limits": limits}}
    )
    await refused(here, "maximum cpu usage", resources={"limits": {"cpu": "100m"}})
    here.row.happens("a LimitRange of 50m CPU, members of 100m")
    await here.submit("run")
    await here.is_stuck("run", "LimitRangeViolated", "LimitRangeViolated.*maximum cpu usage per Container is 50m")


@pytest.mark.labels({"pod-security.kubernetes.io/enforce": "restricted"})
@pytest.mark.core
async def test_pod_security_restricted_is_reported(here: Site) -> None:
    here.row.happens("a namespace that enforces Pod Security `restricted`")
    await here.submit("run")
    await here.is_stuck("run", "PodSecurityViolated", 'PodSecurityViolated .*"restricted:latest".*runAsNonRoot')


POLICY = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicy",
    "spec": {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
            ]
        },
        "validations": [
            {
                "expression": "has(object.metadata.labels) && 'team' in object.metadata.labels",
                "message": "every pod names its team",
            }
        ],
    },
}


async def deny(here: Site) -> None:
    """A policy that asks every pod of the namespace for a label; returns when it is in force."""
    name = here.namespace
    binding = {
        "apiVersion": POLICY["apiVersion"],
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {
            "policyName": name,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}},
        },
    }
    await here.apply({**POLICY, "metadata": {"name": name}}, binding)
    await refused(here, "names its team")


async def test_an_admission_policy_is_reported_and_without_it_the_gang_starts(here: Site) -> None:
    await deny(here)
    here.row.happens("a ValidatingAdmissionPolicy denies the pods, then it is deleted")
    await here.submit("run")
    await here.says("run", "PolicyDenied .*ValidatingAdmissionPolicy.*every pod names its team")
    await here.kubectl("delete", "validatingadmissionpolicybinding", here.namespace)
    await here.says("run", "^Running RollComplete 2/2")


async def test_a_webhook_that_denies_is_reported(here: Site) -> None:
    async with webhook(here, "deny"):
        here.row.happens("an admission webhook denies the pods")
        await here.submit("run")
        await here.says("run", 'WebhookDenied.*admission webhook "pods.real.test" denied the request: not on Sundays')


@pytest.mark.parametrize(
    "behaviour",
    [pytest.param("down", id="is down (500 on POST pods)"), pytest.param("slow", id="does not answer within its 3 s")],
)
async def test_a_webhook_that_cannot_be_called_is_stuck(here: Site, behaviour: Behaviour) -> None:
    async with webhook(here, behaviour):
        here.row.happens(f"an admission webhook is {behaviour}")
        await here.submit("run")
        pattern = 'WebhookFailed .*failed calling webhook "pods.real.test".*restore its Service'
        await here.is_stuck("run", "WebhookFailed", pattern)


@pytest.mark.parametrize(
    ("behaviour", "words"), [("deny without code", "not on Sundays"), ("down", "failed calling webhook")]
)
async def test_once_a_webhook_is_gone_the_gang_starts(here: Site, behaviour: Behaviour, words: str) -> None:
    async with webhook(here, behaviour):
        here.row.happens(f"an admission webhook ({behaviour}) refuses the pods and is removed")
        await here.submit("run")
        await here.until("run", lambda seen: words in seen.message)
    await here.says("run", "^Running RollComplete 2/2")


async def test_a_service_of_somebody_elses_is_explained(here: Site) -> None:
    ports = [{"port": 80}]
    await here.apply({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "run"}, "spec": {"ports": ports}})
    here.row.happens("a Service of the experiment's name is there already")
    await here.submit("run")
    await here.says("run", "^Failed NameTaken Service .*/run ")


async def test_a_pod_that_is_nobodys_is_explained_and_left_to_a_person(here: Site) -> None:
    await here.submit("run", suspend=True)
    await here.phase("run", "Suspended")
    uid = (await here.client.get("run", namespace=here.namespace)).uid
    name = pod_name("run", "worker", 0, 1, name_suffix(uid, 0))
    container = {"name": "main", "image": "registry.example/other:1"}
    await here.request(
        "POST", core(here.namespace, "pods"), {"metadata": {"name": name}, "spec": {"containers": [container]}}
    )
    here.row.happens("a pod without a controller has the name of rank 1; a person deletes it later")
    await here.change("run", suspend=False)
    await here.is_stuck("run", "PodAltered", f"Pod {here.namespace}/{name} exists and has no ownerReference")
    assert await here.get(core(here.namespace, "pods", name)) is not None
    await here.kubectl("delete", "pod", name)
    await here.phase("run", "Running")


async def test_a_missing_priority_class_is_reported(here: Site) -> None:
    name = f"{here.namespace}-high"
    here.row.happens("the template names a PriorityClass that does not exist; it is created later")
    await here.submit("run", template={"spec": {"priorityClassName": name}})
    pattern = f"PriorityClassMissing .*no PriorityClass with name {name} was found"
    await here.is_stuck("run", "PriorityClassMissing", pattern)
    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    await here.apply({**kind, "metadata": {"name": name}, "value": 10})
    await here.phase("run", "Running")
    await here.kubectl("delete", "priorityclass", name)
