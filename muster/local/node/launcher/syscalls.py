"""The few system calls that Python 3.11 has no name for, and network interfaces by ioctls (netdevice(7)).

The constants are those of linux/sched.h, sys/mount.h and sys/prctl.h. The launcher has no netlink library.
"""

import ctypes
import fcntl
import os
import signal
import socket
import struct
from pathlib import Path

NEW_NS = 0x00020000
NEW_UTS = 0x04000000
NEW_IPC = 0x08000000
NEW_USER = 0x10000000
NEW_PID = 0x20000000
NEW_NET = 0x40000000
POD_NAMESPACES = NEW_NS | NEW_UTS | NEW_IPC
"""The namespaces that a pod's init process enters. The launcher creates the pid namespace, before the fork."""

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
NO_DEVICES = MS_NOSUID | MS_NODEV

PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15
PR_SET_CHILD_SUBREAPER = 36

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mount.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p]
_libc.unshare.argtypes = [ctypes.c_int]
_libc.setns.argtypes = [ctypes.c_int, ctypes.c_int]
_libc.prctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong]


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    """Move this process into new namespaces (man 2 unshare). Raises OSError."""
    _check(_libc.unshare(flags), f"unshare({flags:#x})")


def setns(descriptor: int, kind: int) -> None:
    """Join the namespace behind a descriptor (man 2 setns). Raises OSError."""
    _check(_libc.setns(descriptor, kind), "setns")


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """Mount a file system (man 2 mount). Raises OSError."""
    result = _libc.mount(
        os.fsencode(source), os.fsencode(target), kind.encode() or None, flags, data.encode() if data else None
    )
    _check(result, f"mount {source} on {target}")


def bind(source: str, target: str, *, read_only: bool = False) -> None:
    """Bind-mount `source` at `target`, with all mounts below it."""
    mount(source, target, flags=MS_BIND | MS_REC)
    if read_only:
        mount("none", target, flags=MS_BIND | MS_REMOUNT | MS_RDONLY)


def die_with_parent(parent: int, number: int = signal.SIGKILL) -> None:
    """Have the kernel send a signal to this process when its parent ends; exit at once if it has already ended.

    `parent` is the parent's pid as this process sees it: 0 in a new pid namespace.
    """
    _check(_libc.prctl(PR_SET_PDEATHSIG, number, 0, 0, 0), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:
        os._exit(1)


def adopt_orphans() -> None:
    """Make this process adopt orphaned descendants (child subreaper)."""
    _check(_libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl(PR_SET_CHILD_SUBREAPER)")


def set_name(name: str) -> None:
    """Set the name that `ps` shows; at most 15 bytes."""
    text = ctypes.create_string_buffer(name.encode()[:15])
    _check(_libc.prctl(PR_SET_NAME, ctypes.addressof(text), 0, 0, 0), "prctl(PR_SET_NAME)")


def become_root_of_user_namespace() -> None:
    """Enter a user namespace as its root: creating mount, pid and uts namespaces then needs no privilege."""
    uid, gid = os.geteuid(), os.getegid()
    unshare(NEW_USER)
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"0 {uid} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"0 {gid} 1", encoding="ascii")


SIOCADDRT = 0x890B
SIOCGIFFLAGS = 0x8913
SIOCSIFFLAGS = 0x8914
SIOCSIFADDR = 0x8916
SIOCSIFNETMASK = 0x891C
IFF_UP = 1
RTF_UP = 1
RTF_GATEWAY = 2


def _address(text: str) -> bytes:
    return struct.pack("=HH4s8x", socket.AF_INET, 0, socket.inet_aton(text))


def _netmask(prefix: int) -> str:
    return socket.inet_ntoa(struct.pack(">I", (0xFFFFFFFF << (32 - prefix)) & 0xFFFFFFFF))


def _up(sock: socket.socket, name: bytes) -> None:
    (flags,) = struct.unpack_from("=H", fcntl.ioctl(sock, SIOCGIFFLAGS, struct.pack("=16sH22x", name, 0)), 16)
    fcntl.ioctl(sock, SIOCSIFFLAGS, struct.pack("=16sH22x", name, flags | IFF_UP))


def loopback_up() -> None:
    """Bring up lo."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        _up(sock, b"lo")


def ethernet_up(address: str, prefix: int, gateway: str) -> None:
    """Set the address of eth0 and a default route to the bridge."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, SIOCSIFADDR, struct.pack("=16s16s8x", b"eth0", _address(address)))
        fcntl.ioctl(sock, SIOCSIFNETMASK, struct.pack("=16s16s8x", b"eth0", _address(_netmask(prefix))))
        _up(sock, b"eth0")
        # struct rtentry of linux/route.h on 64-bit machines: padding, three addresses, flags, and fields left zero.
        anywhere = _address("0.0.0.0")  # noqa: S104 - the default route, not a listening address
        route = struct.pack("=8x16s16s16sH62x", anywhere, _address(gateway), anywhere, RTF_UP | RTF_GATEWAY)
        fcntl.ioctl(sock, SIOCADDRT, route)
