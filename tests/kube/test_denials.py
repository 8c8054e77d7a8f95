"""The outcomes of requests that prove missing rights or a missing valid token."""

import pytest

from muster.api.errors import ApiError, error_of
from muster.kube.instrumented import IN_A_ROW, KEPT, Denials, denied

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
