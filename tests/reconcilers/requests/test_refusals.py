"""Each refusal of the API server has a reason and an advice of its own."""

import pytest

from muster.api.errors import ApiError, Unreachable, error_of
from muster.kube.resources import core
from muster.kube.transport import error_from_answer
from muster.reconcilers.requests.refusals import refusal_of
from muster.state.view.engine_facts import Refusal
from tests.fakes.plans import gang

PODS = 'pods "moe-worker-0-0-abcde" is forbidden: '
SA = 'User "system:serviceaccount:muster-system:musterd" cannot create resource "pods" in API group "" in the namespace'


def refusal(error: ApiError, verb: str = "create", name: str = "moe-worker-0-0-abcde") -> Refusal:
    found = refusal_of(error, gang(), verb, "Pod", name)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("status", "message", "reason", "advice"),
    [
        (403, PODS + "exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1", "QuotaExceeded",
         "raise the ResourceQuota"),
        (403, PODS + "failed quota: small: must specify limits.cpu for: main", "QuotaExceeded", "ResourceQuota"),
        (403, PODS + "maximum cpu usage per Container is 50m, but limit is 100m", "LimitRangeViolated", "LimitRange"),
        (403, PODS + "[minimum memory usage per Pod is 1Gi, but request is 1Mi, maximum cpu usage per Pod is 1]",
         "LimitRangeViolated", "LimitRange"),
        (403, PODS + 'violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false',
         "PodSecurityViolated", "securityContext"),
        (422, PODS + "ValidatingAdmissionPolicy 'teams' with binding 'all' denied request: every pod names its team",
         "PolicyDenied", "policy"),
        (403, 'admission webhook "pods.real.test" denied the request: exceeded quota: of patience', "WebhookDenied",
         "this webhook"),
        (400, 'admission webhook "pods.real.test" denied the request: not on Sundays', "WebhookDenied", "this webhook"),
        (404, 'admission webhook "pods.real.test" denied the request: namespaces "x" not found', "WebhookDenied",
         "this webhook"),
        (500, 'Internal error occurred: failed calling webhook "pods.real.test": failed to call webhook: Post "https://x"',
         "WebhookFailed", "Service"),
        (500, 'Internal error occurred: failed calling webhook "a": context deadline exceeded', "WebhookFailed",
         "Service"),
        (403, PODS + "no PriorityClass with name nowhere was found", "PriorityClassMissing", "priorityClassName"),
        (403, PODS + 'error looking up service account lab/x: serviceaccount "x" not found', "ServiceAccountMissing",
         "serviceAccountName"),
        (403, PODS + 'pod rejected: RuntimeClass "gvisor" not found', "RuntimeClassMissing", "runtimeClassName"),
        (403, f'pods is forbidden: {SA} "lab"', "RightsMissing", "deploy/"),
        (403, PODS + "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers",
         "RightsMissing", "deploy/"),
        (403, PODS + "the moon is full", "PodsForbidden", "names what forbids it"),
        (401, "Unauthorized", "CredentialsRejected", "credentials"),
        (405, "the server does not allow this method", "PodsRefused", "has the reason"),
        (500, "etcdserver: leader changed", "ApiServerErrors", "log of the API server"),
        (504, "Timeout: request did not complete within requested timeout", "ApiServerErrors", "API server"),
        (429, "too many requests", "ApiServerBusy", "overloaded"),
    ],
)  # fmt: skip
def test_a_refusal_has_its_own_reason_and_advice_and_is_tried_again(
    status: int, message: str, reason: str, advice: str
) -> None:
    found = refusal(error_of(status, "", message))
    assert (found.reason, found.final) == (reason, False)
    for part in (message, advice, "create Pod lab/moe-worker-0-0-abcde", "Muster tries again."):
        assert part in found.message


