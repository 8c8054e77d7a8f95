"""The run's image registries: one open to everyone, one for those with a pull secret, both with the same images."""

import json
import socket
from base64 import b64encode
from functools import partial
from pathlib import Path

import yaml

from tests.real.plane.programs import Program
from tests.real.plane.supervisor import Supervisor
from tests.real_node.addresses import HOST, PRIVATE_REGISTRY, REGISTRY

USER, PASSWORD = "puller", "let-me-pull"
HTPASSWD = f"{USER}:$2b$04$f0Hil6gTMp/bw.WsolN3xO752uKcrd2O7XI1YlkGys.RFtrPHr4Pu\n"
"""The password as bcrypt has it."""
START_SECONDS = 30.0


def pull_secret(name: str, password: str = PASSWORD) -> dict[str, object]:
    """A Secret for the registry of those with one; with another password it is a wrong one."""
    auth = b64encode(f"{USER}:{password}".encode()).decode()
    text = json.dumps({"auths": {PRIVATE_REGISTRY: {"auth": auth}}})
    metadata, kind = {"name": name}, "kubernetes.io/dockerconfigjson"
    data = {".dockerconfigjson": text}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": kind, "stringData": data}


def serve(program: str, folder: Path, supervisor: Supervisor) -> None:
    """Start both; returns when they listen."""
    folder.mkdir()
    (folder / "htpasswd").write_text(HTPASSWD)
    storage = {"filesystem": {"rootdirectory": str(folder / "storage")}}
    for name, where in (("registry", REGISTRY), ("private-registry", PRIVATE_REGISTRY)):
        port = int(where.rpartition(":")[2])
        settings: dict[str, object] = {
            "version": "0.1",
            "log": {"level": "warn", "accesslog": {"disabled": True}},
            "storage": storage,
            "http": {"addr": f"{HOST}:{port}"},
        }
        if where == PRIVATE_REGISTRY:
            settings["auth"] = {"htpasswd": {"realm": "tests", "path": str(folder / "htpasswd")}}
        file = folder / f"{name}.yaml"
        file.write_text(yaml.safe_dump(settings))
        started = supervisor.add(Program(name, [program, "serve", str(file)], folder / f"{name}.log"))
        started.until(partial(_listens, port), START_SECONDS)


def _listens(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), 1.0).close()
    except OSError:
        return False
    return True
