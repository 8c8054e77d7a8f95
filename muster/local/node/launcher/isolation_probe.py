"""Try whether an isolation works on this machine, in a process of its own that then ends."""

from __future__ import annotations

import os
import socket
import sys

from muster.local.node.launcher import network_interfaces, syscalls


def probe(isolation: str) -> int:
    """Try everything that a pod's init process does. If it is refused, print the reason and return 1."""
    network = isolation == "netns"
    try:
        if isolation == "mnt" and os.geteuid() != 0:
            syscalls.become_root_of_user_namespace()
        syscalls.unshare(syscalls.NEW_PID)
        child = os.fork()
        if child == 0:
            os._exit(_try_namespaces(network=network))
        _, status = os.waitpid(child, 0)
    except OSError as error:
        sys.stdout.write(f"{error}\n")
        return 1
    return os.waitstatus_to_exitcode(status)


def _try_namespaces(*, network: bool) -> int:
    try:
        syscalls.unshare(syscalls.POD_NAMESPACES | (syscalls.NEW_NET if network else 0))
        syscalls.mount("none", "/", flags=syscalls.MS_REC | syscalls.MS_PRIVATE)
        syscalls.mount("proc", "/proc", "proc", syscalls.NO_DEVICES)
        syscalls.mount("tmpfs", "/dev/shm", "tmpfs", syscalls.NO_DEVICES, "mode=1777")  # noqa: S108
        syscalls.bind("/etc/hosts", "/etc/hosts")
        socket.sethostname("muster-probe")
        if network:
            network_interfaces.loopback_up()
    except OSError as error:
        sys.stdout.write(f"{error}\n")
        sys.stdout.flush()
        return 1
    return 0
