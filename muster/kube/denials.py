"""Which kinds of requests the API server keeps denying for want of rights or of a valid token.

A denial is a 401, or a 403 of the authorizer. A 403 of a quota, a webhook or an admission policy is about one object
and is no denial; the authorizer's names a user and a verb (kubernetes: apiserver, handlers/responsewriters/errors.go,
``forbiddenMessage``).
"""

import re
from collections.abc import Callable, Iterator

from muster.api.errors import ApiError

IN_A_ROW = 3
"""Denials without any other answer between them. One alone may be a right that is about to be granted."""

KEPT = 150.0
"""Seconds after which a denial is out of date: what is denied is tried again within a minute."""

_AUTHORIZER = re.compile(r'User ".*" cannot ([a-z]+) ')


def denied(error: ApiError | None) -> bool:
    """Whether that outcome of a request is a denial."""
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
        """A request was answered (None: it succeeded) or given up. No answer at all says nothing about rights."""
        kind = verb, resource
        if error is not None and denied(error):
            count = self._last[kind][0] if kind in self._last else 0
            self._last[kind] = count + 1, self._monotonic(), error.message
        elif error is None or error.status:
            self._last.pop(kind, None)

    def lasting(self) -> Iterator[tuple[tuple[str, str], str]]:
        """The kinds of requests that are denied, by verb and resource, and the server's words."""
        for kind, (count, at, message) in self._last.items():
            if count >= IN_A_ROW and self._monotonic() - at < KEPT:
                yield kind, message
