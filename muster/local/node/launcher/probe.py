"""Whether an isolation works here: tried for real, in a process of its own that is gone afterwards."""

from __future__ import annotations

import os
import socket
import sys

from muster.local.node.launcher import interfaces, kernel


def probe(isolation: str) -> int:
    """Try everything a pod's init would do. Prints the reason and returns 1 when something is refused."""
    network = isolation == "netns"
    try:
        if isolation == "mnt" and os.geteuid() != 0:
            kernel.become_root_of_user_namespace()
        kernel.unshare(kernel.NEW_PID)
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
        kernel.unshare(kernel.NEW_NS | kernel.NEW_UTS | kernel.NEW_IPC | (kernel.NEW_NET if network else 0))
        kernel.mount("none", "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
        kernel.mount("proc", "/proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV)
        kernel.mount("tmpfs", "/dev/shm", "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=1777")  # noqa: S108
        kernel.bind("/etc/hosts", "/etc/hosts")
        socket.sethostname("muster-probe")
        if network:
            interfaces.loopback_up()
    except OSError as error:
        sys.stdout.write(f"{error}\n")
        sys.stdout.flush()
        return 1
    return 0
