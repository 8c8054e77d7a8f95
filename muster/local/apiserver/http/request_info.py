"""Request paths: the resource, namespace, name and subresource they refer to."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote

from muster.local.apiserver.errors import bad_request, unknown_path
from muster.local.apiserver.kinds.registry import Registry
from muster.local.apiserver.kinds.resources import Resource

_LONGEST_PATH = 2048
_NAMESPACE_SUBRESOURCES = ("status", "finalize")


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """What a path refers to. An empty `name` is the collection, an empty `namespace` all namespaces."""

    resource: Resource
    namespace: str
    name: str
    subresource: str


def segments(path: str) -> list[str]:
    """The decoded segments of a raw path; ApiError 400 if one contains a slash, is `..` or is not printable."""
    if len(path) > _LONGEST_PATH:
        raise bad_request(f"the path is longer than {_LONGEST_PATH} bytes")
    try:
        found = [unquote(part, errors="strict") for part in path.split("/") if part]
    except UnicodeDecodeError as failure:
        raise bad_request("the path is not UTF-8") from failure
    for part in found:
        if part in (".", "..") or "/" in part or "%" in part or not part.isprintable():
            raise bad_request(
                f"the path segment {part!r} is not a valid name; names may not be '.' or '..' or contain '/' or '%'"
            )
    return found


def parse(parts: list[str], registry: Registry) -> RequestInfo:
    """What a path below /api or /apis refers to; ApiError 404 if nothing is served there."""
    if parts[0] == "api":
        group, rest = "", parts[1:]
    else:
        group, rest = parts[1], parts[2:]
    if len(rest) < 2:
        raise unknown_path()
    version, rest = rest[0], rest[1:]
    namespace = ""
    inside = len(rest) > 2 and rest[0] == "namespaces" and not (len(rest) == 3 and rest[2] in _NAMESPACE_SUBRESOURCES)
    if inside:
        namespace, rest = rest[1], rest[2:]
    if len(rest) > 3:
        raise unknown_path()
    resource = registry.find(group, version, rest[0])
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 else ""
    if inside and not resource.namespaced:
        raise unknown_path()
    if name and resource.namespaced and not namespace:
        raise unknown_path()
    if subresource and subresource not in resource.subresources:
        raise unknown_path()
    return RequestInfo(resource, namespace, name, subresource)
