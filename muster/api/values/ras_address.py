"""Reads the port at which a pod template lets NCCL's RAS be asked from outside the pod."""

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any, Final

VARIABLE: Final = "NCCL_RAS_ADDR"
"""Variable with RAS's address (NVIDIA/nccl: src/ras/client_support.cc, rasClientInitSocket), else localhost:28028."""


def ras_port(template: Mapping[str, Any]) -> int:
    """Return the port that a core/v1 PodTemplateSpec names in ``NCCL_RAS_ADDR``; 0 where its pods are not to be asked.

    On the network of its node a pod is not asked: pods of several gangs may listen at one port there, and the kernel
    chooses the one that answers.
    """
    spec = template.get("spec")
    if not isinstance(spec, Mapping) or spec.get("hostNetwork"):
        return 0
    for container in _rows(spec.get("containers")):
        for row in _rows(container.get("env")):
            if row.get("name") == VARIABLE and (port := _port(row.get("value"))):
                return port
    return 0


def _port(value: object) -> int:
    """Return the port of ``0.0.0.0:28028``, ``[::]:28028`` or ``$(POD_IP):28028``; 0 for the pod's own loopback."""
    host, _, digits = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    port = int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 5 else 0
    return port if 0 < port < 65_536 and host and not _loopback(host) else 0


def _loopback(host: str) -> bool:
    try:
        return ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return host == "localhost"


def _rows(found: object) -> list[Mapping[str, Any]]:
    return [row for row in found if isinstance(row, Mapping)] if isinstance(found, list | tuple) else []
