"""Everything the tests need: a cluster, Muster installed on it from deploy/, nodes, and a musterd.

`make real` makes it once and describes it in a JSON file; each test process reads that file (see ``site``).
"""

import json
import os
import shutil
import signal
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from muster.cli.processes.stack import free_port, module
from tests.real.binaries import binaries
from tests.real.given import given, leave
from tests.real.plane import kubeconfig
from tests.real.plane.kubectl import Kubectl
from tests.real.plane.programs import Program, ProgramFailed
from tests.real.plane.servers import Plane
from tests.real.plane.supervisor import Supervisor

ROOT = Path(__file__).parents[2]
VARIABLE = "MUSTER_REAL_GROUND"
"""The environment variable that names the description for test processes."""
SYSTEM = "muster-system"
STAND_IN = {"muster.dev/stand-in": "plenty"}
TAINT = {"key": "muster.dev/real-tests", "effect": "NoSchedule"}
"""On every node of ours: nothing else of a cluster that is given lands there."""
TOLERATIONS = [{"key": TAINT["key"], "operator": "Exists"}]
"""Of every pod that is to land there."""
PRETENDED = ("pretended-0", "pretended-1", "pretended-2")
PROCESS_NODE = "processes"
READY_SECONDS = 60.0
PREFIX = "muster-real-"


@dataclass(frozen=True, slots=True)
class Ground:
    """Where everything is. Paths are texts, because it travels as JSON."""

    folder: str
    run: str
    """Process id files and holds; see ``plane.supervisor``."""
    kubectl: str
    admin: str
    """kubeconfig of an administrator."""
    server: str
    own: bool
    """The control plane is ours: it may be stopped, and its audit log read."""
    musterd: str = ""
    """kubeconfig of the service account of deploy/musterd.yaml, where musterd runs beside the cluster."""
    token: str = ""
    daemon_url: str = ""
    audit_log: str = ""
    etcd_url: str = ""
    etcd_pair: tuple[str, str, str] = ("", "", "")
    """Authority, certificate and key for etcd."""
    kubelet: tuple[str, ...] = ()
    """The same for the node whose pods are processes; empty where the API server would not know them."""

    @property
    def rows(self) -> str:
        return f"{self.folder}/rows.jsonl"

    @classmethod
    def read(cls) -> "Ground":
        """The ground that `make real` made."""
        return cls(**json.loads(Path(os.environ[VARIABLE]).read_text(encoding="utf-8")))


@contextmanager
def ground(say: Any = print, more: Mapping[str, Sequence[str]] | None = None) -> Iterator[tuple[Ground, Supervisor]]:
    """Build the ground, and take it down. ``more`` are further flags of a control plane of ours, by program name."""
    remove_leftovers()
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
    supervisor = Supervisor(folder / "run")
    built: Ground | None = None
    try:
        began = time.monotonic()
        built = _own(folder, supervisor, more) if not os.environ.get("KUBECONFIG") else _given(folder)
        say(f"control plane ready after {time.monotonic() - began:.1f} s: {built.server}")
        kubectl = Kubectl(built.kubectl, built.admin)
        install(kubectl)
        _account(kubectl, built)
        _nodes(kubectl, built, supervisor)
        _daemon(built, supervisor)
        say(f"nodes and musterd ready after {time.monotonic() - began:.1f} s; logs in {folder}")
        (folder / "ground.json").write_text(json.dumps(asdict(built)))
        os.environ[VARIABLE] = str(folder / "ground.json")
        supervisor.watch()
        yield built, supervisor
    finally:
        supervisor.close()
        if built is not None and not built.own:
            leave(Kubectl(built.kubectl, built.admin), [*PRETENDED, PROCESS_NODE])
        os.environ.pop(VARIABLE, None)
        if not os.environ.get("MUSTER_REAL_KEEP"):
            shutil.rmtree(folder, ignore_errors=True)


def remove_leftovers(prefix: str = PREFIX) -> None:
    """Delete the folders of runs whose process does not exist any more; their programs ended with them."""
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*-*"):
        owner = folder.name.removeprefix(prefix).partition("-")[0]
        if owner.isdecimal() and not Path(f"/proc/{owner}").exists():
            shutil.rmtree(folder, ignore_errors=True)


def _own(folder: Path, supervisor: Supervisor, more: Mapping[str, Sequence[str]] | None) -> Ground:
    """A control plane of our own."""
    found = binaries()
    plane = Plane(found, folder, supervisor, more=more)
    plane.start()
    user, node = plane.etcd_user, plane.authority.server("kubelet")
    return Ground(
        **_beside(folder, plane.url, plane.authority.file),
        kubectl=plane.kubectl,
        admin=str(plane.admin),
        server=f"Kubernetes {found.kubernetes}, etcd {found.etcd}, at {plane.url}",
        own=True,
        audit_log=str(plane.audit_log),
        etcd_url=plane.etcd_url,
        etcd_pair=(str(plane.authority.file), str(user.certificate), str(user.key)),
        kubelet=(str(plane.authority.file), str(node.certificate), str(node.key)),
    )


