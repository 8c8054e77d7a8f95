"""What the node agent needs of an API server, and nothing more. `client.HttpApi` is the real one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from muster.local.node.objects import Object

PODS = "/api/v1/pods"
SERVICES = "/api/v1/services"
NODES = "/api/v1/nodes"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"

WATCH_SILENCE = 90.0
"""Seconds without a line, bookmarks included, after which a watch is taken for dead."""


class Api(Protocol):
    """Every method raises `muster.api.errors.ApiError`."""

    async def get(self, path: str) -> dict[str, Any]:
        """GET an object."""
        ...

    async def create(self, path: str, body: Object) -> dict[str, Any]:
        """POST an object; return it as created."""
        ...

    async def merge(self, path: str, patch: Object) -> dict[str, Any]:
        """PATCH as application/merge-patch+json."""
        ...

    async def delete(self, path: str, options: Object) -> None:
        """DELETE with DeleteOptions."""
        ...

    def watch(self, path: str, params: Mapping[str, str]) -> AbstractAsyncContextManager[AsyncIterator[dict[str, Any]]]:
        """The watch events of a list path, decoded. Raises Unreachable after `WATCH_SILENCE`."""
        ...


def pod_path(pod: Object, *rest: str) -> str:
    """`/api/v1/namespaces/<namespace>/pods/<name>[/…]`."""
    metadata = pod["metadata"]
    return "/".join((f"/api/v1/namespaces/{metadata.get('namespace') or 'default'}/pods/{metadata['name']}", *rest))
