"""Requests are measured by verb, resource and outcome."""

import asyncio

import pytest

from muster.api.errors import NotFound
from muster.kube.instrumented import labels, measured
from muster.kube.resources import core, custom
from tests.fakes.api import FakeApi

RUN = custom("muster.dev/v1alpha1", "team", "experiments", "run")


@pytest.mark.parametrize(
    ("method", "path", "observed"),
    [
        ("POST", "/api/v1/namespaces/team/pods", ("create", "pods")),
        ("DELETE", "/api/v1/namespaces/team/pods/run-0", ("delete", "pods")),
        ("GET", "/api/v1/pods", ("list", "pods")),
        ("GET", "/api/v1/namespaces/team/pods", ("list", "pods")),
        ("GET", "/api/v1/namespaces/team", ("get", "namespaces")),
        ("GET", "/apis/muster.dev/v1alpha1/experiments", ("list", "experiments")),
        ("GET", "/apis/muster.dev/v1alpha1/namespaces/team/experiments/run", ("get", "experiments")),
        ("PUT", "/apis/muster.dev/v1alpha1/namespaces/team/experiments/run/status", ("update", "experiments/status")),
        ("PUT", "/apis/coordination.k8s.io/v1/namespaces/muster/leases/musterd", ("update", "leases")),
        ("OPTIONS", "/version", ("other", "other")),
    ],
)
def test_verb_and_resource_come_from_the_path(method: str, path: str, observed: tuple[str, str]) -> None:
    assert labels(method, path) == observed


async def test_each_request_is_observed_once_with_its_outcome() -> None:
    api, observed = FakeApi(), list[tuple[str, str, str, float]]()
    transport = measured(api, lambda *seen: observed.append(seen), iter(range(100)).__next__)
    api.put(RUN, {"spec": {}})
    await transport.request("GET", RUN)
    with pytest.raises(NotFound):
        await transport.request("GET", core("team", "pods", "nobody"))
    api.gate.clear()
    asked = asyncio.create_task(transport.request("GET", core("team", "pods")), name="asked")
    await api.crowd(1)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert observed == [
        ("get", "experiments", "ok", 1),
        ("get", "pods", "NotFound", 1),
        ("list", "pods", "cancelled", 1),
    ]
