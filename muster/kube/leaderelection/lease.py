"""Reads and writes the Lease of the leader (coordination.k8s.io/v1).

Its times are wall times for people; no clock is compared with them. Every write names the resourceVersion of its
decision, so one of two daemons that take the same Lease gets a ``Conflict``. Foreign labels, annotations and fields are
kept.

Shape and meaning of the fields: Kubernetes API reference, "Lease v1"; their use for leader election: client-go,
tools/leaderelection/resourcelock/leaselock.go.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any

import msgspec

from muster.api.errors import NotFound
from muster.api.values.timestamps import micro_time
from muster.kube.resources import ask, custom
from muster.kube.transport import Transport
from muster.kube.unstructured import Json, mapping, text

API_VERSION = "coordination.k8s.io/v1"
KIND = "Lease"

ADDRESS = "muster.dev/leader-address"
"""The annotation with the addresses of the holder's page and progress endpoint, separated by a comma."""
RELEASED = 1
"""Seconds in a released Lease: the API requires a positive number (client-go writes the same)."""

_MOST_TRANSITIONS = 2**31 - 1
"""The largest number of transitions: the field is an int32."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A Lease as the API server keeps it. ``holder`` is empty for a free one, ``duration`` is in seconds."""

    uid: str
    version: str
    holder: str
    duration: float
    address: str
    """The addresses of its holder; empty if it has none."""
    document: Mapping[str, Any] = field(compare=False, repr=False)


class Leases:
    """The reader and writer of the Lease ``name`` in ``namespace``. ``wall`` gives seconds since 1970."""

    def __init__(
        self, transport: Transport, namespace: str, name: str, wall: Callable[[], float], address: str = ""
    ) -> None:
        """``address`` has those of the holder. Raises ``MusterError`` for an impossible name or namespace."""
        self._address = address
        self.namespace = namespace
        self.name = name
        self._transport = transport
        self._wall = wall
        self._path = custom(API_VERSION, namespace, "leases", name)

    async def read(self) -> Lease | None:
        """Return the Lease as it is now, None if there is none. Raises ``ApiError``."""
        try:
            return _lease(await ask(self._transport.request, "GET", self._path, Json))
        except NotFound:
            return None

    async def hold(self, seen: Lease | None, identity: str, duration: float) -> Lease:
        """Take or renew the Lease for that many seconds if it is unchanged since ``seen``. Return the kept Lease.

        Raises ``Conflict``, ``AlreadyExists`` or ``NotFound`` if it has changed, ``Unreachable`` if the outcome is
        unknown, and every other ``ApiError``.
        """
        now = micro_time(self._wall())
        spec = {"holderIdentity": identity, "leaseDurationSeconds": ceil(duration), "renewTime": now}
        if seen is None or seen.holder != identity:
            spec |= {"acquireTime": now, "leaseTransitions": _transitions(seen)}
        return await self._write(seen, spec)

    async def release(self, seen: Lease) -> Lease:
        """Release a Lease that this daemon holds, if it is unchanged since ``seen``. Raises as ``hold`` does."""
        now = micro_time(self._wall())
        return await self._write(seen, {"holderIdentity": "", "leaseDurationSeconds": RELEASED, "renewTime": now})

    async def _write(self, seen: Lease | None, spec: Mapping[str, Any]) -> Lease:
        if seen is None:
            method, path = "POST", self._path.rpartition("/")[0]
            metadata: Mapping[str, Any] = {"name": self.name, "namespace": self.namespace}
        else:
            method, path = "PUT", self._path
            metadata = mapping(seen.document.get("metadata"))
            spec = {**mapping(seen.document.get("spec")), **spec}
        if self._address or ADDRESS in mapping(metadata.get("annotations")):
            metadata = {**metadata, "annotations": {**mapping(metadata.get("annotations")), ADDRESS: self._address}}
        body = {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": spec}
        return _lease(await ask(self._transport.request, method, path, Json, body=msgspec.json.encode(body)))


def _lease(document: Json) -> Lease:
    metadata, spec = mapping(document.get("metadata")), mapping(document.get("spec"))
    metadata.pop("managedFields", None)  # kept by the server; a write without it does not change it
    return Lease(
        uid=str(metadata.get("uid") or ""),
        version=str(metadata.get("resourceVersion") or ""),
        holder=str(spec.get("holderIdentity") or ""),
        duration=float(_number(spec.get("leaseDurationSeconds"))),
        address=text(mapping(metadata.get("annotations")), ADDRESS),
        document=document,
    )


def _transitions(seen: Lease | None) -> int:
    """Return the number of changes of the holder, including this one."""
    return (
        min(_number(mapping(seen.document.get("spec")).get("leaseTransitions")) + 1, _MOST_TRANSITIONS) if seen else 0
    )


def _number(value: object) -> int:
    """Return a positive int32, or 0 for anything else."""
    return value if isinstance(value, int) and 0 < value < 2**31 else 0
