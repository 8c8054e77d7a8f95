"""The TokenRequest of a pod's service account, as the kubelet makes it."""

import pytest

from muster.api.errors import ApiError
from muster.kube.resources import ResourceClient
from muster.local.node.sources.environment import ConfigError, ConfigSources
from tests.local.node.harness import FakeApi, pod


async def test_a_token_is_asked_for_the_pod_and_its_account(fake_api: FakeApi) -> None:
    made = pod("p", serviceAccountName="musterd")
    made["metadata"]["uid"] = "u-1"
    await ConfigSources(ResourceClient(fake_api), tokens=True).token(made, "vault", 600)
    ((verb, path, body),) = fake_api.asked
    assert (verb, path) == ("POST", "/api/v1/namespaces/default/serviceaccounts/musterd/token")
    bound = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u-1"}
    assert body["spec"] == {"audiences": ["vault"], "expirationSeconds": 600, "boundObjectRef": bound}


async def test_an_api_server_without_tokens_is_not_asked(fake_api: FakeApi) -> None:
    assert await ConfigSources(ResourceClient(fake_api)).token(pod("p"), "", 600) is None
    assert fake_api.asked == []


async def test_a_refused_token_names_the_account(fake_api: FakeApi) -> None:
    fake_api.refuse = [ApiError("pods is forbidden", status=403)]
    with pytest.raises(ConfigError, match="no token of serviceaccount/default: 403: pods is forbidden"):
        await ConfigSources(ResourceClient(fake_api), tokens=True).token(pod("p"), "", 600)
