"""Entries of hosts files, which take the place of a cluster DNS.

A pod with hostname and subdomain has the names that a headless Service gives it. A Service with a selector has its name
on the addresses of its ready pods (of all its pods if it publishes not-ready addresses). There is no proxy: the port of
a Service is its target port. A pod's own entry comes first, because Gloo resolves the pod's own hostname.

Every address has a name, also in the form of IPv6 in which a socket for both kinds shows it (``::ffff:10.0.0.2``):
PyTorch's store asks for the name of whoever connects to it, and warns where there is none. The C library takes the two
forms for two addresses. A name of the second form is of that address alone, so that no other name has two addresses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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
        """Its names, fully qualified first. A pod without a subdomain has no name that other pods can use."""
        if not self.subdomain:
            return []
        return qualified(f"{self.hostname}.{self.subdomain}", self.namespace)


def names_of(pod: Object, address: str) -> PodNames:
    """The names of a pod at this address."""
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
    """A name in a namespace, in all forms that the DNS search path of a pod finds."""
    return [f"{name}.{namespace}.{DOMAIN}", f"{name}.{namespace}.svc", f"{name}.{namespace}", name]


def lines(namespace: str, pods: Iterable[PodNames], services: Iterable[Object]) -> list[str]:
    """The entries that all pods of a namespace share. Pods of other namespaces have no short names.

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
    """The entry of an IPv4 address in the form of IPv6."""
    return f"::ffff:{address} {_dashed(address)}.ipv4.{CLUSTER}"


def _dashed(address: str) -> str:
    return address.replace(".", "-")


def addresses(service: Object, pods: Iterable[PodNames]) -> list[str]:
    """The addresses of a Service."""
    spec = objects.spec(service)
    selector = {(str(name), str(value)) for name, value in (spec.get("selector") or {}).items()}
    if not selector:
        return []
    unready = bool(spec.get("publishNotReadyAddresses"))
    mine = [pod for pod in pods if pod.namespace == objects.namespace(service) and selector <= pod.labels]
    return [pod.address for pod in mine if pod.ready or unready]


def render(own: PodNames, shared: Sequence[str], aliases: Iterable[Object] = (), machine: str = LOOPBACK) -> str:
    """The hosts file of a pod. `aliases` are its hostAliases."""
    head = [
        f"{own.address} {' '.join([*own.names, own.hostname])}",
        f"{LOOPBACK} localhost",
        "::1 localhost ip6-localhost ip6-loopback",
        *([f"{machine} {MACHINE}"] if machine != LOOPBACK else []),
    ]
    extra = [f"{each.get('ip')} {' '.join(map(str, each.get('hostnames') or ()))}" for each in aliases]
    forms = [mapped(address) for address in dict.fromkeys((own.address, LOOPBACK, machine))]
    return "\n".join([*head, *extra, *shared, *forms]) + "\n"
