"""Tokens that are bound to a pod: what they are good for, how long, and what is refused."""

from typing import Any

import pytest

from muster.local.apiserver import ApiError, ApiServer
from muster.local.apiserver.objects.account_tokens import LONGEST, SHORTEST, AccountTokens
from muster.local.apiserver.objects.write_preparation import DeleteOptions
from tests.local.apiserver.harness import Clock, Json, pod

AUDIENCE = "status-of-a-run"


@pytest.fixture
def tokens(server: ApiServer, clock: Clock) -> AccountTokens:
    return AccountTokens(server.store, clock)


def make_pod(server: ApiServer, name: str = "worker-0") -> str:
    """A pod; its uid."""
    made = server.store.create(server.store.resource("v1", "pods"), "default", pod(name))
    return str(made.object()["metadata"]["uid"])


def asked(uid: str, name: str = "worker-0", **spec: Any) -> Json:
    bound = {"kind": "Pod", "apiVersion": "v1", "name": name, "uid": uid}
    return {"spec": {"audiences": [AUDIENCE], "expirationSeconds": 3600, "boundObjectRef": bound, **spec}}


def review(tokens: AccountTokens, token: str, *audiences: str) -> Json:
    """The status of a TokenReview."""
    spec = {"token": token, **({"audiences": list(audiences)} if audiences else {})}
    status: Json = tokens.review({"spec": spec})["status"]
    return status


def test_a_token_names_its_account_and_the_pod_that_it_is_bound_to(server: ApiServer, tokens: AccountTokens) -> None:
    uid = make_pod(server)
    issued = tokens.issue("default", "trainer", asked(uid))["status"]
    assert issued["expirationTimestamp"] == "2026-09-21T15:13:20Z"
    status = review(tokens, issued["token"], "another", AUDIENCE)
    assert (status["authenticated"], status["audiences"]) == (True, [AUDIENCE])
    assert status["user"]["username"] == "system:serviceaccount:default:trainer"
    assert "system:serviceaccounts:default" in status["user"]["groups"]
    assert status["user"]["extra"] == {
        "authentication.kubernetes.io/pod-name": ["worker-0"],
        "authentication.kubernetes.io/pod-uid": [uid],
    }


@pytest.mark.parametrize(
    ("audiences", "good_for"),
    [([AUDIENCE], AUDIENCE), (None, "")],
    ids=["its own audience", "the server, where it names none"],
)
def test_a_token_is_good_for_one_audience(
    server: ApiServer, tokens: AccountTokens, audiences: list[str] | None, good_for: str
) -> None:
    token = tokens.issue("default", "trainer", asked(make_pod(server), audiences=audiences))["status"]["token"]
    for audience in (AUDIENCE, "another", ""):
        found = review(tokens, token, *([audience] if audience else []))
        assert found["authenticated"] is (audience == good_for)


def test_a_token_ends_with_its_life(server: ApiServer, tokens: AccountTokens, clock: Clock) -> None:
    token = tokens.issue("default", "trainer", asked(make_pod(server), expirationSeconds=SHORTEST))["status"]["token"]
    clock.now += SHORTEST - 1
    assert review(tokens, token, AUDIENCE)["authenticated"] is True
    clock.now += 1
    assert review(tokens, token, AUDIENCE)["authenticated"] is False


def test_a_token_ends_with_its_pod_and_is_not_one_of_the_next_pod_of_that_name(
    server: ApiServer, tokens: AccountTokens
) -> None:
    token = tokens.issue("default", "trainer", asked(make_pod(server)))["status"]["token"]
    server.store.delete(server.store.resource("v1", "pods"), "default", "worker-0", DeleteOptions(grace=0))
    assert review(tokens, token, AUDIENCE)["authenticated"] is False
    make_pod(server)
    assert review(tokens, token, AUDIENCE)["authenticated"] is False


def test_a_token_that_was_not_issued_is_not_authenticated(tokens: AccountTokens) -> None:
    for spec in ({}, {"token": None}, {"token": "local.x", "audiences": [AUDIENCE]}, "no object"):
        status = tokens.review({"spec": spec})["status"]
        assert (status["authenticated"], "user" in status) == (False, False)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"boundObjectRef": None}, "spec.boundObjectRef"),
        ({"boundObjectRef": {"kind": "Secret", "name": "x", "uid": "x"}}, "spec.boundObjectRef"),
        ({"boundObjectRef": {"kind": "Pod", "name": "worker-1", "uid": "x"}}, "spec.boundObjectRef"),
        ({"boundObjectRef": {"kind": "Pod", "name": "worker-0", "uid": "of-an-older-pod"}}, "spec.boundObjectRef"),
        ({"expirationSeconds": SHORTEST - 1}, "spec.expirationSeconds"),
        ({"expirationSeconds": LONGEST + 1}, "spec.expirationSeconds"),
        ({"expirationSeconds": True}, "spec.expirationSeconds"),
        ({"expirationSeconds": "3600"}, "spec.expirationSeconds"),
    ],
)
def test_a_request_that_is_not_of_a_pod_that_is_there_is_refused_with_its_field(
    server: ApiServer, tokens: AccountTokens, change: Json, field: str
) -> None:
    with pytest.raises(ApiError, match=field) as refused:
        tokens.issue("default", "trainer", asked(make_pod(server), **change))
    assert refused.value.code == 400


def test_tokens_that_have_ended_are_dropped_when_the_next_is_issued(
    server: ApiServer, tokens: AccountTokens, clock: Clock
) -> None:
    uid = make_pod(server)
    for _ in range(5):
        tokens.issue("default", "trainer", asked(uid, expirationSeconds=SHORTEST))
        clock.now += SHORTEST
    assert len(tokens._tokens) == 1  # noqa: SLF001
