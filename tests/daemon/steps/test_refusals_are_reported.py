"""A refused request is reported on the experiment within five seconds, as Stuck, as an Event and as a metric."""

import asyncio

import pytest

from muster.api.errors import ApiError, Unreachable, error_of
from muster.daemon.app import Daemon
from tests.daemon.virtual_daemon import RUN, Cluster, experiment, scraped, virtually

FOREVER = 1_000_000
POST_PODS, LIST_PODS = "POST /api/v1/namespaces/team/pods", "GET /api/v1/namespaces/team/pods"
DENIED = 'pods "x" is forbidden: '
CANNOT_LIST = 'pods is forbidden: User "musterd" cannot list resource "pods" in API group ""'


@pytest.mark.parametrize(
    ("where", "error", "reason"),
    [
        (POST_PODS, error_of(403, "Forbidden", DENIED + "exceeded quota: small, used: pods=1"), "QuotaExceeded"),
        (POST_PODS, error_of(422, "Invalid", DENIED + "ValidatingAdmissionPolicy 'a' denied request"), "PolicyDenied"),
        (POST_PODS, error_of(500, "InternalError", 'failed calling webhook "a": refused'), "WebhookFailed"),
        (POST_PODS, error_of(503, "ServiceUnavailable", "no", retry_after=1.0), "ApiServerBusy"),
        (POST_PODS, Unreachable("no answer within 10 s", reason="Timeout"), "ApiServerSilent"),
        ("POST /api/v1/namespaces/team/services", error_of(403, "Forbidden", "no"), "ServicesForbidden"),
        (LIST_PODS, error_of(403, "Forbidden", CANNOT_LIST), "RightsMissing"),
    ],
)
@virtually
async def test_a_refusal_is_reported_within_five_seconds_and_cleared_when_it_is_over(
    cluster: Cluster, daemon: Daemon, where: str, error: ApiError, reason: str
) -> None:
    fault = cluster.api.fail(where, error, times=FOREVER)
    cluster.api.put(RUN, experiment())
    await asyncio.sleep(5)
    assert cluster.status["reason"] == reason
    assert error.message in cluster.status["message"]
    stuck = cluster.condition("Stuck")
    assert (stuck["status"], stuck["reason"]) == ("True", reason)
    assert len(cluster.events("Stuck")) == 1
    assert f'muster_refusals_total{{reason="{reason}"}}' in scraped(daemon)
    before = len(cluster.api.asked(where))
    await asyncio.sleep(300)
    assert len(cluster.api.asked(where)) - before <= 4 * 12, "it is tried again every 30 s at most"
    assert cluster.writes("PUT status") <= 4, "and not said again"
    fault.times = 0
    await asyncio.sleep(31)
    assert len(cluster.api.named("pods")) == 4
    assert cluster.condition("Stuck")["status"] == "False"


@virtually
async def test_a_final_refusal_ends_the_experiment(cluster: Cluster, daemon: Daemon) -> None:
    message = DENIED + "unable to create new content in namespace team because it is being terminated"
    cluster.api.fail(POST_PODS, error_of(403, "Forbidden", message), times=FOREVER)
    cluster.api.put(RUN, experiment())
    await asyncio.sleep(5)
    assert (cluster.status["phase"], cluster.status["reason"]) == ("Failed", "NamespaceGone")


@virtually
async def test_an_error_that_passes_within_a_second_is_not_reported(cluster: Cluster, daemon: Daemon) -> None:
    cluster.api.fail(POST_PODS, error_of(500, "InternalError", "etcdserver: leader changed"), times=5)
    cluster.api.put(RUN, experiment())
    await asyncio.sleep(10)
    assert len(cluster.api.named("pods")) == 4
    assert cluster.events("Stuck") == []
