"""The kubeconfig of a local cluster, for kubectl and all client libraries.

It is written as JSON, which is valid YAML (client-go and kubernetes-asyncio read it with a YAML parser).
"""

import os
from pathlib import Path

import msgspec

NAME = "muster-local"


def write_kubeconfig(path: Path, *, url: str, token: str, ca: bytes | None = None, namespace: str = "default") -> None:
    """Write ``path``, with mode 0600 from the start. An existing file is replaced in one step."""
    cluster: dict[str, object] = {"server": url}
    if ca is not None:
        cluster["certificate-authority-data"] = msgspec.json.decode(msgspec.json.encode(ca))  # bytes become base64
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": cluster}],
        "users": [{"name": NAME, "user": {"token": token}}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME, "namespace": namespace}}],
        "current-context": NAME,
    }
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
    draft.replace(path)
