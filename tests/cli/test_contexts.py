"""Several clusters and shards: one that does not answer hides none of the others."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.cli.exits import INCIDENT
from muster.cli.processes.stack import free_port
from tests.cli.conftest import Call, serving, stderr_of
from tests.cli.test_incidents import SINCE, Musterd, stuck
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
    stuck(call, submitted["us"], "held", "--context", "us")
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
    assert "no experiments" not in stderr_of(call, 1, verb, "--contexts", "eu,gone")
    assert "no experiments" in call(verb, "--contexts", "eu").output


EARLIER, LATEST = "2025-12-31T23:00:00Z", "2026-01-02T00:00:00Z"

Pages = Callable[..., str]


@pytest.fixture
def pages() -> Iterator[Pages]:
    """Serve each of these answers, and give the addresses as ``--page`` takes them."""
    with ExitStack() as stack:

        def serve(*replies: object) -> str:
            shards = [type("Shard", (Musterd,), {"reply": json.dumps(reply)}) for reply in replies]
            return ",".join(stack.enter_context(serving(each)) for each in shards)

        yield serve


def rack(*runs: str, since: str = SINCE, subject: str = "r7") -> dict[str, Any]:
    about = {"kind": "rack", "subject": subject, "cause": "NodeNotReady", "namespace": runs[0].partition("/")[0]}
    words = {"sentence": f"rack {subject}: NodeNotReady blocks {len(runs)} runs", "remedy": "look", "since": since}
    return {**about, **words, "ranks": len(runs), "devices": {"nvidia.com/gpu": 8 * len(runs)}, "runs": list(runs)}


def listing(shard: str, *incidents: dict[str, Any], looked: bool = True, hidden: int = 0) -> dict[str, Any]:
    return {"incidents": list(incidents), "hidden": hidden, "looked": looked, "shard": shard}


def test_a_rack_that_dies_under_two_shards_is_one_line(call: Call, pages: Pages) -> None:
    asked = pages(
        listing("a", rack("red/1", "red/2", "red/3"), rack("red/9", subject="r8")),
        listing("b", rack("blue/1", "blue/2", "blue/3", "blue/4", since=EARLIER)),
    )
    result = call("incidents", "--page", asked)
    assert (result.exit_code, result.stderr) == (0, "")
    heads, first, second = result.stdout.splitlines()
    assert heads.split()[:4] == ["SHARD", "SUBJECT", "CAUSE", "RUNS"]
    assert first.split()[:7] == ["a,", "b", "rack", "r7", "NodeNotReady", "7", "56"]
    assert second.split()[:6] == ["a", "rack", "r8", "NodeNotReady", "1", "8"]
    one, other = json.loads(call("incidents", "--page", asked, "-o", "json").stdout)["incidents"]
    assert (one["shards"], one["since"], one["ranks"], one["namespace"]) == (["a", "b"], EARLIER, 7, "")
    assert one["sentence"] == "rack r7: NodeNotReady blocks 7 runs of 2 namespaces (7 ranks)"
    assert one["runs"] == ["blue/1", "blue/2", "blue/3", "blue/4", "red/1", "red/2", "red/3"]
    assert (other["shards"], other["namespace"]) == (["a"], "red")
    assert call("incidents", "--page", asked, "--exit-code").exit_code == INCIDENT


def test_a_shard_that_does_not_answer_or_does_not_lead_is_named_and_hides_no_other(call: Call, pages: Pages) -> None:
    there = pages(listing("a", rack("red/1")), listing("b", looked=False))
    gone = f"http://127.0.0.1:{free_port()}"
    result = call("incidents", "--page", f"{gone},{there}")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[1].split()[:3] == ["a", "rack", "r7"]
    assert f"muster: page {gone.removeprefix('http://')}: " in result.stderr
    assert "does not lead" in result.stderr
    assert call("nodes", "--page", f"{gone},{pages({'nodes': [], 'looked': True})}").exit_code == 1


def failure(run: str, last: str) -> dict[str, Any]:
    names = {"namespace": "red", "run": run, "cause": "Error"}
    return {**names, "certain": False, "times": 1, "first": last, "last": last}


def test_a_node_that_failed_runs_of_two_shards_is_one_line_with_each_run(call: Call, pages: Pages) -> None:
    suspect = {"suspect": "node n7 failed 3 runs", "advice": "drain it"}
    a = {"nodes": [{"node": "n7", "failures": [failure("x", SINCE)], **suspect}], "looked": True, "shard": "a"}
    plain = [{"node": "n7", "failures": [failure("y", LATEST)]}, {"node": "n9", "failures": [failure("z", SINCE)]}]
    asked = pages(a, {"nodes": plain, "looked": True, "shard": "b"})
    said, heads, *rows = call("nodes", "--page", asked).stdout.splitlines()
    assert said == "a: suspect: node n7 failed 3 runs: drain it"
    assert heads.split() == ["SHARD", "NODE", "RUNS", "NAMESPACES", "LAST", "CAUSES"]
    assert [row.split()[:4] for row in rows] == [["a,", "b", "n7", "2"], ["b", "n9", "1", "1"]]
    (found,) = json.loads(call("nodes", "n7", "--page", asked, "-o", "json").stdout)["nodes"]
    assert (found["shards"], [one["run"] for one in found["failures"]]) == (["a", "b"], ["y", "x"])


def test_what_each_shard_does_not_show_is_counted_together(call: Call, pages: Pages) -> None:
    asked = pages(listing("a", rack("red/1"), hidden=2), listing("b", hidden=3))
    result = call("incidents", "--page", asked)
    assert "up to 5 more are not shown" in result.stderr
    document = json.loads(call("incidents", "--page", asked, "-o", "json").stdout)
    assert (document["hidden"], document["looked"]) == (5, True)
    gone = f"http://127.0.0.1:{free_port()}"
    document = json.loads(call("incidents", "--page", f"{asked},{gone}", "-o", "json").stdout)
    assert (document["hidden"], document["looked"]) == (5, False)

    empty = {"nodes": [], "looked": True}
    asked = pages({**empty, "shard": "a", "hidden": 4, "dropped": 10}, {**empty, "hidden": 1, "dropped": 7}, empty)
    result = call("nodes", "--page", asked)
    assert "up to 5 more nodes are not shown" in result.stderr
    assert "17 older failures were dropped" in result.stderr
    document = json.loads(call("nodes", "--page", asked, "-o", "json").stdout)
    assert (document["hidden"], document["dropped"], document["looked"]) == (5, 17, True)


def test_one_page_named_twice_is_one_list_without_shards(call: Call, pages: Pages) -> None:
    one = pages(listing("a", rack("red/1")))
    assert call("incidents", "--page", f"{one},{one},").stdout.split()[:2] == ["SUBJECT", "CAUSE"]


def test_a_node_of_one_name_in_two_clusters_is_two(call: Call, both: Both) -> None:
    for name, server in both.items():
        stuck(call, server, "held", "--context", name)
    result = call("incidents", "--contexts", "eu,us,gone")
    assert result.exit_code == 1
    rows = [line.split()[:5] for line in result.stdout.splitlines()[1:]]
    assert sorted(rows) == [[name, "node", "n7", "NodeNotReady", "1"] for name in ("eu", "us")]
    assert "muster: context gone: " in result.stderr
    items = json.loads(call("incidents", "--contexts", "eu,us", "-o", "json").stdout)["incidents"]
    assert sorted(item["context"] for item in items) == ["eu", "us"]
