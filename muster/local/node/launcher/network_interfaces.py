"""Network interfaces inside a pod's namespace, set with ioctls (netdevice(7)): the launcher has no netlink library."""

from __future__ import annotations

import fcntl
import socket
import struct

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
