"""Tokens, access reviews, and requests of web browsers."""

import aiohttp
import pytest

from muster.local.apiserver import ApiServer
from tests.local.apiserver.harness import CONFIGS, Api, config


async def test_access_reviews_allow_everything(api: Api) -> None:
    asked = {"spec": {"resourceAttributes": {"verb": "create", "resource": "pods"}}}
    review = await api.create("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", asked)
    assert (review["kind"], review["status"]["allowed"]) == ("SelfSubjectAccessReview", True)
    who = await api.create("/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
    assert who["status"]["userInfo"]["username"] == "system:admin"
    assert (await api.call("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"))[0] == 405


async def test_a_server_with_a_token_refuses_requests_without_it(session: aiohttp.ClientSession) -> None:
    server = ApiServer(None, token="s3cret")
    base = await server.start()
    api = Api(base, session)
    try:
        status, body = await api.call("GET", "/api/v1/namespaces")
        assert (status, body["reason"]) == (401, "Unauthorized")
        assert (await api.call("GET", "/api/v1/namespaces", Authorization="Bearer wrong"))[0] == 401
        assert (await api.call("GET", "/api/v1/namespaces", Authorization="Bearer s3cret"))[0] == 200
        assert (await api.call("GET", "/readyz"))[0] == 200
    finally:
        await server.stop()


@pytest.mark.parametrize("header", ["Origin", "Sec-Fetch-Site"])
async def test_requests_of_web_browsers_are_refused(api: Api, header: str) -> None:
    status, body = await api.call("GET", "/api/v1/namespaces", **{header: "http://evil.example.com"})
    assert (status, body["reason"]) == (403, "Forbidden")
    status, body = await api.call("POST", CONFIGS, config("c"), kind="text/plain")
    assert (status, body["reason"]) == (415, "UnsupportedMediaType")
