"""The hosts files of all pods, updated when pods and Services are created, deleted or become ready.

Files are written in place: a bind mount refers to the inode, so a new file would not be visible in the pod. Changes
within GATHER_SECONDS (a gang that starts) are written once.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from muster.local.node.network import hosts_entries
from muster.local.node.network.hosts_entries import PodNames
from muster.local.node.objects import Object

GATHER_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class _Kept:
    pod: PodNames
    path: Path
    aliases: tuple[Object, ...]


class HostsFiles:
    """All hosts files of the node. ``machine`` is its own address for pods: probes of the daemon come from there."""

    def __init__(self, services: Mapping[str, Object], machine: str) -> None:
        self._services = services
        self._machine = machine
        self._kept: dict[str, _Kept] = {}
        self._written: dict[str, str] = {}
        self._last: dict[str, list[str]] = {}
        self._changed = asyncio.Event()

    def add(self, pod: PodNames, path: Path, aliases: Iterable[Object] = ()) -> None:
        """Add a pod with its address. Its own file is complete when this returns; the others are updated soon after."""
        self._kept[pod.uid] = kept = _Kept(pod, path, tuple(aliases))
        self._write(kept, self._shared(pod.namespace))
        self._changed.set()

    def update(self, pod: PodNames) -> None:
        """Update a pod whose readiness or labels may have changed."""
        kept = self._kept.get(pod.uid)
        if kept is not None and kept.pod != pod:
            self._kept[pod.uid] = _Kept(pod, kept.path, kept.aliases)
            self._changed.set()

    def remove(self, uid: str) -> None:
        """Remove a pod that has ended."""
        if self._kept.pop(uid, None) is not None:
            self._written.pop(uid, None)
            self._changed.set()

    def services_changed(self) -> None:
        """Schedule an update, because a Service has changed."""
        self._changed.set()

    def address_of(self, namespace: str, short: str) -> str | None:
        """The address of the pod with the name `<hostname>.<subdomain>` in a namespace."""
        for kept in self._kept.values():
            if kept.pod.namespace == namespace and short in kept.pod.names:
                return kept.pod.address
        return None

    async def run(self) -> None:
        """Update the files until cancelled."""
        while True:
            await self._changed.wait()
            await asyncio.sleep(GATHER_SECONDS)
            self._changed.clear()
            self._rewrite()

    def _rewrite(self) -> None:
        """Write the files of each namespace whose entries have changed."""
        present = {kept.pod.namespace for kept in self._kept.values()}
        shared = {namespace: self._shared(namespace) for namespace in present}
        for kept in self._kept.values():
            namespace = kept.pod.namespace
            if self._last.get(namespace) != shared[namespace]:
                self._write(kept, shared[namespace])
        self._last = shared

    def _shared(self, namespace: str) -> list[str]:
        return hosts_entries.lines(namespace, [kept.pod for kept in self._kept.values()], self._services.values())

    def _write(self, kept: _Kept, shared: list[str]) -> None:
        text = hosts_entries.render(kept.pod, shared, kept.aliases, self._machine)
        if self._written.get(kept.pod.uid) == text:
            return
        self._written[kept.pod.uid] = text
        data = text.encode()
        descriptor = os.open(kept.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.pwrite(descriptor, data, 0)
            os.ftruncate(descriptor, len(data))
        finally:
            os.close(descriptor)
