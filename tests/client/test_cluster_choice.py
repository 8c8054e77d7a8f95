"""Which cluster a client opens, and the message where there is none."""

import json
from pathlib import Path

import pytest

from muster.client import Client, NoCluster
from muster.kube.connection import Connection
from muster.local.home import write_kubeconfig


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


async def opened(kubeconfig: Path | None = None, context: str | None = None) -> tuple[str, str]:
    """Host and namespace of the cluster that is found."""
    async with Client(kubeconfig, context) as client:
        assert isinstance(client.transport, Connection)
        identity = await client.transport.credentials.current()
        return identity.host, client.namespace


async def test_without_any_configuration_the_error_says_what_to_do() -> None:
    with pytest.raises(NoCluster, match=r"KUBECONFIG.*--kubeconfig.*muster local up"):
        await opened()


async def test_a_named_file_comes_before_the_environment_and_that_before_the_home_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".kube").mkdir()
    write_kubeconfig(tmp_path / ".kube/config", url="https://home", token="t")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")  # a user's own file comes before the pod's account
    assert await opened() == ("https://home", "default")
    write_kubeconfig(tmp_path / "env", url="https://environment", token="t", namespace="team")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "env"))
    assert await opened() == ("https://environment", "team")
    write_kubeconfig(tmp_path / "given", url="https://given", token="t")
    assert await opened(tmp_path / "given") == ("https://given", "default")


@pytest.mark.parametrize("content", ["", "[]", "a: [", "7", "clusters: 7", json.dumps({"contexts": []}), "\x00"])
async def test_a_file_that_is_no_kubeconfig_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "odd").write_text(content)
    with pytest.raises(NoCluster, match=r"odd cannot be used"):
        await opened(tmp_path / "odd")


async def test_a_context_or_file_that_does_not_exist_is_named(tmp_path: Path) -> None:
    write_kubeconfig(tmp_path / "given", url="https://given", token="t")
    with pytest.raises(NoCluster, match="no-such-context"):
        await opened(tmp_path / "given", "no-such-context")
    with pytest.raises(NoCluster, match=r"there is no kubeconfig at .*missing"):
        await opened(tmp_path / "missing")


async def test_a_missing_service_account_is_no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    with pytest.raises(NoCluster, match="service account"):
        await opened()


async def test_the_programs_own_kubernetes_configuration_is_left_alone(tmp_path: Path) -> None:
    from kubernetes_asyncio.client import Configuration

    before = Configuration.get_default_copy().host
    write_kubeconfig(tmp_path / "given", url="https://given", token="t")
    await opened(tmp_path / "given")
    assert Configuration.get_default_copy().host == before
