"""Requests are measured by verb, resource and outcome, and lasting denials are known by them."""

import asyncio

import pytest

from muster.api.errors import ApiError, NotFound, error_of
from muster.kube.instrumented import IN_A_ROW, KEPT, Denials, denied, labels, measured
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


RBAC = error_of(
    403,
    "Forbidden",
    'pods is forbidden: User "system:serviceaccount:muster-system:musterd" cannot create resource "pods" in API group'
    ' "" in the namespace "team"',
)
QUOTA = error_of(403, "Forbidden", 'pods "run-0" is forbidden: exceeded quota: none, requested: pods=1')
EXPIRED = error_of(401, "Unauthorized", "Unauthorized")
CONFLICT = error_of(409, "Conflict", "the object has been modified")
AWAY = ApiError("no answer")


class Ground:
    def __init__(self) -> None:
        self.now = 0.0
        self.denials = Denials(lambda: self.now)

    def answer(self, *errors: ApiError | None, verb: str = "create", resource: str = "pods") -> None:
        for error in errors:
            self.denials.observe(verb, resource, error)

    @property
    def lasting(self) -> list[str]:
        return [f"{verb} {resource}" for (verb, resource), _ in self.denials.lasting()]


@pytest.mark.parametrize(
    ("error", "is_denial"),
    [(RBAC, True), (EXPIRED, True), (QUOTA, False), (CONFLICT, False), (AWAY, False), (None, False)],
)
def test_a_denial_is_the_authorizers_or_a_refused_token(error: ApiError | None, is_denial: bool) -> None:
    assert denied(error) is is_denial


@pytest.mark.parametrize("error", [RBAC, EXPIRED])
def test_denials_in_a_row_are_lasting_and_carry_the_servers_words(error: ApiError) -> None:
    here = Ground()
    here.answer(*[error] * (IN_A_ROW - 1))
    assert here.lasting == []
    here.answer(error)
    assert list(here.denials.lasting()) == [(("create", "pods"), error.message)]


@pytest.mark.parametrize("other", [None, QUOTA, CONFLICT])
def test_any_other_answer_to_that_kind_of_request_ends_them(other: ApiError | None) -> None:
    here = Ground()
    here.answer(*[RBAC] * IN_A_ROW, other)
    assert here.lasting == []
    here.answer(RBAC)
    assert here.lasting == []


def test_a_request_without_an_answer_changes_nothing() -> None:
    here = Ground()
    here.answer(RBAC, RBAC, AWAY, RBAC)
    assert here.lasting == ["create pods"]


def test_kinds_of_requests_are_counted_apart() -> None:
    here = Ground()
    here.answer(*[RBAC] * IN_A_ROW)
    here.answer(None, verb="delete")
    here.answer(None, resource="services")
    assert here.lasting == ["create pods"]


def test_what_is_not_tried_again_is_forgotten() -> None:
    here = Ground()
    here.answer(*[RBAC] * IN_A_ROW)
    here.now = KEPT
    assert here.lasting == []
