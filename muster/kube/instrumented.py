"""Measures every request to the API server by verb, resource and outcome. Watches are not measured.

Labels come from the form of the path (Kubernetes documentation: "Kubernetes API Concepts", Resource URIs), so there
are as many as resources in use; names and namespaces never become labels.

Which kinds of requests the API server keeps denying, for want of rights or of a valid token, is known by the same
words. A denial is a 401, or a 403 of the authorizer. A 403 of a quota, a webhook or an admission policy is about one
object and is no denial; the authorizer's names a user and a verb (kubernetes: apiserver,
handlers/responsewriters/errors.go, ``forbiddenMessage``).
"""

import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager

from muster.api.errors import ApiError
from muster.kube.transport import Answer, Transport

Observe = Callable[[str, str, str, float], None]
"""Called after every request with verb, resource, outcome and seconds.

The outcome is ``ok``, the class name of the ``ApiError``, or ``cancelled``: a closed set, fit for a metric's label.
"""

Answered = Callable[[str, str, ApiError | None], None]
"""Called after every request that was not cancelled, with verb, resource and the error (None: it succeeded)."""

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class MeasuredTransport:
    """See ``muster.kube.transport.Transport``. ``monotonic`` gives seconds."""

    def __init__(
        self,
        transport: Transport,
        observe: Observe,
        monotonic: Callable[[], float],
        answered: Answered = lambda _verb, _resource, _error: None,
    ) -> None:
        self._transport = transport
        self._answered = answered
        self._observe = observe
        self._monotonic = monotonic

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
        timeout: float | None = None,
    ) -> Answer:
        """See ``Transport``. Measure how long it took and how it ended."""
        began, outcome = self._monotonic(), "cancelled"
        try:
            answer = await self._transport.request(
                method, path, params=params, body=body, content_type=content_type, timeout=timeout
            )
            outcome = "ok"
            self._answered(*labels(method, path), None)
        except ApiError as error:
            outcome = type(error).__name__
            self._answered(*labels(method, path), error)
            raise
        finally:
            self._observe(*labels(method, path), outcome, self._monotonic() - began)
        return answer

    def lines(
        self, path: str, *, params: Mapping[str, str], silence: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """See ``Transport``. A watch has no duration to measure."""
        return self._transport.lines(path, params=params, silence=silence)


def labels(method: str, path: str) -> tuple[str, str]:
    """Verb and resource of a request, in the words of Kubernetes' RBAC: ``("update", "experiments/status")``."""
    parts = path.strip("/").split("/")
    place = parts[2:] if parts[0] == "api" else parts[3:]
    if place[:1] == ["namespaces"] and len(place) > 2:
        place = place[2:]
    resource = "/".join([*place[:1], *place[2:3]]) or "other"
    if method == "GET":
        return ("get" if len(place) > 1 else "list"), resource
    return _VERBS.get(method, "other"), resource


IN_A_ROW = 3
"""Denials without any other answer between them. One alone may be a right that is about to be granted."""

KEPT = 150.0
"""Seconds after which a denial is out of date: what is denied is tried again within a minute."""

_AUTHORIZER = re.compile(r'User ".*" cannot ([a-z]+) ')


def denied(error: ApiError | None) -> bool:
    """Return whether that outcome of a request is a denial."""
    if error is None:
        return False
    return error.status == 401 or (error.status == 403 and _AUTHORIZER.search(error.message) is not None)


def lacks(error: ApiError, right: str) -> str:
    """Return what is missing where a request that takes ``right`` was denied."""
    if error.status == 401:
        return "the API server does not accept the credentials"
    said = _AUTHORIZER.search(error.message)
    return f"without {right if said is None or said[1] != 'impersonate' else 'impersonate of that user'}"


class Denials:
    """Counts denials in a row by verb and resource. ``monotonic`` gives seconds."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._last: dict[tuple[str, str], tuple[int, float, str]] = {}

    def observe(self, verb: str, resource: str, error: ApiError | None) -> None:
        """Note that a request was answered (None: it succeeded) or given up. A missing answer shows no right."""
        kind = verb, resource
        if error is not None and denied(error):
            count = self._last[kind][0] if kind in self._last else 0
            self._last[kind] = count + 1, self._monotonic(), error.message
        elif error is None or error.status:
            self._last.pop(kind, None)

    def lasting(self) -> Iterator[tuple[tuple[str, str], str]]:
        """Yield the kinds of requests that are denied, by verb and resource, and the server's words."""
        for kind, (count, at, message) in self._last.items():
            if count >= IN_A_ROW and self._monotonic() - at < KEPT:
                yield kind, message
