"""The hosts files of all pods, which take the place of a cluster DNS: their entries, and when they are written.

A pod with hostname and subdomain has the names that a headless Service gives it. A Service with a selector has its name
on the addresses of its ready pods (of all its pods if it publishes not-ready addresses). No proxy exists: the port of a
Service is its target port. A pod's own entry comes first, because Gloo resolves the pod's own hostname.

Every address has a name, also in the form of IPv6 in which a socket for both kinds shows it (``::ffff:10.0.0.2``):
PyTorch's store asks for the name of each client, and warns if it finds none. The C library takes the two forms for
two addresses. A name of the second form is of that address alone, so that no other name has two addresses.

Files are written in place: a bind mount refers to the inode, so a new file would not be visible in the pod. Changes
within GATHER_SECONDS (a gang that starts) are written once.
"""

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from muster.local.node import objects
from muster.local.node.objects import Object

CLUSTER = "cluster.local"
DOMAIN = f"svc.{CLUSTER}"
LOOPBACK = "127.0.0.1"
MACHINE = "machine.cluster.local"
"""The name of the machine in its pods."""


@dataclass(frozen=True, slots=True)
class PodNames:
    """The address of a pod, and what its names depend on."""

    uid: str
    namespace: str
    hostname: str
    subdomain: str
    address: str
    labels: frozenset[tuple[str, str]]
    ready: bool

    @property
    def names(self) -> list[str]:
        """Return its names, fully qualified first. A pod without a subdomain has no name that other pods can use."""
        if not self.subdomain:
            return []
        return qualified(f"{self.hostname}.{self.subdomain}", self.namespace)


def names_of(pod: Object, address: str) -> PodNames:
    """Return the names of a pod at this address."""
    return PodNames(
        uid=objects.uid(pod),
        namespace=objects.namespace(pod),
        hostname=objects.hostname(pod),
        subdomain=str(objects.spec(pod).get("subdomain") or ""),
        address=address,
        labels=frozenset((str(name), str(value)) for name, value in objects.labels(pod).items()),
        ready=objects.ready(pod),
    )


def qualified(name: str, namespace: str) -> list[str]:
    """Return a name in a namespace, in all forms that the DNS search path of a pod finds."""
    return [f"{name}.{namespace}.{DOMAIN}", f"{name}.{namespace}.svc", f"{name}.{namespace}", name]


def lines(namespace: str, pods: Iterable[PodNames], services: Iterable[Object]) -> list[str]:
    """Return the entries that all pods of a namespace share. Pods of other namespaces have no short names.

    A pod without a subdomain has the name that Kubernetes gives an address (``10-0-0-2.default.pod.cluster.local``).
    """
    present = sorted(pods, key=lambda pod: (pod.namespace, pod.hostname, pod.address))
    made: list[str] = []
    for pod in present:
        names = pod.names if pod.namespace == namespace else pod.names[:-1]
        names = names or [f"{_dashed(pod.address)}.{pod.namespace}.pod.{CLUSTER}"]
        made.append(f"{pod.address} {' '.join(names)}")
    for service in services:
        for address in addresses(service, present):
            names = qualified(objects.name(service), objects.namespace(service))
            made.append(f"{address} {' '.join(names if objects.namespace(service) == namespace else names[:-1])}")
    return made + [mapped(pod.address) for pod in present]


def mapped(address: str) -> str:
    """Return the entry of an IPv4 address in the form of IPv6."""
    return f"::ffff:{address} {_dashed(address)}.ipv4.{CLUSTER}"


def _dashed(address: str) -> str:
    return address.replace(".", "-")


def addresses(service: Object, pods: Iterable[PodNames]) -> list[str]:
    """Return the addresses of a Service."""
    spec = objects.spec(service)
    selector = {(str(name), str(value)) for name, value in (spec.get("selector") or {}).items()}
    if not selector:
        return []
    unready = bool(spec.get("publishNotReadyAddresses"))
    mine = [pod for pod in pods if pod.namespace == objects.namespace(service) and selector <= pod.labels]
    return [pod.address for pod in mine if pod.ready or unready]


def render(own: PodNames, shared: Sequence[str], aliases: Iterable[Object] = (), machine: str = LOOPBACK) -> str:
    """Return the hosts file of a pod. `aliases` are its hostAliases."""
    head = [
        f"{own.address} {' '.join([*own.names, own.hostname])}",
        f"{LOOPBACK} localhost",
        "::1 localhost ip6-localhost ip6-loopback",
        *([f"{machine} {MACHINE}"] if machine != LOOPBACK else []),
    ]
    extra = [f"{each.get('ip')} {' '.join(map(str, each.get('hostnames') or ()))}" for each in aliases]
    forms = [mapped(address) for address in dict.fromkeys((own.address, LOOPBACK, machine))]
    return "\n".join([*head, *extra, *shared, *forms]) + "\n"


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
        """Return the address of the pod with the name `<hostname>.<subdomain>` in a namespace."""
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
        """Write the files whose entries have changed."""
        shared = {each: self._shared(each) for each in {kept.pod.namespace for kept in self._kept.values()}}
        for kept in self._kept.values():
            self._write(kept, shared[kept.pod.namespace])

    def _shared(self, namespace: str) -> list[str]:
        return lines(namespace, [kept.pod for kept in self._kept.values()], self._services.values())

    def _write(self, kept: _Kept, shared: list[str]) -> None:
        text = render(kept.pod, shared, kept.aliases, self._machine)
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
