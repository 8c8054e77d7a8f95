"""What `make real` asks of a cluster that KUBECONFIG names, with a program that stands in for kubectl."""

import base64
import json
import stat
from pathlib import Path

import pytest

from tests.real.given import NotUsable, given

KUBECTL = """#!/bin/sh
echo "$KUBECONFIG" "$@" >> "$FAKE/calls"
case "$1" in
config) cat "$FAKE/config" ;;
version) cat "$FAKE/version" || exit 1 ;;
auth) [ ! -f "$FAKE/denied" ] || { echo no; exit 1; } ;;
esac
"""
CLUSTER = {"server": "https://cluster.example:6443", "certificate-authority-data": base64.b64encode(b"pem").decode()}


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the first of the PATH; files in it are what the `kubectl` there answers."""
    folder = tmp_path / "fake"
    folder.mkdir()
    (folder / "kubectl").write_text(KUBECTL)
    (folder / "kubectl").chmod(stat.S_IRWXU)
    (folder / "config").write_text(json.dumps({"clusters": [{"name": "there", "cluster": CLUSTER}]}))
    (folder / "version").write_text(json.dumps({"serverVersion": {"gitVersion": "v1.33.1"}}))
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("FAKE", str(folder))
    monkeypatch.setenv("KUBECONFIG", "/one:/two")
    return folder


def test_the_current_context_of_all_files_is_taken(fake: Path, tmp_path: Path) -> None:
    found = given(tmp_path)
    assert (found.url, found.version) == ("https://cluster.example:6443", "v1.33.1")
    assert found.authority.read_bytes() == b"pem"
    assert stat.S_IMODE(found.admin.stat().st_mode) == 0o600
    first = (fake / "calls").read_text().splitlines()[0]
    assert first == "/one:/two config view --raw --flatten --minify --output=json"


def test_a_cluster_that_does_not_answer_is_refused_in_the_words_of_kubectl(fake: Path, tmp_path: Path) -> None:
    (fake / "version").unlink()
    with pytest.raises(NotUsable, match=r"cannot be asked: kubectl version .*No such file"):
        given(tmp_path)


def test_a_cluster_without_an_authority_is_refused(fake: Path, tmp_path: Path) -> None:
    cluster = {"server": CLUSTER["server"], "insecure-skip-tls-verify": True}
    (fake / "config").write_text(json.dumps({"clusters": [{"name": "there", "cluster": cluster}]}))
    with pytest.raises(NotUsable, match=r"names no certificate authority .*add certificate-authority"):
        given(tmp_path)


def test_a_user_who_is_no_administrator_is_refused(fake: Path, tmp_path: Path) -> None:
    (fake / "denied").touch()
    with pytest.raises(NotUsable, match=r"may not do everything .*cluster-admin"):
        given(tmp_path)
