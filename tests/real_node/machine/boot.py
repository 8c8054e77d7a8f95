"""``python -m tests.real_node.machine.boot PLAN``: process 1 of a machine, which mounts and runs the node's programs.

It waits for the network in between. When it ends, the kernel ends every process of the machine and removes its mounts:
that is a machine that loses power. A program that ends is started again, unless the file ``<name>.hold`` is in the
folder ``run`` (see the supervisor).
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.real.plane.programs import Program
from tests.real.plane.supervisor import Supervisor
from tests.real_node.addresses import API_PORT, HOST, PODS
from tests.real_node.machine import cgroups, configuration
from tests.real_node.machine.plan import Plan

TUNABLES = (
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
)
"""What a kubelet writes into the kernel. It writes into files here, for the kernel is not this machine's alone."""
ACCOUNT = Path("/run/secrets/kubernetes.io/serviceaccount")
START_SECONDS = 60.0


class NotStarted(Exception):
    """A part of the node did not become ready; the text carries its last lines."""


def say(word: str) -> None:
    print(word, flush=True)


def run(*command: str) -> None:
    """A command that must succeed."""
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise NotStarted(f"{' '.join(command)}: {done.stderr.strip()}")


def mounts(plan: Plan, folder: Path) -> None:
    """The machine's own view of files; what is mounted for pods later must be seen by all its programs (rshared)."""
    run("mount", "--make-rshared", "/")
    cgroups.mount()
    run("mount", "-t", "tmpfs", "tmpfs", "/run")
    etc = folder / "etc"
    (etc / "cni").mkdir(parents=True, exist_ok=True)
    (etc / "cni" / "10-pods.conflist").write_text(configuration.network(plan))
    (etc / "containerd.toml").write_text(configuration.containerd(plan))
    (etc / "kubelet.yaml").write_text(configuration.kubelet(plan))
    for name, text in configuration.registries().items():
        (etc / "registries" / name).mkdir(parents=True, exist_ok=True)
        (etc / "registries" / name / "hosts.toml").write_text(text)
    (etc / "hosts").write_text(configuration.hosts(plan))
    (etc / "resolv.conf").write_text("")
    for name in ("hosts", "resolv.conf"):
        run("mount", "--bind", str(etc / name), str(Path("/etc", name).resolve()))
    for name in TUNABLES:
        real, file = Path("/proc/sys", name), etc / name.replace("/", "-")
        if real.exists():
            file.write_text(real.read_text())
            run("mount", "--bind", str(file), str(real))
    if plan.memory:
        (etc / "meminfo").write_text(meminfo(Path("/proc/meminfo").read_text(), plan.memory))
        run("mount", "--bind", str(etc / "meminfo"), "/proc/meminfo")
    disk = folder / "kubelet"
    disk.mkdir(exist_ok=True)
    if plan.disk:
        run("mount", "-t", "tmpfs", "-o", f"size={plan.disk}", "tmpfs", str(disk))


def meminfo(real: str, memory: int) -> str:
    """/proc/meminfo of a machine with so many bytes, without swap."""
    shown = {"MemTotal": memory >> 10, "MemFree": memory >> 10, "MemAvailable": memory >> 10, "SwapTotal": 0}
    lines = []
    for line in real.splitlines():
        name = line.partition(":")[0]
        lines.append(f"{name}: {shown[name]} kB" if name in shown else line)
    return "\n".join(lines) + "\n"


def network(plan: Plan) -> None:
    """eth0 is put here by the run. Pods have a link each; new connections to and from them go to the agent's queue."""
    run("ip", "link", "set", "lo", "up")
    until(lambda: _link("eth0"), "the network")
    run("ip", "address", "add", f"{plan.address}/16", "dev", "eth0")
    run("ip", "link", "set", "eth0", "up")
    run("ip", "route", "add", "default", "via", HOST)
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
    # The agent's own rules need nft's queue expression, which not every kernel has; these ask it the same questions.
    queue = ("-j", "NFQUEUE", "--queue-num", str(configuration.NFQUEUE), "--queue-bypass")
    for rule in (
        ("-m", "conntrack", "--ctstate", "ESTABLISHED,RELATED", "-j", "ACCEPT"),
        ("-m", "owner", "--uid-owner", "0", "-j", "ACCEPT"),  # the kubelet's probes
        ("-s", PODS, *queue),
        ("-d", PODS, *queue),
    ):
        run("iptables", "-t", "mangle", "-A", "POSTROUTING", *rule)


