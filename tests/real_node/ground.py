"""Everything the situations need: a control plane, registries, three nodes, CoreDNS, and Muster from its chart.

It is built inside the namespaces of the run (see `inside`), and described in JSON files for the test processes: that of
`make real`, which its sites and its screen read, and one with what nodes need.
"""

import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from deploy.helm.copies import CHART
from tests.real.binaries import Binaries
from tests.real.ground import READY_SECONDS, SYSTEM, TAINT, VARIABLE, Ground, wait
from tests.real.plane import kubeconfig
from tests.real.plane.kubectl import Kubectl
from tests.real.plane.programs import ProgramFailed
from tests.real.plane.servers import Plane
from tests.real.plane.supervisor import Supervisor
from tests.real_node import registry
from tests.real_node.addresses import API_PORT, BRIDGE, DNS, HOST, PLACES, Place, next_place
from tests.real_node.images.build import Images, push
from tests.real_node.machine.machine import Machine
from tests.real_node.machine.plan import Plan
from tests.real_node.programs import Programs
from tests.tools.go_tool import HELM

POOL = "muster.dev/pool"
"""The label of a node that names its purpose."""
SYSTEM_POOL, WORK_POOL = "system", "work"
WORKERS = 2
NODES_VARIABLE = "MUSTER_NODE_GROUND"
RELEASE = "musterd"
READY = 3 * READY_SECONDS
FLAGS = {"kube-apiserver": ["--authorization-mode=Node", "--enable-admission-plugins=NodeRestriction"]}
"""Beside those of `make real`: kubelets have the rights of nodes, as on any cluster, and no more."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """What is needed to make a machine. Paths are texts, because it travels as JSON."""

    folder: str
    programs: Mapping[str, str]
    tags: Mapping[str, str]
    """Of the images."""
    authority: str
    url: str

    @property
    def images(self) -> Images:
        return Images(self.tags)

    @classmethod
    def read(cls) -> "Nodes":
        """What the run has made."""
        return cls(**json.loads(Path(os.environ[NODES_VARIABLE]).read_text(encoding="utf-8")))

    def machine(self, pool: str, **more: Any) -> Machine:
        """A machine at the next place of the run, not started yet; ``more`` are fields of its plan."""
        folder = Path(self.folder)
        place = next_place(folder)
        taints = () if pool == SYSTEM_POOL else (f"{TAINT['key']}=:{TAINT['effect']}",)
        plan = Plan(
            name=place.name,
            folder=str(folder / place.name),
            address=place.address,
            pods=place.pods,
            programs=self.programs,
            pause=self.images["pause"],
            kubeconfig=str(folder / f"{place.name}.kubeconfig"),
            proxy_kubeconfig=str(folder / "kube-proxy.kubeconfig"),
            policies_token=str(folder / "kube-network-policies.token"),
            authority=self.authority,
            certificate=str(folder / "pki" / f"{place.name}-server.crt"),
            key=str(folder / "pki" / f"{place.name}-server.key"),
            labels={POOL: pool},
            **{"taints": taints, **more},
        )
        return Machine(plan, place)

    def started(self, name: str) -> Machine:
        """The machine of a node, which another process may have started."""
        number = int(name.rpartition("-")[2])
        return Machine(Plan.read(Path(self.folder, name, "plan.json")), Place(number))


@contextmanager
def ground(folder: Path, programs: Programs, images: Images, say: Any) -> Iterator[tuple[Ground, Supervisor]]:
    """Build the ground, and take it down."""
    began = time.monotonic()
    _bridge()
    with ExitStack() as stack:
        supervisor = Supervisor(folder / "run")
        stack.callback(supervisor.close)
        found = Binaries(Path(programs["kubectl"]).parent, programs.kubernetes, "")
        plane = Plane(found, folder, supervisor, more=FLAGS, host=HOST, port=API_PORT)
        plane.start()
        registry.serve(programs["registry"], folder / "registry", supervisor)
        pushing = ThreadPoolExecutor(1).submit(push, images)
        kubectl = Kubectl(plane.kubectl, str(plane.admin))
        say(f"control plane ready after {time.monotonic() - began:.1f} s: Kubernetes {programs.kubernetes}")
        nodes = Nodes(str(folder), dict(programs.paths), images.tags, str(plane.authority.file), plane.url)
        _identities(folder, plane)
        _cluster(kubectl, folder, images)
        pushing.result()
        say(f"images pushed after {time.monotonic() - began:.1f} s")
        machines = [nodes.machine(pool) for pool in (SYSTEM_POOL, *[WORK_POOL] * WORKERS)]
        starting = stack.enter_context(
            ThreadPoolExecutor(len(machines))
        )  # a machine ends with the thread that starts it
        for machine in machines:
            stack.callback(machine.power_off)
        list(starting.map(Machine.start, machines))
        wait(kubectl, "--for=condition=Ready", *(f"node/{each.plan.name}" for each in machines), seconds=READY)
        say(f"{len(machines)} nodes ready after {time.monotonic() - began:.1f} s")
        wait(kubectl, "--namespace", "kube-system", "--for=condition=Available", "deployment/coredns", seconds=READY)
        install(plane, folder, images)
        wait(kubectl, "--namespace", SYSTEM, "--for=condition=Available", "deployment/musterd", seconds=READY)
        say(f"CoreDNS and musterd ready after {time.monotonic() - began:.1f} s; logs in {folder}")
        built = _described(folder, supervisor, plane, programs)
        (folder / "ground.json").write_text(json.dumps(asdict(built)))
        (folder / "nodes.json").write_text(json.dumps(asdict(nodes)))
        os.environ[VARIABLE], os.environ[NODES_VARIABLE] = str(folder / "ground.json"), str(folder / "nodes.json")
        supervisor.watch()
        yield built, supervisor


def _bridge() -> None:
    """The wire between the machines; the run itself is at its first address."""
    for command in (
        "ip link set lo up",
        f"ip link add {BRIDGE} type bridge",
        f"ip address add {HOST}/16 dev {BRIDGE}",
        f"ip link set {BRIDGE} up",
    ):
        subprocess.run(command.split(), check=True)
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")


def _identities(folder: Path, plane: Plane) -> None:
    """Certificates for every machine that the run may have, since only this process can issue them."""

    def config(name: str, user: str, group: str = "") -> None:
        pair = plane.authority.user(user, group)
        kubeconfig.write(folder / f"{name}.kubeconfig", url=plane.url, authority=plane.authority.file, pair=pair)

    config("kube-proxy", "system:kube-proxy")
    for place in (Place(number) for number in range(1, PLACES + 1)):
        config(place.name, f"system:node:{place.name}", "system:nodes")
        plane.authority.server(f"{place.name}-server", place.address, place.name)


def _cluster(kubectl: Kubectl, folder: Path, images: Images) -> None:
    text = (Path(__file__).parent / "cluster.yaml").read_text(encoding="utf-8")
    items = list(yaml.safe_load_all(text.replace("image: COREDNS", f"image: {images['coredns']}").replace("DNS", DNS)))
    kubectl("apply", "--filename", "-", body={"apiVersion": "v1", "kind": "List", "items": items})
    name = "kube-network-policies"
    token = kubectl("create", "token", name, "--namespace", "kube-system", "--duration=4h")
    kubeconfig.replace(folder / f"{name}.token", token.strip())


def helm(plane_admin: str, folder: Path, *arguments: str) -> str:
    """Run helm as an administrator. Raises ProgramFailed with what it printed."""
    homes = {f"HELM_{each}_HOME": str(folder / "helm") for each in ("CACHE", "CONFIG", "DATA")}
    command = [str(HELM.path()), *arguments, "--kubeconfig", plane_admin]
    done = subprocess.run(command, env={**os.environ, **homes}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ProgramFailed(f"helm {' '.join(arguments[:2])}: {done.stderr.strip()}")
    return done.stdout


def install(plane: Plane, folder: Path, images: Images) -> None:
    """Muster as users install it, in a namespace that admits restricted pods only."""
    kubectl = Kubectl(plane.kubectl, str(plane.admin))
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM, "labels": labels}}
    kubectl("apply", "--filename", "-", body=body)
    helm(str(plane.admin), folder, "install", RELEASE, str(CHART), "--namespace", SYSTEM, *values(images))


def values(images: Images) -> tuple[str, ...]:
    """Those of the release: the image of the run's registry."""
    repository, _, tag = images["musterd"].rpartition(":")
    return "--set", f"image.repository={repository},image.tag={tag}"


def _described(folder: Path, supervisor: Supervisor, plane: Plane, programs: Programs) -> Ground:
    """In the words of `make real`; musterd runs in pods, so what is about a musterd beside the cluster is empty."""
    return Ground(
        folder=str(folder),
        run=str(supervisor.folder),
        kubectl=plane.kubectl,
        admin=str(plane.admin),
        server=f"Kubernetes {programs.kubernetes}, at {plane.url}",
        own=True,
        audit_log=str(plane.audit_log),
        etcd_url=plane.etcd_url,
    )
