"""``muster list`` and ``muster top`` with several clusters: one that does not answer hides none of the others."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.cli.processes.stack import free_port
from tests.cli.conftest import Call
from tests.cli.test_incidents import stuck
from tests.client.localserver import LocalServer, local_server

Both = dict[str, LocalServer]


@pytest.fixture
def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Both]:
    """Two clusters, eu and us, and a third one at an address where nothing listens, in one kubeconfig."""
    with ExitStack() as stack:
        servers: Both = {}
        merged: dict[str, Any] = {"apiVersion": "v1", "kind": "Config", "clusters": [], "users": [], "contexts": []}
        for name in ("eu", "us"):
            (tmp_path / name).mkdir()
            servers[name] = stack.enter_context(local_server(tmp_path / name))
            config = yaml.safe_load(servers[name].kubeconfig.read_text())
            for part in ("clusters", "users"):
                merged[part].append({**config[part][0], "name": name})
            merged["contexts"].append({"name": name, "context": {"cluster": name, "user": name}})
        gone = {**merged["clusters"][0]["cluster"], "server": f"https://127.0.0.1:{free_port()}"}
        merged["clusters"].append({"name": "gone", "cluster": gone})
        merged["contexts"].append({"name": "gone", "context": {"cluster": "gone", "user": "eu"}})
        (tmp_path / "merged").write_text(yaml.safe_dump(merged))
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "merged"))
        yield servers


@pytest.fixture
def submitted(both: Both, call: Call, manifest: Path) -> Both:
    """The same namespace and name in both; that of us restarts."""
    for name, server in both.items():
        assert call("submit", manifest, "--name", "mine", "--context", name).exit_code == 0
        server.status("mine", phase="Restarting" if name == "us" else "Running", message=f"of {name}")
    return both


@pytest.mark.parametrize("verb", ["list", "top"])
def test_experiments_of_one_name_are_told_apart_by_their_context(verb: str, submitted: Both, call: Call) -> None:
    result = call(verb, "-A", "--contexts", "eu, us")
    rows = [line.split() for line in result.stdout.splitlines() if " mine " in line]
    assert result.exit_code == 0
    assert sorted(row[:3] for row in rows) == [["eu", "default", "mine"], ["us", "default", "mine"]]
    if verb == "top":
        assert rows[0][0] == "us", "what hurts comes first, wherever it is"
    assert sorted(call(verb, "--contexts", "eu,us", "-o", "name").stdout.split()) == ["eu/mine", "us/mine"]
    items = json.loads(call(verb, "--contexts", "eu,us", "-o", "json").stdout)["items"]
    assert {item["context"]: item["status"]["message"] for item in items} == {"eu": "of eu", "us": "of us"}


def test_incidents_of_each_cluster_stand_above_with_their_context(submitted: Both, call: Call) -> None:
    stuck(call, submitted["us"], "held", context="us")
    first = call("top", "--contexts", "eu,us").stdout.splitlines()[0]
    assert first.startswith("us: incident: node n7: NodeNotReady blocks 1 run of namespace default, since ")
    assert "incident" not in call("top", "--contexts", "eu,us", "-o", "name").stdout
    assert "incident" not in call("list", "--contexts", "eu,us").stdout


@pytest.mark.parametrize("verb", ["list", "top"])
@pytest.mark.parametrize(("context", "why"), [("gone", "127.0.0.1"), ("unknown", "contexts has no unknown")])
def test_a_cluster_that_does_not_answer_is_named_and_hides_no_other(
    verb: str, context: str, why: str, submitted: Both, call: Call
) -> None:
    result = call(verb, "--contexts", f"{context},eu")
    assert result.exit_code == 1
    assert [line.split()[:2] for line in result.stdout.splitlines() if " mine " in line] == [["eu", "mine"]]
    assert f"muster: context {context}: " in result.stderr
    assert why in result.stderr


@pytest.mark.parametrize("verb", ["list", "top"])
def test_a_cluster_that_does_not_answer_is_not_one_without_experiments(verb: str, both: Both, call: Call) -> None:
    result = call(verb, "--contexts", "eu,gone")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "no experiments" not in result.stderr
    assert "no experiments" in call(verb, "--contexts", "eu").output
