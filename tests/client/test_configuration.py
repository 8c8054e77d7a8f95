"""Which cluster is meant, and what is said when none is."""

import json
from pathlib import Path

import pytest

from muster.client import NoCluster
from muster.client.configuration import find_access
from muster.local.kubeconfig import write_kubeconfig


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


async def test_without_any_configuration_it_says_what_to_do() -> None:
    with pytest.raises(NoCluster, match=r"KUBECONFIG.*--kubeconfig.*muster local up"):
        await find_access()


async def test_the_order_of_places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    write_kubeconfig(tmp_path / ".kube/config", url="http://home", token="t")
    assert (await find_access()).configuration.host == "http://home"
    write_kubeconfig(tmp_path / "env", url="http://environment", token="t", namespace="team")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "env"))
    found = await find_access()
    assert (found.configuration.host, found.namespace) == ("http://environment", "team")
    write_kubeconfig(tmp_path / "given", url="http://given", token="t")
    assert (await find_access(tmp_path / "given")).configuration.host == "http://given"


@pytest.mark.parametrize("content", ["", "[]", "a: [", "7", "clusters: 7", json.dumps({"contexts": []}), "\x00"])
async def test_a_file_that_is_no_kubeconfig(tmp_path: Path, content: str) -> None:
    (tmp_path / "odd").write_text(content)
    with pytest.raises(NoCluster, match=r"odd cannot be used"):
        await find_access(tmp_path / "odd")


async def test_a_context_that_does_not_exist(tmp_path: Path) -> None:
    write_kubeconfig(tmp_path / "given", url="http://given", token="t")
    with pytest.raises(NoCluster, match="no-such-context"):
        await find_access(tmp_path / "given", "no-such-context")
    with pytest.raises(NoCluster, match="missing"):
        await find_access(tmp_path / "missing")


async def test_in_a_pod_without_a_service_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    with pytest.raises(NoCluster, match="service account"):
        await find_access()
