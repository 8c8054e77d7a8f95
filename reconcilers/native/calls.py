"""Requests of the native engine: bounded in number, measured, and otherwise the transport's."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Literal

from muster.api.errors import ApiError
from muster.api.wire import Answer, Transport

Verb = Literal["get", "list", "create", "delete"]
Observe = Callable[[str, str, str, float], None]
"""Told of every request: verb, resource, outcome and seconds.

The outcome is ``ok``, the class name of the ``ApiError``, or ``cancelled``: a closed set, fit for a metric's label.
"""

_METHODS: Mapping[Verb, str] = {"get": "GET", "list": "GET", "create": "POST", "delete": "DELETE"}


class Calls:
    """At most ``concurrency`` requests at a time, over all experiments."""

    def __init__(self, transport: Transport, *, concurrency: int, observe: Observe, clock: Callable[[], float]) -> None:
        self.concurrency = concurrency
        self._transport = transport
        self._slots = asyncio.Semaphore(concurrency)
        self._observe = observe
        self._clock = clock

    def now(self) -> float:
        """Wall seconds since 1970."""
        return self._clock()

    async def do(
        self,
        verb: Verb,
        resource: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> Answer:
        """One request, as soon as there is a free place. The wait for the place is not part of its seconds."""
        async with self._slots:
            began, outcome = self._clock(), "cancelled"
            try:
                answer = await self._transport.request(_METHODS[verb], path, params=params, body=body)
                outcome = "ok"
            except ApiError as error:
                outcome = type(error).__name__
                raise
            finally:
                self._observe(verb, resource, outcome, max(0.0, self._clock() - began))
            return answer
