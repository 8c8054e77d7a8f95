"""Every kind of run that other controllers own, on the command line: read by each command, and never written to."""

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest

from muster.client.stacks import reading
from muster.client.subjects import UnknownKind, subject_of
from muster.kinds.registry import WATCHED_KINDS
from muster.kube.connection import Connection
from muster.kube.execution import Executed
from muster.local.cluster import reduced_crd, run_kinds_crds
from tests.cli.conftest import Call
from tests.client.localserver import LocalServer, ended, running
from tests.client.stacks.test_reading import answers
from tests.watched_samples import SAMPLES

CRDS = "customresourcedefinitions"


def name_of(kind: str) -> str:
    return "pods/train" if kind == "pods" else f"{WATCHED_KINDS[kind].subject.word.lower()}/train"


@pytest.fixture
def run(request: pytest.FixtureRequest, server: LocalServer, diagnosable: None) -> str:
    """The object and two of its three pods: rank 1 has failed. The name for the command line is returned."""
    kind: str = request.param
    wanted, subject = SAMPLES[kind], WATCHED_KINDS[kind].subject
    owner: list[dict[str, Any]] = []
    uid = ""
    if kind != "pods":
        served = {crd["spec"]["names"]["plural"] for crd in run_kinds_crds()} | {"jobs"}
        if kind not in served:
            server.put("apiextensions.k8s.io/v1", CRDS, "", reduced_crd(subject))
        metadata = {"name": "train", "labels": {"muster.dev/observe": "train"}}
        obj = {"kind": subject.kind, "metadata": metadata, "spec": wanted.spec(3)}
        made = server.put(subject.api_version, subject.plural, "default", obj)
        uid = made["metadata"]["uid"]
        if wanted.status:
            server.put(subject.api_version, subject.plural, "default", {**obj, "status": wanted.status}, "status")
        if wanted.controller:
            known = {"apiVersion": subject.api_version, "kind": wanted.controller, "name": "train", "uid": uid}
            owner = [{**known, "controller": True}]
    for rank, status in enumerate((running(), ended(3, "no such file"))):
        labels = {**wanted.pods[rank]} | ({wanted.uid_label: uid} if wanted.uid_label else {})
        meta = {"annotations": dict(wanted.annotations), "ownerReferences": owner}
        status["containerStatuses"][0]["name"] = wanted.container
        server.pod(f"train-{rank}", labels, ("step 7", "lost its data")[rank : rank + 1], meta, **status)
    return name_of(kind)


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The requests that commands send. One that is no read fails the test where it is sent."""
    sent: list[str] = []
    request = Connection.request

    async def reads(self: Connection, method: str, path: str, **options: Any) -> Any:
        assert method == "GET", f"{method} {path}"
        sent.append(path)
        return await request(self, method, path, **options)

    monkeypatch.setattr(Connection, "request", reads)
    return sent


every_kind = pytest.mark.parametrize("run", WATCHED_KINDS, indirect=True)


@every_kind
def test_get_list_and_explain_show_the_members_of_every_kind(call: Call, run: str, read_only: list[str]) -> None:
    shown = call("get", run)
    assert shown.exit_code == 0, shown.stderr
    assert f"default/{run}" in shown.stdout
    assert "1/3 ready" in shown.stdout
    assert "train-0  Running" in shown.stdout
    assert "train-1  Error" in shown.stdout
    listed = call("list", "--kind", run.partition("/")[0])
    assert listed.exit_code == 0, listed.stderr
    (row,) = [line.split() for line in listed.stdout.splitlines() if run in line]
    assert "1/3" in row
    why = json.loads(call("explain", run, "-o", "json").stdout)
    assert [member["pod"] for member in why["members"]] == ["train-0", "train-1"]
    causes = {rank: finding["cause"] for finding in why["findings"] for rank in finding["ranks"]}
    assert causes[1] == "Crashed"
    assert set(causes) >= {1, 2}
    assert all(finding["nextStep"] for finding in why["findings"])
    assert read_only


@every_kind
def test_top_shows_what_hurts_a_run_of_every_kind(call: Call, run: str, read_only: list[str]) -> None:
    kind = run.partition("/")[0]
    shown = call("top", "--kind", kind)
    assert shown.exit_code == 0, shown.stderr
    assert shown.stdout.startswith(f"1 run of kind {kind}, ")
    (row,) = [line.split() for line in shown.stdout.splitlines() if run in line]
    assert row[0] == run
    assert call("top", "--kind", kind, "-o", "name").stdout == f"{run}\n"
    assert read_only


def test_an_unknown_kind_is_answered_with_every_kind() -> None:
    with pytest.raises(UnknownKind) as refused:
        subject_of("nonsense")
    assert {name_of(kind).partition("/")[0] for kind in WATCHED_KINDS} < set(re.findall(r"[a-z]+", str(refused.value)))


@every_kind
def test_logs_of_every_kind_are_those_of_its_members(call: Call, run: str, read_only: list[str]) -> None:
    shown = call("logs", run)
    assert shown.exit_code == 0, shown.stderr
    assert "step 7" in shown.stdout
    assert "lost its data" in shown.stdout
    assert "lost its data" not in call("logs", run, "--rank", "0").stdout
    assert read_only


@every_kind
def test_stacks_of_every_kind_are_read_in_the_container_that_runs(
    call: Call, run: str, read_only: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: set[tuple[str, str]] = set()

    async def execute(_sockets: Any, _namespace: str, pod: str, container: str, command: Sequence[str]) -> Executed:
        asked.add((pod, container))
        return Executed(0, answers(pod, command).encode(), b"")

    monkeypatch.setattr(reading, "execute", execute)
    shown = call("stacks", run)
    plural = next(kind for kind in WATCHED_KINDS if name_of(kind) == run)
    assert asked == {("train-0", SAMPLES[plural].container)}
    assert "rank 0 in all_reduce at train.py:88" in shown.stdout
    assert "rank 1: container " in shown.stderr
    assert "rank 2: it has no pod now" in shown.stderr
    assert read_only


@every_kind
def test_what_would_change_a_run_is_refused_before_anything_is_sent(call: Call, run: str, read_only: list[str]) -> None:
    for words in (("cancel", run), ("wait", run), ("logs", run, "--follow")):
        refused = call(*words)
        assert refused.exit_code != 0, words
        assert refused.stderr, words
    if run.partition("/")[0] not in ("jobset", "jaxjob"):  # Muster runs these too, and deletes them when asked to
        refused = call("delete", run, "--yes")
        assert refused.exit_code == 1
        assert "kubectl" in refused.stderr
    assert call("get", run).exit_code == 0
