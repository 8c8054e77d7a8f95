"""One kind's objects as dictionaries, kept up to date by a reflector, with a call for each change.

The daemon keeps flat records instead (``muster.daemon.informers``); this is for the SDK and the node agent, which need
whole objects and few of them.

``changes`` gives a collection as an asynchronous iterator: the existing objects, then every change.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from random import Random, SystemRandom
from typing import Any, Literal, NoReturn

from muster.api.errors import ApiError, Expired, Throttled
from muster.kube.cancellation import cancelling
from muster.kube.listwatch.decoder import Unstructured, unstructured
from muster.kube.listwatch.reflector import LogFunction, Reflector, ReflectorSettings
from muster.kube.listwatch.store import Store
from muster.kube.transport import Transport

Kind = Literal["ADDED", "MODIFIED", "DELETED"]

Changed = Callable[[Kind, Unstructured], None]
"""A callback with the object after the change; with its last state for DELETED."""


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
        report: LogFunction,
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
        """The existing objects, by uid."""
        return self._store.objects

    async def run(self) -> NoReturn:
        """Follow the server until cancelled, or until ``failed`` raises."""
        await self._reflector.run()

    def _on_change(self, old: Unstructured | None, new: Unstructured | None) -> None:
        if new is not None:
            self._changed("ADDED" if old is None else "MODIFIED", new)
        elif old is not None:
            self._changed("DELETED", old)


log = logging.getLogger("muster.kube")

SETTINGS = ReflectorSettings(streamed_list=False)
"""Settings for few objects, read once: a list in pages costs no more than a streamed one, and every server has it."""


MOST_QUEUED = 1_000
"""Most changes that wait for a slow consumer, beside the objects of a list. The watch is not read meanwhile."""


@dataclass(frozen=True, slots=True)
class Change:
    """One step of a collection; ``object`` is the state after it, the last state for DELETED."""

    kind: Kind
    object: Unstructured


async def changes(
    transport: Transport,
    path: str,
    params: Mapping[str, str] | None = None,
    *,
    retrying: Callable[[ApiError, float], None] | None = None,
    **options: Any,
) -> AsyncGenerator[Change, None]:
    """Yield an ADDED for each existing object first, then every change. It never ends by itself.

    The reflector opens a broken watch again; ``retrying`` is called with each failure and the seconds until the next
    attempt. An error that only a person can remove (no permission, no such kind) is raised. ``options`` are those of
    ``Informer``. Close the iterator to stop watching. A consumer that reads no further makes the watch wait, until the
    API server ends it and it is opened again.
    """

    def failed(error: ApiError, seconds: float) -> None:
        if not _passes(error):
            raise error
        if retrying is not None:
            retrying(error, seconds)

    def changed(kind: Kind, obj: Unstructured) -> None:
        queue.put_nowait(Change(kind, obj))
        if queue.qsize() >= MOST_QUEUED:
            paced.room.clear()

    queue = asyncio.Queue[Change | None]()
    paced = _Paced(transport)
    informer = Informer(
        paced,
        path,
        params,
        changed=changed,
        report=_report,
        failed=failed,
        settings=SETTINGS,
        **options,
    )
    task = asyncio.create_task(informer.run(), name=f"watch {path}")
    task.add_done_callback(lambda _: queue.put_nowait(None))
    async with cancelling(task):
        while (change := await queue.get()) is not None:
            if queue.qsize() < MOST_QUEUED:
                paced.room.set()
            yield change
        task.result()


class _Paced:
    """A transport whose watches are read only while there is ``room``."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.request = transport.request
        self.room = asyncio.Event()
        self.room.set()

    @asynccontextmanager
    async def lines(
        self, path: str, *, params: Mapping[str, str], silence: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """See ``Transport``."""
        async with (
            self._transport.lines(path, params=params, silence=silence) as lines,
            aclosing(self._one_by_one(lines)) as paced,
        ):
            yield paced

    async def _one_by_one(self, lines: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        async for line in lines:
            await self.room.wait()
            yield line


def _passes(error: ApiError) -> bool:
    """Return True if the same request may succeed later."""
    return isinstance(error, Throttled | Expired) or error.status == 0 or error.status >= 500


def _report(message: str, **fields: Any) -> None:
    log.info("%s: %s", message, fields)
