"""Measures every request to the API server by verb, resource and outcome, and counts denials. Watches are not measured.

Labels come from the form of the path (Kubernetes documentation: "Kubernetes API Concepts", Resource URIs), so their
number is that of the resources in use; names and namespaces never become labels.
"""

import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

from muster.api.errors import ApiError
from muster.kube.transport import Around, Transport

Observe = Callable[[str, str, str, float], None]
"""A callback for every request, with verb, resource, outcome and seconds.

The outcome is ``ok``, the class name of the ``ApiError``, or ``cancelled``: a closed set, fit for a metric's label.
"""

Answered = Callable[[str, str, ApiError | None], None]
"""A callback for every request that was not cancelled, with verb, resource and the error (None: it succeeded)."""

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def measured(
    transport: Transport,
    observe: Observe,
    monotonic: Callable[[], float],
    answered: Answered = lambda _verb, _resource, _error: None,
) -> Around:
    """Return the transport with every request measured. ``monotonic`` gives seconds."""

    @asynccontextmanager
    async def measuring(method: str, path: str) -> AsyncIterator[None]:
        began, outcome = monotonic(), "cancelled"
        try:
            yield
            outcome = "ok"
            answered(*labels(method, path), None)
        except ApiError as error:
            outcome = type(error).__name__
            answered(*labels(method, path), error)
            raise
        finally:
            observe(*labels(method, path), outcome, monotonic() - began)

    return Around(transport, measuring)


def labels(method: str, path: str) -> tuple[str, str]:
    """Return verb and resource of a request, in the terms of Kubernetes' RBAC: ``("update", "experiments/status")``."""
    parts = path.strip("/").split("/")
    place = parts[2:] if parts[0] == "api" else parts[3:]
    if place[:1] == ["namespaces"] and len(place) > 2:
        place = place[2:]
    resource = "/".join([*place[:1], *place[2:3]]) or "other"
    if method == "GET":
        return ("get" if len(place) > 1 else "list"), resource
    return _VERBS.get(method, "other"), resource


IN_A_ROW = 3
"""Denials in a row that count as lasting. One alone may be a right that is about to be granted."""

KEPT = 150.0
"""Seconds after which a denial is out of date: a denied request is tried again within a minute."""

_AUTHORIZER = re.compile(r'User ".*" cannot ([a-z]+) ')


def denied(error: ApiError | None) -> bool:
    """Return True if that outcome of a request is a denial, for lack of rights or of a valid token.

    That is a 401, or a 403 of the authorizer, which names a user and a verb (kubernetes: apiserver,
    handlers/responsewriters/errors.go, ``forbiddenMessage``). A 403 of a quota, a webhook or an admission policy is
    about one object and is no denial.
    """
    if error is None:
        return False
    return error.status == 401 or (error.status == 403 and _AUTHORIZER.search(error.message) is not None)


def lacks(error: ApiError, right: str) -> str:
    """Return the missing right, after a request that takes ``right`` was denied."""
    if error.status == 401:
        return "the API server does not accept the credentials"
    found = _AUTHORIZER.search(error.message)
    return f"without {right if found is None or found[1] != 'impersonate' else 'impersonate of that user'}"


class Denials:
    """The counts of denials in a row by verb and resource. ``monotonic`` gives seconds."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._last: dict[tuple[str, str], tuple[int, float, str]] = {}

    def observe(self, verb: str, resource: str, error: ApiError | None) -> None:
        """Note the answer to a request (None: it succeeded), or its failure. A missing answer proves no right."""
        kind = verb, resource
        if error is not None and denied(error):
            count = self._last[kind][0] if kind in self._last else 0
            self._last[kind] = count + 1, self._monotonic(), error.message
        elif error is None or error.status:
            self._last.pop(kind, None)

    def lasting(self) -> Iterator[tuple[tuple[str, str], str]]:
        """Yield the kinds of requests with lasting denials, by verb and resource, with the server's message."""
        for kind, (count, at, message) in self._last.items():
            if count >= IN_A_ROW and self._monotonic() - at < KEPT:
                yield kind, message