@pytest.mark.parametrize(
    ("status", "message", "reason"),
    [
        (422, 'Pod "x" is invalid: spec.containers[0].image: Required value', "PodRejected"),
        (400, 'Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field', "PodRejected"),
        (404, 'namespaces "lab" not found', "NamespaceGone"),
        (403, PODS + "unable to create new content in namespace lab because it is being terminated", "NamespaceGone"),
    ],
)
def test_what_no_change_beside_the_object_mends_is_final(status: int, message: str, reason: str) -> None:
    found = refusal(error_of(status, "", message))
    assert (found.reason, found.final) == (reason, True)


def test_a_terminating_namespace_is_known_by_its_cause_whatever_the_text_says() -> None:
    body = (
        b'{"kind":"Status","status":"Failure","message":"pods is forbidden: exceeded quota: x","reason":"Forbidden",'
        b'"details":{"causes":[{"reason":"NamespaceTerminating","message":"it is being terminated"}]},"code":403}'
    )
    error = error_from_answer(403, {}, body, "POST /api/v1/namespaces/lab/pods")
    found = refusal(error)
    assert (found.reason, found.final) == ("NamespaceGone", True)


@pytest.mark.parametrize("status", [500, 503, 504, 429])
def test_what_often_passes_within_a_second_is_a_passing_refusal(status: int) -> None:
    assert refusal(error_of(status, "", "no")).passing


def test_a_request_that_is_not_answered_in_time_is_a_passing_refusal() -> None:
    found = refusal(Unreachable("no answer within 30 s", reason="Timeout"))
    assert (found.reason, found.passing) == ("ApiServerSilent", True)
    assert found.message.startswith("Muster could not create Pod lab/"), "it may have created it"
    assert "An admission webhook that hangs is the usual cause." in found.message
    listed = refusal(Unreachable("no answer within 30 s", reason="Timeout", request=f"GET {core('lab', 'pods')}"))
    assert "webhook" not in listed.message, "no webhook admits a read"
    assert refusal_of(Unreachable("connection refused"), gang(), "create", "Pod", "x") is None


@pytest.mark.parametrize(("status", "reason"), [(409, "Conflict"), (409, "AlreadyExists"), (410, "Expired")])
def test_a_conflict_is_no_refusal(status: int, reason: str) -> None:
    error: ApiError = error_of(status, reason, "the object has been modified")
    assert refusal_of(error, gang(), "create", "Pod", "x") is None


def test_missing_rights_to_list_pods_are_named() -> None:
    message = 'pods is forbidden: User "musterd" cannot list resource "pods" in API group "" in the namespace "lab"'
    found = refusal(error_of(403, "Forbidden", message, request=f"GET {core('lab', 'pods')}"))
    assert (found.reason, found.final) == ("RightsMissing", False)
    assert found.message.startswith("The API server refuses to list Pods in namespace lab: pods is forbidden")


@pytest.mark.parametrize(
    ("path", "read", "reason"),
    [
        ("/api/v1/namespaces/lab/pods", "list Pods in namespace lab", "PodsForbidden"),
        ("/api/v1/namespaces/lab/pods/moe-0", "get Pod lab/moe-0", "PodsForbidden"),
        ("/api/v1/namespaces/lab/services/moe", "get Service lab/moe", "ServicesForbidden"),
        ("/apis/muster.dev/v1/namespaces/lab/experiments/moe", "get Experiment lab/moe", "ExperimentsForbidden"),
        ("/apis/kueue.x-k8s.io/v1beta1/namespaces/lab/workloads/moe", "get Workload lab/moe", "WorkloadsForbidden"),
        ("/apis/kueue.x-k8s.io/v1beta1/resourceflavors/h200", "get ResourceFlavor h200", "ResourceFlavorsForbidden"),
    ],
)
def test_a_refused_read_is_named_by_its_own_path_whatever_write_it_belongs_to(
    path: str, read: str, reason: str
) -> None:
    found = refusal(error_of(403, "Forbidden", "the moon is full", request=f"GET {path}"))
    assert found.message.startswith(f"The API server refuses to {read}: the moon is full.")
    assert found.reason == reason
