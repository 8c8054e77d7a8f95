"""`NodeContext` and `PodContext`: what pods and containers use of their node, and containers of their pod."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog

from muster.kube.resources import ResourceClient
from muster.local.node.isolation.cgroups import Cgroups
from muster.local.node.isolation.levels import Isolation
from muster.local.node.isolation.sandbox import Launcher, Sandbox
from muster.local.node.logs import LogStore
from muster.local.node.network.hosts_files import HostsFiles
from muster.local.node.network.pod_network import PodNetwork
from muster.local.node.objects import Clock
from muster.local.node.sources.environment import ConfigSources, PodPlacement

LOG = structlog.get_logger("muster.local.node")


@dataclass(slots=True)
class NodeContext:
    """One per agent.

    `back_off` is the first CrashLoopBackOff delay, `retry` the delay after a failed pod set-up, in seconds. `workspace`
    is the working directory of containers that set none. `callers` has the environments of callers of `muster run`
    (`muster.local.home`). `api_port` is where pods reach an API server that knows service accounts, at the address
    that this machine has for pods. `entrypoints` are those of images, by repository.
    """

    api: ResourceClient
    name: str
    isolation: Isolation
    launcher: Launcher
    network: PodNetwork
    hosts: HostsFiles
    logs: LogStore
    sources: ConfigSources
    cgroups: Cgroups
    clock: Clock
    python_directory: str
    back_off: float
    callers: Path
    workspace: Path | None = None
    api_port: int | None = None
    entrypoints: Mapping[str, Sequence[str]] = field(default_factory=dict)
    retry: float = 2.0
    draining: bool = False


@dataclass(slots=True)
class PodContext:
    """One per pod; its containers share it."""

    node: NodeContext
    placement: PodPlacement
    folder: Path
    changed: Callable[[], None]
    sandbox: Sandbox | None = None
    volumes: dict[str, dict[str, Any]] = field(default_factory=dict)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def home(self) -> Path:
        """Return the pod's directory."""
        return self.folder / "home"

    @property
    def hosts_file(self) -> Path:
        """Return the file that the pod sees as /etc/hosts."""
        return self.folder / "etc" / "hosts"

    async def pause(self, seconds: float) -> bool:
        """Wait for some seconds, or until the pod stops; True if it stops."""
        if seconds > 0:
            try:
                await asyncio.wait_for(self.stopping.wait(), seconds)
            except TimeoutError:
                return False
        return self.stopping.is_set()
