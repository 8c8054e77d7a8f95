"""Errors of requests to the API server.

MusterError                the root of every error that Muster raises on purpose
ApiError                   a request failed
├── Unreachable            no answer: refused, reset, timed out; the request may or may not have been carried out
├── NotFound               404
├── AlreadyExists          409, reason AlreadyExists
├── Conflict               409, any other reason: the object changed since it was read, or a precondition fails
├── Expired                410: the resourceVersion is too old, list again
├── Forbidden              401 or 403, quota included
├── Invalid                400 or 422: the server rejects the request; sending it again does not help
└── Throttled              429, or 5xx with Retry-After: come back after ``retry_after`` seconds
"""

from typing import Final

from muster.api.values.printable import printable


class MusterError(Exception):
    """The root of every error that Muster raises on purpose."""


class ApiError(MusterError):
    """A request to the API server failed.

    ``status`` is the HTTP status (0 if there was no answer), ``reason`` the machine-readable reason in the Status body,
    ``retry_after`` the seconds the server asked to wait, if it did, ``causes`` the reasons in the Status's details.

    Every text is made printable here, also that of an API server, a proxy, a webhook, a credential plugin.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        reason: str = "",
        retry_after: float | None = None,
        request: str = "",
        causes: tuple[str, ...] = (),
    ) -> None:
        self.message = printable(message)
        super().__init__(self.message)
        self.status = status
        self.reason = printable(reason)
        self.retry_after = retry_after
        self.request = printable(request)
        self.causes = causes

    def __str__(self) -> str:
        what = " ".join(part for part in (str(self.status) if self.status else "", self.reason) if part)
        return ": ".join(part for part in (self.request, what, self.message) if part)


class Unreachable(ApiError):
    """No answer: whether the request was carried out is unknown."""


class NotFound(ApiError):
    """The object does not exist, or no longer."""


class AlreadyExists(ApiError):
    """An object of that name exists already."""


class Conflict(ApiError):
    """The object changed since it was read, or a uid or resourceVersion precondition fails."""


class Expired(ApiError):
    """The resourceVersion is older than the server's history."""


class Forbidden(ApiError):
    """Not allowed: credentials, RBAC, admission or quota."""


class Invalid(ApiError):
    """The server rejects the request itself; sending it again does not help."""


class Throttled(ApiError):
    """The server is overloaded; ``retry_after`` has the time to wait."""


_BY_STATUS: Final[dict[int, type[ApiError]]] = {
    400: Invalid,
    401: Forbidden,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Expired,
    422: Invalid,
    429: Throttled,
}


def error_of(
    status: int,
    reason: str,
    message: str,
    *,
    retry_after: float | None = None,
    request: str = "",
    causes: tuple[str, ...] = (),
) -> ApiError:
    """Return the error for an HTTP status and the reason in a Status body."""
    kind = _BY_STATUS.get(status, Throttled if status >= 500 and retry_after is not None else ApiError)
    if kind is Conflict and reason == "AlreadyExists":
        kind = AlreadyExists
    return kind(message, status=status, reason=reason, retry_after=retry_after, request=request, causes=causes)
