"""Errors of requests to the API server, by the HTTP status of its answer."""

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
    """No answer (refused, reset, timed out): whether the request was carried out is unknown."""


class NotFound(ApiError):
    """404: the object does not exist, or no longer."""


class AlreadyExists(ApiError):
    """409, reason AlreadyExists: an object of that name exists already."""


class Conflict(ApiError):
    """409, any other reason: the object changed since it was read, or a uid or resourceVersion precondition fails."""


class Expired(ApiError):
    """410: the resourceVersion is older than the server's history; list again."""


class Forbidden(ApiError):
    """401 or 403, not allowed: credentials, RBAC, admission or quota."""


class Invalid(ApiError):
    """400 or 422: the server rejects the request itself; sending it again does not help."""


class Throttled(ApiError):
    """429, or 5xx with Retry-After: the server is overloaded; ``retry_after`` has the seconds to wait."""


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
