"""The verbs of the Kubernetes API on objects as dictionaries, over a ``Transport``.

For SDK and node agent; the daemon renders and reads its few hot objects itself.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from muster.kube.listwatch.decoder import Unstructured, unstructured
from muster.kube.listwatch.listing import list_all
from muster.kube.metadata import read
from muster.kube.transport import Transport
from muster.kube.unstructured import Json

PAGE = 500
"""Objects in one answer of a list."""

MERGE_PATCH = "application/merge-patch+json"


class ResourceClient:
    """Every method takes a path (see ``paths``) and raises ``ApiError``.

    At most ``concurrency`` requests are under way at once: each takes a connection of its own.
    """

    def __init__(self, transport: Transport, *, concurrency: int = 64) -> None:
        self.transport = transport
        self._limit = asyncio.Semaphore(concurrency)

    async def get(self, path: str) -> Json:
        """Return one object, or the first page of a collection."""
        return await self._request("GET", path)

    async def list(self, path: str, params: Mapping[str, str] | None = None) -> list[Unstructured]:
        """Return all objects of a collection, read page by page. Objects without a uid are left out."""
        async with self._limit:
            found = await list_all(
                self.transport, path, params or {}, unstructured(path.rpartition("/")[2]), page_size=PAGE
            )
        return list(found.objects.values())

    async def create(self, path: str, body: Mapping[str, Any]) -> Json:
        """POST to a collection or a subresource; the object as the server keeps it."""
        return await self._request("POST", path, body)

    async def merge(self, path: str, patch: Mapping[str, Any]) -> Json:
        """PATCH as a merge patch; the object as the server keeps it."""
        return await self._request("PATCH", path, patch, MERGE_PATCH)

    async def delete(self, path: str, options: Mapping[str, Any] | None = None) -> Json:
        """DELETE with ``options`` (metav1.DeleteOptions); the object's last state, or a Status."""
        return await self._request("DELETE", path, options)

    async def _request(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, content_type: str = "application/json"
    ) -> Json:
        data = None if body is None else msgspec.json.encode(body)
        async with self._limit:
            answer = await self.transport.request(method, path, body=data, content_type=content_type)
        return read(answer, Json, f"{method} {path}")
