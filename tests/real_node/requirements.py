"""What the machine must have for `make real-node`; what lacks is said as a list, with what to install."""

import ctypes
import os
import shutil
from pathlib import Path

PACKAGES = {
    "runc": "runc",
    "mmdebstrap": "mmdebstrap",
    "buildah": "buildah",
    "ip": "iproute2",
    "nft": "nftables",
    "iptables": "iptables",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "mount": "mount",
}
"""Programs, and the packages of Debian that have them."""
INSTALL = "apt-get install --yes --no-install-recommends"
CNI = Path("/usr/lib/cni")
CNI_PACKAGE = "containernetworking-plugins"
CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_SYS_PTRACE": 19, "CAP_SYS_ADMIN": 21, "CAP_MKNOD": 27}
CONTROLLERS = ("cpu", "cpuset", "memory", "pids")
MEMORY = 6 << 30
"""Bytes that are available: three nodes take 1, the control plane 1, a gang of jax 1."""
NEWNS, NEWNET, NEWPID, NEWCGROUP = 0x20000, 0x40000000, 0x20000000, 0x2000000


def missing() -> list[str]:
    """A sentence for each thing that lacks; nothing is changed to find out."""
    if os.geteuid() != 0:
        return ["it must be run by root, for it makes namespaces, mounts and control groups", *_packages()]
    found = [*_packages(), *_capabilities(), *_controllers(), *_memory()]
    return found or _namespaces()


def _packages() -> list[str]:
    wanted = {package for program, package in PACKAGES.items() if shutil.which(program) is None}
    if not all((CNI / each).exists() for each in ("ptp", "host-local", "portmap", "loopback")):
        wanted.add(CNI_PACKAGE)
    return [f"Debian's packages: this line installs them\n{INSTALL} {' '.join(sorted(wanted))}"] if wanted else []


def _capabilities() -> list[str]:
    status = Path("/proc/self/status").read_text()
    effective = int(next(line.split()[1] for line in status.splitlines() if line.startswith("CapEff")), 16)
    lost = [name for name, number in CAPABILITIES.items() if not effective & 1 << number]
    return [f"capabilities: {', '.join(lost)}"] if lost else []


def _controllers() -> list[str]:
    unified = Path("/sys/fs/cgroup/cgroup.controllers")
    there = (
        unified.read_text().split() if unified.exists() else [each.name for each in Path("/sys/fs/cgroup").glob("*")]
    )
    lost = [each for each in CONTROLLERS if each not in there]
    if lost:
        return [f"control groups: no controller {', '.join(lost)} under /sys/fs/cgroup"]
    if not os.access("/sys/fs/cgroup/memory" if not unified.exists() else "/sys/fs/cgroup", os.W_OK):
        return ["control groups: /sys/fs/cgroup cannot be written to"]
    return []


def _memory() -> list[str]:
    lines = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
    available = next(int(each[1]) for each in lines if each[0] == "MemAvailable:") << 10
    if available >= MEMORY:
        return []
    return [f"memory: {available / 1e9:.1f} GB are available, and {MEMORY / 1e9:.0f} GB are needed"]


def _namespaces() -> list[str]:
    """Try them in a process of their own."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        failed = libc.unshare(NEWNS | NEWNET | NEWPID | NEWCGROUP) != 0
        os.write(writer, os.strerror(ctypes.get_errno()).encode() if failed else b"")
        os._exit(0)
    os.close(writer)
    said = os.read(reader, 1000).decode()
    os.close(reader)
    os.waitpid(child, 0)
    return [f"namespaces: the kernel refuses new ones ({said})"] if said else []
