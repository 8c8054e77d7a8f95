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

from muster.local.apiserver.errors import ApiError, bad_request, unknown_path
from muster.local.apiserver.kinds.resources import Registry, Resource
from muster.local.apiserver.objects.options import DeleteOptions, WriteOptions

Json = dict[str, Any]
_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE = frozenset(("0", "f", "F", "FALSE", "false", "False"))
_PROPAGATIONS = ("Background", "Foreground", "Orphan")


@dataclass(frozen=True, slots=True)
class Query:
    """Typed access to the parameters of one request. Every method raises ApiError 400 for an invalid value."""

    values: Mapping[str, str]

    def text(self, name: str) -> str:
        """Return the parameter as sent; empty if it is missing."""
        return self.values.get(name, "")

    def flag(self, name: str) -> bool:
        """Return a boolean; false if it is missing or empty."""
        value = self.values.get(name, "")
        if not value or value in _FALSE:
            return False
        if value in _TRUE:
            return True
        raise bad_request(f'{name}: Invalid value: "{value}": must be true or false')

    def number(self, name: str) -> int | None:
        """Return a non-negative integer; None if it is missing."""
        value = self.values.get(name, "")
        if not value:
            return None
        if not value.isascii() or not value.isdigit() or len(value) > 18:
            raise bad_request(f'{name}: Invalid value: "{value}": must be a non-negative integer')
        return int(value)

    def dry_run(self) -> bool:
        """Return True for a dry run. The only valid value is All."""
        value = self.values.get("dryRun", "")
        if value not in ("", "All"):
            raise bad_request(f'dryRun: Unsupported value: "{value}": supported values: "All"')
        return value == "All"

    def write(self, subresource: str = "") -> WriteOptions:
        """Return the options of a create, update or patch."""
        strictness = self.values.get("fieldValidation", "") or "Warn"
        if strictness not in ("Ignore", "Warn", "Strict"):
            raise bad_request(
                f'fieldValidation: Unsupported value: "{strictness}": supported values: "", "Ignore", "Strict", "Warn"'
            )
        return WriteOptions(self.dry_run(), strictness, subresource)

    def delete(self, body: Any) -> DeleteOptions:
        """Return the options of a delete, from its body and its parameters."""
        given: Json = body if isinstance(body, dict) else {}
        if given.get("kind") not in (None, "", "DeleteOptions"):
            raise bad_request(f"the body of a delete must be DeleteOptions, not {given.get('kind')}")
        preconditions = given.get("preconditions") or {}
        grace = given.get("gracePeriodSeconds")
        if grace is None:
            grace = self.number("gracePeriodSeconds")
        propagation = given.get("propagationPolicy") or self.text("propagationPolicy")
        if propagation and propagation not in _PROPAGATIONS:
            raise bad_request(f'propagationPolicy: Unsupported value: "{propagation}": supported: {_PROPAGATIONS}')
        if not isinstance(grace, int | None) or not isinstance(preconditions, dict):
            raise bad_request("gracePeriodSeconds must be an integer and preconditions an object")
        uid, version = preconditions.get("uid") or "", preconditions.get("resourceVersion") or ""
        if not isinstance(uid, str) or not isinstance(version, str):
            raise bad_request("preconditions.uid and preconditions.resourceVersion must be strings")
        dry = self.dry_run() or given.get("dryRun") == ["All"]
        # kube-apiserver, too, takes a negative grace period for one second.
        grace = 1 if grace is not None and grace < 0 else grace
        return DeleteOptions(grace, propagation, uid, version, dry)


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


def too_large(asked: int, current: int) -> ApiError:
    """Return 504 for a resourceVersion that has not been reached yet."""
    details = {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }
    return ApiError(504, "Timeout", f"Too large resource version: {asked}, current: {current}", details)


_LONGEST_PATH = 2048
_NAMESPACE_SUBRESOURCES = ("status", "finalize")


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
