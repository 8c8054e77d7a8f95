"""Paths and methods that are not served."""

import pytest
from yarl import URL

from tests.local.apiserver.harness import CONFIGS, PODS, Api


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("POST", f"{CONFIGS}/c", 405),
        ("PUT", CONFIGS, 405),
        ("PATCH", CONFIGS, 405),
        ("DELETE", "/api/v1/configmaps", 405),
        ("POST", "/api/v1/configmaps", 405),
        ("POST", f"{PODS}/p/log", 405),
        ("GET", f"{PODS}/p/exec", 404),
        ("GET", "/api/v1/configmaps/c", 404),
        ("GET", "/api/v1/namespaces/default/nodes", 404),
        ("GET", "/api/v1/namespaces/default/configmaps/a%2Fb", 400),
        ("GET", "/api/v1/namespaces/default/configmaps/%00", 400),
        ("GET", "/api/v1/namespaces/default/configmaps/%ff", 400),
        ("GET", "/nothing", 404),
        ("GET", "/api/v1/" + "x" * 5000, 400),
        ("POST", "/version", 404),
    ],
)
async def test_unknown_paths_and_methods_are_refused_with_a_status(api: Api, method: str, path: str, code: int) -> None:
    url = URL(api.base + path, encoded=True)
    async with api.session.request(method, url, data=b"{}", headers={"Content-Type": "application/json"}) as response:
        assert response.status == code
        assert (await response.json(content_type=None))["kind"] == "Status"
