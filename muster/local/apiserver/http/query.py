"""The query parameters of a request, read as Kubernetes reads them: booleans by Go's ParseBool, numbers checked."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from muster.local.apiserver.errors import ApiError, bad_request
from muster.local.apiserver.storage.options import DeleteOptions, WriteOptions

Json = dict[str, Any]
_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE = frozenset(("0", "f", "F", "FALSE", "false", "False"))
_PROPAGATIONS = ("Background", "Foreground", "Orphan")


@dataclass(frozen=True, slots=True)
class Query:
    """Typed access to one request's parameters; every method raises ApiError 400 for a value that cannot be read."""

    values: Mapping[str, str]
    agent: str = ""

    def text(self, name: str) -> str:
        """A parameter as it came; empty where it is missing."""
        return self.values.get(name, "")

    def flag(self, name: str) -> bool:
        """A boolean; missing or empty is false."""
        value = self.values.get(name, "")
        if not value or value in _FALSE:
            return False
        if value in _TRUE:
            return True
        raise bad_request(f'{name}: Invalid value: "{value}": must be true or false')

    def number(self, name: str) -> int | None:
        """A whole number that is not negative; None where it is missing."""
        value = self.values.get(name, "")
        if not value:
            return None
        if not value.isascii() or not value.isdigit() or len(value) > 18:
            raise bad_request(f'{name}: Invalid value: "{value}": must be a non-negative integer')
        return int(value)

    def dry_run(self) -> bool:
        """Whether nothing is to be kept; the only value that exists is All."""
        value = self.values.get("dryRun", "")
        if value not in ("", "All"):
            raise bad_request(f'dryRun: Unsupported value: "{value}": supported values: "All"')
        return value == "All"

    def write(self, subresource: str = "") -> WriteOptions:
        """The options of a create, update or patch. The manager defaults to the first word of the user agent."""
        strictness = self.values.get("fieldValidation", "") or "Warn"
        if strictness not in ("Ignore", "Warn", "Strict"):
            raise bad_request(
                f'fieldValidation: Unsupported value: "{strictness}": supported values: "", "Ignore", "Strict", "Warn"'
            )
        manager = self.values.get("fieldManager", "") or self._program()
        if len(manager) > 128 or not manager.isprintable():
            raise bad_request("fieldManager: must be no more than 128 printable characters")
        return WriteOptions(self.dry_run(), manager, strictness, self.flag("force"), subresource)

    def _program(self) -> str:
        name = self.agent.partition("/")[0][:128]
        return name if name and name.isprintable() else "unknown"

    def delete(self, body: Any) -> DeleteOptions:
        """The options of a delete, from the body and the parameters."""
        given: Json = body if isinstance(body, dict) else {}
        if given.get("kind") not in (None, "", "DeleteOptions"):
            raise bad_request(f"the body of a delete must be DeleteOptions, not {given.get('kind')}")
        preconditions = given.get("preconditions") or {}
        grace = given.get("gracePeriodSeconds")
        if grace is None:
            grace = self.number("gracePeriodSeconds")
        orphan = given.get("orphanDependents")
        propagation = given.get("propagationPolicy") or self.text("propagationPolicy")
        if orphan is None and self.text("orphanDependents"):
            orphan = self.flag("orphanDependents")
        if not propagation and orphan is not None:
            propagation = "Orphan" if orphan else "Background"
        if propagation and propagation not in _PROPAGATIONS:
            raise bad_request(f'propagationPolicy: Unsupported value: "{propagation}": supported: {_PROPAGATIONS}')
        if not isinstance(grace, int | None) or not isinstance(preconditions, dict):
            raise bad_request("gracePeriodSeconds must be an integer and preconditions an object")
        uid, version = preconditions.get("uid") or "", preconditions.get("resourceVersion") or ""
        if not isinstance(uid, str) or not isinstance(version, str):
            raise bad_request("preconditions.uid and preconditions.resourceVersion must be strings")
        dry = self.dry_run() or given.get("dryRun") == ["All"]
        # A negative grace means one second, as in the real server.
        grace = 1 if grace is not None and grace < 0 else grace
        return DeleteOptions(grace, propagation, uid, version, dry)


def continue_token(version: int, namespace: str, name: str) -> str:
    """A token that lets the next page begin after an object, under the version of the first page."""
    return base64.urlsafe_b64encode(msgspec.json.encode([version, namespace, name])).decode().rstrip("=")


def read_continue(token: str) -> tuple[int, str, str]:
    """What a continue token says; ApiError 400 where it is none of ours."""
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        version, namespace, name = msgspec.json.decode(raw, type=tuple[int, str, str])
    except (binascii.Error, ValueError, msgspec.DecodeError) as failure:
        raise bad_request(f"continue key is not valid: {failure}") from failure
    return version, namespace, name


def too_large(asked: int, current: int) -> ApiError:
    """504 for a version that does not exist yet."""
    details = {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }
    return ApiError(504, "Timeout", f"Too large resource version: {asked}, current: {current}", details)
