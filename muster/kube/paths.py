"""Paths of objects on an API server (Kubernetes documentation: "Kubernetes API Concepts", Resource URIs).

The transport quotes a path. A name here is one segment of it and cannot reach another object.
"""

from muster.api.errors import MusterError


def core(namespace: str | None, resource: str, name: str | None = None) -> str:
    """Return a collection of core/v1, or the object ``name`` in it; the collection of all namespaces with None.

    Raises ``MusterError`` for a name that no object can have.
    """
    return f"/api/v1{_place(namespace, resource, name)}"


def custom(api_version: str, namespace: str | None, resource: str, name: str | None = None) -> str:
    """Return a collection or object of any other API group; ``api_version`` is ``<group>/<version>``."""
    return f"/apis/{api_version}{_place(namespace, resource, name)}"


def _place(namespace: str | None, resource: str, name: str | None) -> str:
    place = f"/{resource}" if namespace is None else f"/namespaces/{_segment(namespace)}/{resource}"
    return place if name is None else f"{place}/{_segment(name)}"


def _segment(name: str) -> str:
    if name in {"", ".", ".."} or "/" in name:
        raise MusterError(f"{name!r} cannot be the name of a Kubernetes object; use letters, digits and dashes")
    return name
