"""Objects as dictionaries on an API server: their paths, and the verbs of the Kubernetes API over a ``Transport``.

Paths are those of the Kubernetes documentation ("Kubernetes API Concepts", Resource URIs). The transport quotes a path.
A name here is one segment of it and cannot reach another object.

The verbs are for SDK and node agent; the daemon renders and reads its few hot objects itself. Of an answer only the
fields of ``Object`` are read, and all others skipped without being built: decoding a whole pod costs many times its
create.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Concatenate, ParamSpec, TypeVar

import msgspec

from muster.api.errors import ApiError, MusterError
from muster.kube.listwatch.decoder import Unstructured, unstructured
from muster.kube.listwatch.sink_feed import list_all
from muster.kube.transport import Answer, Transport
from muster.kube.unstructured import Json


def core(namespace: str | None, resource: str, name: str | None = None) -> str:
    """Return the path of a core/v1 collection, or of the object ``name`` in it; None means all namespaces.

    Raises ``MusterError`` for a name that no object can have.
    """
    return f"/api/v1{_place(namespace, resource, name)}"


def custom(api_version: str, namespace: str | None, resource: str, name: str | None = None) -> str:
    """Return the same path for any other API group; ``api_version`` is ``<group>/<version>``."""
    return f"/apis/{api_version}{_place(namespace, resource, name)}"


def _place(namespace: str | None, resource: str, name: str | None) -> str:
    place = f"/{resource}" if namespace is None else f"/namespaces/{_segment(namespace)}/{resource}"
    return place if name is None else f"{place}/{_segment(name)}"


def _segment(name: str) -> str:
    if name in {"", ".", ".."} or "/" in name:
        raise MusterError(f"{name!r} cannot be the name of a Kubernetes object; use letters, digits and dashes")
    return name


T = TypeVar("T")
P = ParamSpec("P")
Send = Callable[Concatenate[str, str, P], Awaitable[Answer]]


class OwnerReference(msgspec.Struct, frozen=True, gc=False):
    """metav1 OwnerReference."""

    uid: str
    name: str = ""
    kind: str = ""
    api_version: str = msgspec.field(name="apiVersion", default="")
    controller: bool = False


class Metadata(msgspec.Struct, frozen=True, gc=False):
    """metav1 ObjectMeta."""

    name: str = ""
    uid: str = ""
    resource_version: str = msgspec.field(name="resourceVersion", default="")
    deletion_timestamp: str | None = msgspec.field(name="deletionTimestamp", default=None)
    owners: tuple[OwnerReference, ...] | None = msgspec.field(name="ownerReferences", default=None)
    labels: dict[str, str] | None = None
    generation: int = 0

    @property
    def version(self) -> int:
        """The resourceVersion as a number, 0 if there is none. Numbers compare (Kubernetes KEP-5504)."""
        text = self.resource_version
        return int(text) if text.isascii() and text.isdigit() and len(text) <= 20 else 0

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that manages the object, if it has one."""
        return next((owner for owner in self.owners or () if owner.controller), None)


class Object(msgspec.Struct, frozen=True, gc=False):
    """Any object, reduced to its metadata (also a Status, which has none)."""

    metadata: Metadata = Metadata()


def read(answer: Answer, kind: type[T], request: str) -> T:
    """Decode an answer. Raises ``ApiError``, which names ``request``, for one without the form of the API."""
    try:
        return msgspec.json.decode(answer.body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ApiError(
            f"the API server's answer cannot be read: {error}",
            status=answer.status,
            reason="Unreadable",
            request=request,
        ) from error


async def ask(send: Send[P], method: str, path: str, kind: type[T], *rest: P.args, **options: P.kwargs) -> T:
    """Send a request by ``Transport.request``, and decode its answer. Raises ``ApiError``, as both do."""
    return read(await send(method, path, *rest, **options), kind, f"{method} {path}")


PAGE = 500
"""Objects in one page of a list."""

MERGE_PATCH = "application/merge-patch+json"


class ResourceClient:
    """The client: every method takes a path (see ``core`` and ``custom``) and raises ``ApiError``.

    At most ``concurrency`` requests are in progress at once: each takes a connection of its own.
    """

    def __init__(self, transport: Transport, *, concurrency: int = 64) -> None:
        self.transport = transport
        self._limit = asyncio.Semaphore(concurrency)

    async def get(self, path: str) -> Json:
        """Return one object, or the first page of a collection."""
        return await self._request("GET", path)

    async def list(self, path: str, params: Mapping[str, str] | None = None) -> list[Unstructured]:
        """Return all objects of a collection, page by page. Objects without a uid are left out."""
        async with self._limit:
            found = await list_all(
                self.transport, path, params or {}, unstructured(path.rpartition("/")[2]), page_size=PAGE
            )
        return list(found.objects.values())

    async def create(self, path: str, body: Mapping[str, Any]) -> Json:
        """POST to a collection or a subresource. Return the object as the server keeps it."""
        return await self._request("POST", path, body)

    async def merge(self, path: str, patch: Mapping[str, Any]) -> Json:
        """PATCH as a merge patch. Return the object as the server keeps it."""
        return await self._request("PATCH", path, patch, MERGE_PATCH)

    async def delete(self, path: str, options: Mapping[str, Any] | None = None) -> Json:
        """DELETE with ``options`` (metav1.DeleteOptions). Return the object's last state, or a Status."""
        return await self._request("DELETE", path, options)

    async def _request(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, content_type: str = "application/json"
    ) -> Json:
        data = None if body is None else msgspec.json.encode(body)
        async with self._limit:
            return await ask(self.transport.request, method, path, Json, body=data, content_type=content_type)