def _link(name: str) -> bool:
    return subprocess.run(["ip", "link", "show", name], check=False, capture_output=True).returncode == 0


def until(holds: Callable[[], bool], what: str, program: Program | None = None) -> None:
    """Ask again until it is true; NotStarted after a minute, or when the program has ended."""
    deadline = time.monotonic() + START_SECONDS
    while not holds():
        if program is not None:
            program.check()
        if time.monotonic() > deadline:
            said = f"; {program.last_lines()}" if program is not None else ""
            raise NotStarted(f"{what} was not there after {START_SECONDS:g} s{said}")
        time.sleep(0.05)


def start(plan: Plan, folder: Path, supervisor: Supervisor) -> None:
    """containerd, then those that need it."""
    programs, etc = plan.programs, folder / "etc"
    path = f"{Path(programs['containerd-shim-runc-v2']).parent}:/usr/sbin:/usr/bin:/sbin:/bin"

    def add(name: str, *flags: str, **environment: str) -> Program:
        command = [programs[name], *flags]
        return supervisor.add(Program(name, command, folder / f"{name}.log", environment={"PATH": path, **environment}))

    runtime = add("containerd", "--config", str(etc / "containerd.toml"))
    until(Path(configuration.SOCKET).exists, "containerd's socket", runtime)
    labels = ",".join(f"{key}={value}" for key, value in plan.labels.items())
    add(
        "kubelet",
        f"--config={etc / 'kubelet.yaml'}",
        f"--kubeconfig={plan.kubeconfig}",
        f"--hostname-override={plan.name}",
        f"--node-ip={plan.address}",
        f"--root-dir={folder / 'kubelet'}",
        f"--cert-dir={folder / 'etc'}",
        *((f"--node-labels={labels}",) if labels else ()),
        *((f"--register-with-taints={','.join(plan.taints)}",) if plan.taints else ()),
    )
    add(
        "kube-proxy",
        f"--kubeconfig={plan.proxy_kubeconfig}",
        f"--hostname-override={plan.name}",
        "--proxy-mode=nftables",
        f"--cluster-cidr={PODS}",
        "--conntrack-max-per-core=0",  # the kernel's table is not this machine's alone
        "--conntrack-min=0",
        "--metrics-bind-address=127.0.0.1:10249",
    )
    ACCOUNT.mkdir(parents=True)
    (ACCOUNT / "token").write_text(Path(plan.policies_token).read_text())
    (ACCOUNT / "ca.crt").write_bytes(Path(plan.authority).read_bytes())
    add(
        "kube-network-policies",
        f"--hostname-override={plan.name}",
        f"--nfqueue-id={configuration.NFQUEUE}",
        "--disable-nri",
        "--netfilter-bug-1766-fix=false",
        KUBERNETES_SERVICE_HOST=HOST,
        KUBERNETES_SERVICE_PORT=str(API_PORT),
    )


def reap() -> None:
    """Processes that lose their parent come to process 1; those of the supervisor are its own to wait for."""
    own = {int(file.read_text()) for file in Path(sys.argv[1]).parent.glob("run/*.pid")}
    while True:
        try:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if found is None or found.si_pid in own:
            return
        os.waitpid(found.si_pid, 0)


def main(file: Path) -> int:
    """Run until the end; one line when all programs run."""
    plan, folder = Plan.read(file), file.parent
    supervisor = Supervisor(folder / "run")
    try:
        mounts(plan, folder)
        say("up")
        network(plan)
        start(plan, folder, supervisor)
        supervisor.watch()
        say("ready")
    except Exception as error:
        say(f"failed: {error}")
        raise
    signal.signal(signal.SIGCHLD, lambda *_: reap())
    while True:
        signal.pause()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
