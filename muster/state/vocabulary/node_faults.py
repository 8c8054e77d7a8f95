"""Faults of a node that container runtime and kubelet report, read from the messages in the status of its pods.

A message of the runtime may quote text of the container's owner: its command, its directory. Runtimes put such text
between quotation marks, so quoted text is never read.
"""

import re
from typing import Final

LONGEST: Final = 4096
"""Characters of a message that are read."""
DRIVER_FAILED: Final = "DeviceDriverFailed"
"""Reason of a disruption: the container ended before its program began, because the driver of the node's accelerators
does not work. Muster names it; the kubelet's own is ``StartError``."""
START_ERROR: Final = "StartError"
"""containerd's reason of a container whose start failed (containerd: internal/cri/server/container_start.go)."""

_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)', re.DOTALL)
_DRIVER: Final = re.compile(
    r"nvidia-container-cli: [a-z ]{1,40}: "
    r"(?:nvml|driver|driver rpc|cuda) error: "
    r"(?:driver/library version mismatch|driver not loaded|gpu is lost|gpu requires reset|timed out"
    r"|failed to process request|rm has detected an nvml/rm version mismatch|unknown error)"
)
"""Faults of the driver (NVIDIA/libnvidia-container). Those that a tenant can cause are left out: a requirement that an
image has (``requirement error``), or a device that it asks for by name (``device error``)."""
_PRESSURE: Final = re.compile(r"\AThe node was low on resource: (ephemeral-storage|inodes|pids)\b")
"""kubernetes: pkg/kubelet/eviction/helpers.go, nodeLowMessageFmt."""
_DISK: Final = re.compile(r"/(?:var/lib|run)/[-\w./:@]{1,512}'?: no space left on device")
"""A directory of the node's own, such as that of the images; a program writes elsewhere."""


def driver_fault(message: str) -> str:
    """Return ``nvidia-container-cli: initialization error: nvml error: driver/library version mismatch``, or empty."""
    found = _DRIVER.search(_own(message))
    return found[0] if found else ""


def pressure(message: str) -> str:
    """Return the resource that the node was low on, if the kubelet evicted a pod because of that; else empty.

    Memory is left out: a pod that uses more than its request may be the reason.
    """
    found = _PRESSURE.match(message[:LONGEST])
    return found[1] if found else ""


def disk_is_full(message: str) -> bool:
    """Return True if the runtime could not write to the disk of the node."""
    return _DISK.search(_own(message)) is not None


def _own(message: str) -> str:
    """Return the runtime's own text, without what it quotes."""
    return _QUOTED.sub('""', message[:LONGEST])
