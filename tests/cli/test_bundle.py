"""``muster bundle``: everything that is known of a run, and no secret of it."""

import io
import json
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest

from muster.api.names import LABEL_UID
from tests.cli.conftest import Call, stderr_of
from tests.cli.test_explain_epoch import STATUS, STORY
from tests.client.localserver import LocalServer, ended, labels

PLANTED = {"env": "planted-env-9d81", "init env": "planted-init-77aa", "arg": "planted-arg-51c2"}
PLANTED |= {"command": "planted-command-0a0b", "annotation": "planted-annotation-4e4e", "label": "planted-label-1212"}
PLANTED |= {"volume": "planted-volume-8b8b", "pull secret": "planted-pull-3c3c", "secret name": "planted-name-6f6f"}
SHAPES = ["hf_abcdefghijklmnopqrstuvwx", "Bearer abcdefgh12345678", "password=hunter22", "AKIAABCDEFGHIJKLMNOP"]
SHAPES += ["REF: planted-ref"]


def _spec() -> dict[str, Any]:
    reference: dict[str, Any] = {"secretKeyRef": {"name": PLANTED["secret name"], "key": "k"}}
    program: dict[str, Any] = {
        "command": ["sh", "-c", f"run --key {PLANTED['command']} --x"],
        "args": [f"--token={PLANTED['arg']}"],
    }
    program |= {"env": [{"name": "WANDB", "value": PLANTED["env"]}, {"name": "REF", "valueFrom": reference}]}
    return {
        "nodeName": "local",
        "imagePullSecrets": [{"name": PLANTED["pull secret"]}],
        "volumes": [{"name": "v", "csi": {"driver": "d", "volumeAttributes": {"token": PLANTED["volume"]}}}],
        "initContainers": [{"name": "i", "image": "none", "env": [{"name": "I", "value": PLANTED["init env"]}]}],
        "containers": [{"name": "main", "image": "none", **program}],
    }


@pytest.fixture
def packed(call: Call, server: LocalServer, mine: str, tmp_path: Path) -> Path:
    """The bundle of a run whose program prints all that it was given."""
    said = [*PLANTED.values(), *SHAPES, "\x1b[31m"]
    row = STATUS["evidence"][0] | {"how": " ".join(said)}
    server.status(mine, **STATUS | {"message": f"exit code 1: {' '.join(said)}", "evidence": [row]})
    annotated = {"metadata": {"name": mine, "annotations": {"note": PLANTED["annotation"]}}}
    server.put("muster.dev/v1alpha1", "experiments", "default", annotated)
    known = labels(mine, 0, epoch=2) | {LABEL_UID: server.uid(mine), "l": PLANTED["label"]}
    meta = {"name": "p-0", "annotations": {"a": PLANTED["annotation"]}, "labels": known}
    server.put("v1", "pods", "default", {"kind": "Pod", "metadata": meta, "spec": _spec()})
    server.put("v1", "pods", "default", {"kind": "Pod", "metadata": {"name": "p-0"}, "status": ended(1)}, "status")
    server.print("p-0", " ".join([*list(PLANTED.values())[:6], *SHAPES]), ends=True)
    file = tmp_path / "b.tar.gz"
    result = call("bundle", mine, "-o", file)
    assert result.exit_code == 0, result.output
    return file


def _files(packed: bytes) -> dict[str, str]:
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        return {each.name: tar.extractfile(each).read().decode() for each in tar}  # type: ignore[union-attr]


def test_no_planted_secret_is_in_a_bundle(packed: Path) -> None:
    files = _files(packed.read_bytes())
    shown = [
        (name, where)
        for name, said in files.items()
        for where, value in PLANTED.items()
        if value in said and where not in ("label", "pull secret", "secret name")
    ]
    assert shown == []
    assert [name for name, said in files.items() for shape in SHAPES if shape in said] == []
    pods = json.loads(files["default-mine/pods.json"])
    assert [value for value in PLANTED.values() if value in json.dumps(pods)] == []
    assert pods[0]["containers"][1]["environment"] == ["REF", "WANDB"]
    assert (pods[0]["containers"][1]["commandWords"], pods[0]["containers"][1]["argumentWords"]) == (3, 1)


def test_a_bundle_has_what_an_on_call_engineer_reads(packed: Path) -> None:
    files = {name.partition("/")[2]: said for name, said in _files(packed.read_bytes()).items()}
    texts = ["README.txt", "epochs/1.json", "events.json", "explain.txt", "findings.json", "last-lines.json"]
    assert sorted(files) == [*texts, "pods.json", "status.json", "story.json", "unreadable.json", "versions.json"]
    assert json.loads(files["epochs/1.json"])["places"].startswith("rank 1 is in next")
    assert "Epoch 1: Running until 2026-01-01T00:10:00Z" in files["explain.txt"]
    assert json.loads(files["last-lines.json"])[0]["rank"] == 0
    assert "\x1b" not in "".join(files.values())


def test_times_of_day_in_a_bundle_are_in_utc(
    call: Call, server: LocalServer, mine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        server.status(mine, **STATUS, story=STORY)
        call("bundle", mine, "-o", tmp_path / "b.tar.gz")
        shown = call("explain", mine).stdout
    finally:
        monkeypatch.undo()
        time.tzset()
    assert "09:06:00  epoch 1  Hung: it hangs" in shown
    files = _files((tmp_path / "b.tar.gz").read_bytes())
    assert "00:06:00  epoch 1  Hung: it hangs" in files["default-mine/explain.txt"]
    assert "times of day are in UTC" in files["default-mine/README.txt"]


def test_an_archive_is_not_written_to_a_terminal(
    call: Call, server: LocalServer, mine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muster.cli.commands.bundle.is_terminal", lambda: True)
    assert "redirect standard output to a file" in stderr_of(call, 2, "bundle", mine)


def test_what_a_bundle_leaves_out_is_counted_in_it(
    call: Call, server: LocalServer, packed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = _files(packed.read_bytes())
    assert "left out of" not in files["default-mine/README.txt"]
    monkeypatch.setattr("muster.client.explaining.bundle.MOST_PODS", 2)
    for rank in range(4):
        server.pod(f"p-{rank}", labels("mine", rank), **ended(1))
    call("bundle", "mine", "-o", packed)
    files = _files(packed.read_bytes())
    kept = json.loads(files["default-mine/pods.json"])
    assert [each.get("name") for each in kept[:-1]] == ["p-0", "p-1"]
    assert kept[-1] == {"leftOut": 2}
    assert "Pods left out of pods.json: 2; it has the first 2 by name" in files["default-mine/README.txt"]