def _given(folder: Path) -> Ground:
    """The cluster that KUBECONFIG names."""
    cluster = given(folder)
    return Ground(
        **_beside(folder, cluster.url, cluster.authority),
        kubectl=cluster.kubectl,
        admin=str(cluster.admin),
        server=f"Kubernetes {cluster.version}, at {cluster.url}",
        own=False,
    )


def _beside(folder: Path, url: str, authority: Path) -> dict[str, Any]:
    """Fields of a ground: its folders, and those of a musterd beside the cluster."""
    token = folder / "musterd.token"
    config = kubeconfig.write(folder / "musterd.kubeconfig", url=url, authority=authority, token=token)
    of_musterd = {"musterd": str(config), "token": str(token), "daemon_url": f"http://127.0.0.1:{free_port()}"}
    return {"folder": str(folder), "run": str(folder / "run"), **of_musterd}


def install(kubectl: Kubectl) -> None:
    """Apply deploy/ as a person would; of the Deployment no replica, for musterd runs beside the cluster here."""
    kubectl("apply", "--filename", str(ROOT / "deploy/crds/experiments.muster.dev.yaml"))
    wait(kubectl, "--for=condition=Established", "crd/experiments.muster.dev")
    items = [each for each in yaml.safe_load_all((ROOT / "deploy/musterd.yaml").read_text()) if each]
    for each in items:
        if each["kind"] == "Deployment":
            each["spec"]["replicas"] = 0
    kubectl("apply", "--filename", "-", body={"apiVersion": "v1", "kind": "List", "items": items})


def wait(kubectl: Kubectl, *what: str, seconds: float = READY_SECONDS) -> None:
    """`kubectl wait`, which fails on an object that has no conditions yet: it is asked again."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            kubectl("wait", *what, "--timeout=30s")
        except ProgramFailed:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
        else:
            return


def _account(kubectl: Kubectl, built: Ground) -> None:
    """A token of musterd's service account, by the API that the kubelet uses for pods (TokenRequest)."""
    token = kubectl("create", "token", "musterd", "--namespace", SYSTEM, "--duration=4h")
    kubeconfig.replace(Path(built.token), token.strip())


def _nodes(kubectl: Kubectl, built: Ground, supervisor: Supervisor) -> None:
    """Start both kinds of node and wait until they are Ready."""
    folder = Path(built.folder)
    standin = Program(
        "stand-in",
        module("tests.real.nodes.standin", "--kubeconfig", built.admin),
        folder / "stand-in.log",
        environment={"PYTHONPATH": str(ROOT)},
    )
    supervisor.add(standin)
    for name in PRETENDED:
        metadata = {"name": name, "labels": STAND_IN}
        body = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"taints": [TAINT]}}
        kubectl("apply", "--filename", "-", body=body)
    options = ["--state", str(folder / "node"), "--workspace", str(ROOT)]
    if built.kubelet:
        options += ["--certificates", *built.kubelet]
    agent = Program(
        "agent",
        module("tests.real.nodes.agent", "--kubeconfig", built.admin, *options),
        folder / "agent.log",
        environment={"PYTHONPATH": str(ROOT)},
        death=signal.SIGTERM,
    )
    supervisor.add(agent)
    agent.until(lambda: "ready" in agent.log.read_text(), READY_SECONDS)
    kubectl("taint", "node", PROCESS_NODE, f"{TAINT['key']}=:{TAINT['effect']}", "--overwrite")
    names = [f"node/{name}" for name in (*PRETENDED, PROCESS_NODE)]
    kubectl("wait", "--for=condition=Ready", *names, "--timeout=60s")


def _daemon(built: Ground, supervisor: Supervisor) -> None:
    """One musterd, with the flags of deploy/musterd.yaml and the name of a kubeconfig."""
    program = daemon_program("musterd", built, built.daemon_url)
    supervisor.add(program)
    program.until(lambda: _answers(f"{built.daemon_url}/readyz"), READY_SECONDS)


def daemon_program(name: str, built: Ground, url: str, *flags: str, config: str = "") -> Program:
    """A musterd as the service account."""
    options = (
        *("--kubeconfig", config or built.musterd, "--leader-elect", "--lease-namespace", SYSTEM),
        *("--http-host", "127.0.0.1", "--http-port", url.rpartition(":")[2], "--log-format", "json"),
    )
    return Program(
        name,
        [sys.executable, "-m", "muster.daemon.main", *options, *flags],
        Path(built.folder) / f"{name}.log",
        environment={"PYTHONPATH": str(ROOT), "KUBECONFIG": ""},
        death=signal.SIGTERM,
    )


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
