"""``muster nodes``: from the ConfigMap that musterd writes, and from musterd itself."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from muster.cli.options import ClusterChoice
from muster.client import Client
from muster.state.facts.nodes.history import KEY, Failure, History
from tests.cli.conftest import Call, stderr_of
from tests.cli.test_every_verb_on_a_bad_day import Denied
from tests.cli.test_incidents import Musterd, page
from tests.client.localserver import LocalServer

__all__ = ["page"]  # a fixture
HOUR = 3600


def history(now: float) -> History:
    """``gpu-017`` failed seven runs of four namespaces, and ``gpu-018`` one of Kubernetes' own saying."""
    made = History()
    for number in range(40):
        made.served(f"team-{number % 4}", {f"gpu-{number:03}": 3.0}, now)
    for number in range(7):
        at = int(now - 5 * HOUR + number * 2000)
        made.failed("gpu-017", Failure(at, f"team-{number % 4}", f"run\x1b-{number}", "u.0", "Error", False, at), now)
    at = int(now - HOUR)
    made.failed("gpu-018", Failure(at, "team-0", "lost", "u.0", "NodeLost", True, at), now)
    made.failed("gpu-019", Failure(at, "team-0", "own", "u.0", "Error", False, at), now)
    return made


def store(server: LocalServer, text: str | None = None, place: str = "muster-system/musterd-nodes") -> None:
    """Write that history, or that of ``history``, as musterd does."""
    text = history(time.time()).stored().decode() if text is None else text
    namespace, _, name = place.partition("/")
    server.put("v1", "namespaces", "", {"metadata": {"name": namespace}})
    server.put("v1", "configmaps", namespace, {"metadata": {"name": name}, "data": {KEY: text}})


def test_nodes_are_listed_from_what_musterd_has_stored_the_worst_first(call: Call, server: LocalServer) -> None:
    store(server)
    result = call("nodes")
    suspect, heading, *rows = result.stdout.splitlines()
    assert suspect.startswith("suspect: node gpu-017 failed 7 runs of 4 namespaces in 5h (expected: ")
    assert suspect.endswith(
        ": unless kubectl get node gpu-017 shows the role control-plane, "
        "drain it: kubectl drain gpu-017 --ignore-daemonsets"
    )
    assert heading.split() == ["NODE", "RUNS", "NAMESPACES", "LAST", "CAUSES"]
    assert [row.split()[:3] for row in rows] == [["gpu-017", "7", "4"], ["gpu-018", "1", "1"]]
    assert rows[0].endswith("Error 7")
    assert rows[1].endswith("NodeLost 1")


def test_a_node_of_the_control_plane_is_not_to_be_drained(call: Call, server: LocalServer) -> None:
    store(server)
    meta: dict[str, Any] = {"name": "gpu-017", "labels": {}}
    server.put("v1", "nodes", "", {"metadata": meta})
    assert ": drain it: kubectl drain gpu-017" in call("nodes").stdout.splitlines()[0]
    server.put("v1", "nodes", "", {"metadata": {**meta, "labels": {"node-role.kubernetes.io/control-plane": ""}}})
    first = call("nodes").stdout.splitlines()[0]
    assert "kubectl drain" not in first
    assert first.endswith(
        ": do not drain it: it belongs to the control plane; see why it fails: kubectl describe node gpu-017"
    )


def test_the_proof_of_one_node_has_each_run_the_latest_first(call: Call, server: LocalServer) -> None:
    store(server)
    result = call("nodes", "gpu-017")
    lines = result.stdout.splitlines()
    assert lines[1].split() == ["LAST", "RUN", "TIMES", "FIRST", "CAUSE"]
    assert len(lines) == 2 + 7
    assert lines[2].split()[1] == "team-2/run\N{REPLACEMENT CHARACTER}-6"
    (found,) = json.loads(call("nodes", "gpu-017", "-o", "json").stdout)["nodes"]
    assert [each["times"] for each in found["failures"]] == [1] * 7
    assert "no failure is listed that gpu-020 may have caused" in stderr_of(call, 0, "nodes", "gpu-020")


def test_a_history_of_another_name_is_read_where_it_is_named(call: Call, server: LocalServer) -> None:
    missing = stderr_of(call, 1, "nodes", "--stored", "ops/second-nodes")
    assert "no ConfigMap ops/second-nodes" in missing
    assert "--node-history" in missing
    store(server, place="ops/second-nodes")
    assert "gpu-017" in call("nodes", "--stored", "ops/second-nodes").stdout
    assert "is no NAMESPACE/NAME, such as muster-system/musterd-nodes" in call("nodes", "--stored", "x").stderr


@pytest.mark.parametrize("text", ["", "{}", "\x1b["])
def test_what_is_no_history_is_an_error_that_names_the_place(call: Call, server: LocalServer, text: str) -> None:
    store(server, text)
    error = stderr_of(call, 1, "nodes")
    assert "ConfigMap muster-system/musterd-nodes: nodes.json: no history of nodes" in error


def test_without_a_cluster_and_without_rights_the_reason_is_reported(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "muster local up" in call("nodes").stderr
    monkeypatch.setattr(ClusterChoice, "client", lambda _: Client(transport=Denied()))
    assert 'User "ann" cannot do this' in stderr_of(call, 1, "nodes")


def test_musterd_itself_is_asked_with_a_token(
    call: Call, page: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reply = '{"nodes":[{"node":"n\\u001b7","failures":[]}],"hidden":3,"dropped":2,"looked":true}'
    monkeypatch.setattr(Musterd, "reply", reply)
    token = tmp_path / "token"
    token.write_text("secret\n")
    result = call("nodes", "--page", page, "--token-file", token)
    assert Musterd.sent == ["/nodes.json Bearer secret"]
    assert "n\N{REPLACEMENT CHARACTER}7" in result.stdout
    assert "3 more nodes" in result.stderr
    monkeypatch.setattr(Musterd, "reply", '{"nodes":[],"looked":false}')
    assert "does not lead" in stderr_of(call, 1, "nodes", "--page", page)
    assert call("nodes", "--token-file", token).exit_code == 2


def test_a_listing_that_is_empty_says_so(call: Call, server: LocalServer) -> None:
    store(server, History().stored().decode())
    assert "no failure is listed that a node may have caused" in stderr_of(call, 0, "nodes")
    empty = {"nodes": [], "hidden": 0, "dropped": 0, "looked": True, "shard": ""}
    assert json.loads(call("nodes", "-o", "json").stdout) == empty
