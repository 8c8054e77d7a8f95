"""`ApiError`, which carries the Kubernetes Status of a refused request, and one constructor for each kind of refusal.

Codes, reasons, messages and details follow apimachinery (pkg/api/errors/errors.go), because clients branch on them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Cause:
    """One wrong field: its path, the machine-readable reason, and the message."""

    field: str
    message: str
    reason: str = "FieldValueInvalid"

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


class ApiError(Exception):
    """A refused request; the response is a Status with `status: Failure`."""

    def __init__(self, code: int, reason: str, message: str, details: Json | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details

    def status(self) -> Json:
        """Return the Status object of this failure."""
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            # Messages quote parts of requests. JSON cannot hold lone surrogates.
            "message": self.message.encode("utf-8", "replace").decode(),
            "reason": self.reason,
            "details": self.details or {},
            "code": self.code,
        }


def _details(qualified: str, name: str, causes: Sequence[Cause] = ()) -> Json:
    kind, _, group = qualified.partition(".")
    listed = [{"reason": c.reason, "message": c.message, "field": c.field} for c in causes]
    found = {"name": name, "kind": kind, "group": group, "causes": listed}
    return {key: value for key, value in found.items() if value or key == "name"}


def not_found(qualified: str, name: str) -> ApiError:
    """Return 404 for an object; `qualified` is `plural` or `plural.group`."""
    return ApiError(404, "NotFound", f'{qualified} "{name}" not found', _details(qualified, name))


def unknown_path() -> ApiError:
    """Return 404 for a path that no resource serves."""
    return ApiError(404, "NotFound", "the server could not find the requested resource")


def already_exists(qualified: str, name: str) -> ApiError:
    """Return 409 for a create of a name that is taken."""
    return ApiError(409, "AlreadyExists", f'{qualified} "{name}" already exists', _details(qualified, name))


def conflict(qualified: str, name: str, why: str) -> ApiError:
    """Return 409 for a write that lost a race or whose precondition does not hold."""
    message = f'Operation cannot be fulfilled on {qualified} "{name}": {why}'
    return ApiError(409, "Conflict", message, _details(qualified, name))


def bad_request(message: str) -> ApiError:
    """Return 400 for a request that cannot be understood."""
    return ApiError(400, "BadRequest", message)


def forbidden(qualified: str, name: str, why: str, causes: Sequence[Cause] = ()) -> ApiError:
    """Return 403 for a request that is valid but not allowed."""
    return ApiError(403, "Forbidden", f'{qualified} "{name}" is forbidden: {why}', _details(qualified, name, causes))


def invalid(kind: str, group: str, name: str, causes: Sequence[Cause]) -> ApiError:
    """Return 422 for an object with invalid fields; the details name each of them."""
    listed = str(causes[0]) if len(causes) == 1 else "[" + ", ".join(str(c) for c in causes) + "]"
    qualified = f"{kind}.{group}" if group else kind
    return ApiError(422, "Invalid", f'{qualified} "{name}" is invalid: {listed}', _details(qualified, name, causes))


def expired(message: str) -> ApiError:
    """Return 410 for a watch that ends here: its client lists again."""
    return ApiError(410, "Expired", message)


def method_not_allowed(method: str) -> ApiError:
    """Return 405 for a method that the resource does not support."""
    message = f"the server does not allow this method on the requested resource ({method})"
    return ApiError(405, "MethodNotAllowed", message)


def unsupported_media(kind: str, supported: Sequence[str]) -> ApiError:
    """Return 415 for a body whose media type is not supported."""
    listed = ", ".join(supported)
    message = f"the body of the request was in an unknown format ({kind}) - accepted media types include: {listed}"
    return ApiError(415, "UnsupportedMediaType", message)


def required(field: str, what: str = "") -> Cause:
    """Return the cause of a missing required field."""
    return Cause(field, f"Required value: {what}" if what else "Required value", "FieldValueRequired")


def wrong(field: str, value: object, what: str) -> Cause:
    """Return the cause of a value that breaks a rule."""
    shown = f'"{value}"' if isinstance(value, str) else str(value)
    return Cause(field, f"Invalid value: {shown}: {what}", "FieldValueInvalid")


def unsupported(field: str, value: object, allowed: Sequence[str]) -> Cause:
    """Return the cause of a value that is not one of the allowed ones."""
    listed = ", ".join(f'"{a}"' for a in allowed)
    return Cause(field, f'Unsupported value: "{value}": supported values: {listed}', "FieldValueNotSupported")
