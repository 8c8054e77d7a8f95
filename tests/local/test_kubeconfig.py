"""The kubeconfig of a local cluster."""

import base64
import stat
from pathlib import Path

import yaml

from muster.local.home import write_kubeconfig


def test_the_kubeconfig_is_yaml_with_mode_0600(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text("left by another cluster")
    write_kubeconfig(path, url="https://127.0.0.1:6443", token="secret", ca=b"certificate", namespace="team")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    written = yaml.safe_load(path.read_text())
    assert written["clusters"][0]["cluster"] == {
        "server": "https://127.0.0.1:6443",
        "certificate-authority-data": base64.b64encode(b"certificate").decode(),
    }
    assert written["users"][0]["user"] == {"token": "secret"}
    assert written["contexts"][0]["context"]["namespace"] == "team"
    assert written["current-context"] == written["contexts"][0]["name"]
    assert list(tmp_path.iterdir()) == [path]
