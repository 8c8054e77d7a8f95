"""One kind's objects as dictionaries, kept up to date by a reflector, with a call for each change.

The daemon keeps flat records instead (``muster.daemon.informers``); this is for the SDK and the node agent, which need
whole objects and few of them.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from random import Random, SystemRandom
from typing import Literal, NoReturn

from muster.api.errors import ApiError
from muster.kube.listwatch.decoder import Unstructured, unstructured
from muster.kube.listwatch.reflector import Reflector, ReflectorSettings, Report
from muster.kube.listwatch.store import Store
from muster.kube.transport import Transport

Kind = Literal["ADDED", "MODIFIED", "DELETED"]

Changed = Callable[[Kind, Unstructured], None]
"""Called with the object after the change; with its last state for DELETED."""


class _LastStates(Store[Unstructured]):
    """A store that reports a deleted object as the DELETED event had it."""

    def drop(self, uid: str, obj: Unstructured, version: int) -> None:
        old = self.objects.get(uid)
        if old is not None and old.resource_version <= obj.resource_version:
            self.objects[uid] = obj
        super().drop(uid, obj, version)


class Informer:
    """The objects at ``path``; its owner runs ``run`` as a named task.

    ``objects`` holds them by uid and stays the same dictionary; ``synced`` is set after the first list.
    """

    def __init__(
        self,
        transport: Transport,
        path: str,
        params: Mapping[str, str] | None = None,
        *,
        changed: Changed,
        report: Report,
        failed: Callable[[ApiError, float], None] = lambda _error, _seconds: None,
        settings: ReflectorSettings | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        random: Random | None = None,
    ) -> None:
        """See ``Reflector`` for ``report``, ``failed`` and ``settings``."""
        self.synced = asyncio.Event()
        self._changed = changed
        self._store = _LastStates(self._on_change, lambda _version: self.synced.set())
        self._reflector = Reflector(
            transport,
            path,
            params or {},
            unstructured(path.rpartition("/")[2]),
            self._store,
            clock=clock,
            random=random or SystemRandom(),
            sleep=sleep,
            report=report,
            failed=failed,
            settings=settings,
        )

    @property
    def objects(self) -> Mapping[str, Unstructured]:
        """What exists, by uid."""
        return self._store.objects

    async def run(self) -> NoReturn:
        """Follow the server until cancelled, or until ``failed`` raises."""
        await self._reflector.run()

    def _on_change(self, old: Unstructured | None, new: Unstructured | None) -> None:
        if new is not None:
            self._changed("ADDED" if old is None else "MODIFIED", new)
        elif old is not None:
            self._changed("DELETED", old)
