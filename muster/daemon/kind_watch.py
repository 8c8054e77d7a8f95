"""The watch of a kind that may not be installed: it begins when the API server serves the kind.

A CRD may be installed long after the daemon was started. Until its kind is served, discovery is asked again with a
growing delay. When it is no longer served, the watch ends and the daemon waits again.
"""

import json
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, Generic, TypeVar

import structlog

from muster.api.errors import ApiError, NotFound
from muster.kinds.declaration.run_kind import RunKind
from muster.kinds.declaration.watched_kind import Made, WatchedKind
from muster.kube.backoff import Backoff
from muster.kube.listwatch.reflector import Reflector
from muster.kube.transport import Transport

log = structlog.get_logger()

FIRST_WAIT = 1.0
LONGEST_WAIT = 60.0
"""Seconds between two looks at discovery: a new CRD is found within a minute."""


class NotServed(Exception):
    """The API server does not serve the kind."""


def ends_with_its_kind(error: ApiError, _wait: float) -> None:
    """End a reflector's run if its kind is not served (a ``failed`` callback)."""
    if isinstance(error, NotFound):
        raise NotServed


K = TypeVar("K", bound=RunKind | WatchedKind | Made)


class KindWatch(Generic[K]):
    """The watch of one kind, which runs forever.

    The reflector is in ``opened`` by ``name`` while the kind is served. With ``forgets`` its objects are forgotten when
    it no longer is.
    """

    def __init__(
        self,
        transport: Transport,
        kind: K,
        reflector: Reflector[Any],
        opened: dict[str, Reflector[Any]],
        name: str,
        *,
        forgets: bool,
        random: Random,
        sleep: Callable[[float], Awaitable[object]],
    ) -> None:
        self.kind = kind
        self.subject = kind.subject
        self.served = False
        self._transport = transport
        self.reflector = reflector
        self._opened, self._name = opened, name
        self._forgets = forgets
        self._sleep = sleep
        self._backoff = Backoff(FIRST_WAIT, LONGEST_WAIT, random)

    async def run(self) -> None:
        """Wait for the kind, watch it, and wait again when it is gone."""
        while True:
            await self._until_served()
            log.info("kind is served, watching it", kind=self.subject.kind)
            self.served = True
            self._opened[self._name] = self.reflector
            try:
                await self.reflector.run()
            except NotServed:
                log.warning("kind is not served any more", kind=self.subject.kind)
            finally:
                self.served = False
                del self._opened[self._name]
                if self._forgets:
                    self.reflector.feed.replace({}, self.reflector.version)

    async def _until_served(self) -> None:
        self._backoff.reset()
        while not await self._served():
            await self._sleep(self._backoff.delay())

    async def _served(self) -> bool:
        """Return True if discovery lists the kind; False also if the API server cannot be asked."""
        try:
            answer = await self._transport.request("GET", f"/apis/{self.subject.api_version}")
            document = json.loads(answer.body)
            resources = document.get("resources") if isinstance(document, dict) else None
        except (ApiError, ValueError, RecursionError):
            return False
        if not isinstance(resources, list):
            return False
        return any(isinstance(each, dict) and each.get("name") == self.subject.plural for each in resources)
