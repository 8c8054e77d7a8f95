"""A cluster that is there already, named by KUBECONFIG: what must be true of it, and what is removed at the end."""

import base64
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.real.binaries import binaries
from tests.real.plane import kubeconfig
from tests.real.plane.kubectl import Kubectl
from tests.real.plane.programs import ProgramFailed


class NotUsable(Exception):
    """The situations cannot be played on the cluster of KUBECONFIG; the text says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Given:
    """How the cluster is reached."""

    kubectl: str
    admin: Path
    """kubeconfig of the current context alone, with all that its files hold."""
    url: str
    authority: Path
    version: str


def given(folder: Path) -> Given:
    """The cluster of the current context of KUBECONFIG. NotUsable if the situations cannot be played there."""
    program = shutil.which("kubectl") or binaries()["kubectl"]
    kubectl = Kubectl(program)
    admin, authority = folder / "admin.kubeconfig", folder / "ca.crt"
    try:
        kubeconfig.replace(admin, kubectl("config", "view", "--raw", "--flatten", "--minify", "--output=json"))
        versions = json.loads(kubectl("version", "--output=json", "--request-timeout=10s"))
    except ProgramFailed as error:
        raise NotUsable(f"its cluster cannot be asked: {error}") from error
    cluster = json.loads(admin.read_text())["clusters"][0]["cluster"]
    if "certificate-authority-data" not in cluster:
        raise NotUsable(
            f"it names no certificate authority for {cluster['server']}, and musterd's service account trusts no server"
            " without one: add certificate-authority to the cluster's entry"
        )
    authority.write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
    try:
        kubectl("auth", "can-i", "*", "*", "--all-namespaces")
    except ProgramFailed as error:
        raise NotUsable(
            f"its user may not do everything on {cluster['server']} ({error}): the situations make nodes, roles,"
            " webhooks and namespaces, so name an administrator (cluster-admin)"
        ) from error
    return Given(program, admin, cluster["server"], authority, versions["serverVersion"]["gitVersion"])


def leave(kubectl: Kubectl, nodes: list[str]) -> None:
    """Remove our nodes and their Leases: without their kubelets they would stay NotReady. Muster stays installed."""
    kubectl("delete", "nodes", "--ignore-not-found", "--wait=false", *nodes)
    kubectl("delete", "leases", "--namespace", "kube-node-lease", "--ignore-not-found", "--wait=false", *nodes)
