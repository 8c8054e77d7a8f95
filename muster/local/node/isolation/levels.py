"""The isolation of pods, and which level this machine permits.

From best to worst:

* `netns`: each pod has a network namespace on a bridge, an address, /etc/hosts, resolv.conf and hostname of its own,
  and mount and pid namespaces. Needs root (CAP_NET_ADMIN and CAP_SYS_ADMIN) and pyroute2.
* `mnt`: the same without the network namespace; each pod has a loopback address of its own. Without root it needs
  unprivileged user namespaces.
* `rewrite`: no namespaces; the names of other pods in env, command and args are replaced by their addresses.
"""

import enum
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

LAUNCHER = Path(__file__).parents[1] / "launcher" / "__main__.py"
PROBE_SECONDS = 10.0


class Isolation(enum.StrEnum):
    """Levels of separation of pods, best first: network namespaces, mount namespaces, rewritten names."""

    NETNS = "netns"
    MNT = "mnt"
    REWRITE = "rewrite"

    @property
    def namespaces(self) -> bool:
        """Return True if pods have mount, pid and uts namespaces."""
        return self in {Isolation.NETNS, Isolation.MNT}


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen isolation, and why each better one is not possible."""

    isolation: Isolation
    refused: Mapping[Isolation, str]

    def __str__(self) -> str:
        why = "; ".join(f"no {better}: {reason}" for better, reason in self.refused.items())
        return f"{self.isolation}{f' ({why})' if why else ''}"


def refusal(isolation: Isolation) -> str | None:
    """Return why this machine does not permit an isolation; None if it does. Takes tens of milliseconds."""
    match isolation:
        case Isolation.NETNS:
            return _refuses_bridge() or _refuses_namespaces(isolation)
        case Isolation.MNT:
            return _refuses_namespaces(isolation)
        case Isolation.REWRITE:
            return None


def choose_isolation(try_out: Callable[[Isolation], str | None] = refusal) -> Choice:
    """Return the best isolation that works here. It blocks while it tries them; call it from a thread."""
    refused: dict[Isolation, str] = {}
    for isolation in Isolation:
        reason = try_out(isolation)
        if reason is None:
            return Choice(isolation, refused)
        refused[isolation] = reason
    return Choice(Isolation.REWRITE, refused)


def _refuses_namespaces(isolation: Isolation) -> str | None:
    command = [sys.executable, "-I", "-S", str(LAUNCHER), "--probe", isolation.value]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PROBE_SECONDS, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return None
    return done.stdout.strip() or (done.stderr.strip().splitlines() or ["the probe died"])[-1]


def _refuses_bridge() -> str | None:
    if os.geteuid() != 0:
        return "a bridge and veth pairs need root"
    try:
        from pyroute2 import IPRoute
        from pyroute2.netlink.exceptions import NetlinkError
    except ImportError:
        return "the Python package pyroute2 is not installed (pip install 'musterd[local]')"
    name = f"mp{os.getpid()}"
    try:
        with IPRoute() as route:
            route.link("add", ifname=name, kind="bridge")
            route.link("del", index=route.link_lookup(ifname=name)[0])
    except (NetlinkError, OSError) as error:
        return f"cannot create a bridge: {error}"
    return None
