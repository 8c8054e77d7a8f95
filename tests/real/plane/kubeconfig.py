"""kubeconfig files: an administrator's by certificate, a service account's by a token file that can be replaced."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from tests.real.plane.certificates import Pair

NAME = "muster-real"


def write(path: Path, *, url: str, authority: Path, pair: Pair | None = None, token: Path | None = None) -> Path:
    """Write a kubeconfig (JSON is YAML too) for one user, by certificate or by token file."""
    user: dict[str, str] = {}
    if pair is not None:
        user = {"client-certificate": str(pair.certificate), "client-key": str(pair.key)}
    if token is not None:
        user = {"tokenFile": str(token)}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": {"server": url, "certificate-authority": str(authority)}}],
        "users": [{"name": NAME, "user": user}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME, "namespace": "default"}}],
        "current-context": NAME,
    }
    replace(path, json.dumps(document, indent=2))
    return path


def changed(source: str, path: Path, *, user: Mapping[str, str] | None = None, server: str = "") -> Path:
    """Write a copy of a kubeconfig with another user, or with another address of the server."""
    document = json.loads(Path(source).read_text(encoding="utf-8"))
    if user is not None:
        document["users"][0]["user"] = dict(user)
    if server:
        document["clusters"][0]["cluster"]["server"] = server
    replace(path, json.dumps(document))
    return path


def replace(path: Path, text: str) -> None:
    """Write a private file in one step, as the kubelet replaces a projected token."""
    draft = path.with_name(path.name + ".new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    draft.replace(path)
