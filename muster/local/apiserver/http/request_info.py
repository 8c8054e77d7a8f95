"""Parses the target of a request: the resource, namespace, name and subresource of its path, and its query parameters.

Parameters are parsed as kube-apiserver does (booleans as by Go's strconv.ParseBool).
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import msgspec

from muster.local.apiserver.errors import bad_request, unknown_path
from muster.local.apiserver.kinds.resources import Registry, Resource
from muster.local.apiserver.objects.options import DeleteOptions, WriteOptions

_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))


class _Preconditions(msgspec.Struct, frozen=True, rename="camel"):
    uid: str = ""
    resource_version: str = ""


class _DeleteBody(msgspec.Struct, frozen=True, rename="camel"):
    grace_period_seconds: int | None = None
    propagation_policy: str = ""
    preconditions: _Preconditions = _Preconditions()
    dry_run: list[str] = []


@dataclass(frozen=True, slots=True)
class Query:
    """Typed access to the parameters of one request. ApiError 400 for an invalid number or body."""

    values: Mapping[str, str]

    def text(self, name: str) -> str:
        """Return the parameter as sent; empty if it is missing."""
        return self.values.get(name, "")

    def flag(self, name: str) -> bool:
        """Return a boolean; false if it is missing, or not a way to write true."""
        return self.text(name) in _TRUE

    def number(self, name: str) -> int | None:
        """Return a non-negative integer; None if it is missing."""
        value = self.text(name)
        if not value:
            return None
        if not value.isascii() or not value.isdigit() or len(value) > 18:
            raise bad_request(f'{name}: Invalid value: "{value}": must be a non-negative integer')
        return int(value)

    def write(self, subresource: str = "") -> WriteOptions:
        """Return the options of a create, update or patch."""
        return WriteOptions(self.text("dryRun") == "All", self.text("fieldValidation") or "Warn", subresource)

    def delete(self, body: Any) -> DeleteOptions:
        """Return the options of a delete, from its body and its parameters."""
        try:
            given = msgspec.convert({} if body is None else body, _DeleteBody)
        except msgspec.ValidationError as failure:
            raise bad_request(f"the body of a delete must be DeleteOptions: {failure}") from failure
        grace = given.grace_period_seconds
        return DeleteOptions(
            self.number("gracePeriodSeconds") if grace is None else grace,
            given.propagation_policy or self.text("propagationPolicy"),
            given.preconditions.uid,
            given.preconditions.resource_version,
            self.text("dryRun") == "All" or given.dry_run == ["All"],
        )


def continue_token(version: int, namespace: str, name: str) -> str:
    """Return the token of the next page: it starts after this object and has the resourceVersion of the first page."""
    return base64.urlsafe_b64encode(msgspec.json.encode([version, namespace, name])).decode().rstrip("=")


def read_continue(token: str) -> tuple[int, str, str]:
    """Return version, namespace and name from a continue token; ApiError 400 if it is invalid."""
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        version, namespace, name = msgspec.json.decode(raw, type=tuple[int, str, str])
    except (binascii.Error, ValueError, msgspec.DecodeError) as failure:
        raise bad_request(f"continue key is not valid: {failure}") from failure
    return version, namespace, name


_LONGEST_PATH = 2048


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """Target of a path. An empty `name` is the collection, an empty `namespace` all namespaces."""

    resource: Resource
    namespace: str
    name: str
    subresource: str


def segments(path: str) -> list[str]:
    """Return the decoded segments of a raw path; ApiError 400 if one contains a slash, is `..` or is not printable."""
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
    """Return the target of a path below /api or /apis; ApiError 404 if nothing is served there."""
    if parts[0] == "api":
        group, rest = "", parts[1:]
    else:
        group, rest = parts[1], parts[2:]
    if len(rest) < 2:
        raise unknown_path()
    version, rest = rest[0], rest[1:]
    namespace = ""
    inside = len(rest) > 2 and rest[0] == "namespaces" and rest[2:] != ["status"]
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
