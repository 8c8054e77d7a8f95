"""The API server: creates its parts and owns the listener and the garbage collector's task."""

import asyncio
import contextlib
import socket
import ssl
import time
from collections.abc import Callable
from pathlib import Path

from aiohttp import web

from muster.local.apiserver.http.bodies import BODY_LIMIT
from muster.local.apiserver.http.handlers import ObjectHandlers
from muster.local.apiserver.http.pod_subresources import PodSubresources
from muster.local.apiserver.http.request_handler import RequestHandler
from muster.local.apiserver.kinds.resources import Registry
from muster.local.apiserver.objects.account_tokens import AccountTokens
from muster.local.apiserver.objects.garbage_collector import GarbageCollector
from muster.local.apiserver.objects.object_store import ObjectStore
from muster.local.apiserver.schema import CRD_RESOURCE
from muster.local.apiserver.storage.versioned_store import Database, VersionedStore

FIRST_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_SHUTDOWN_SECONDS = 2.0


class ApiServer:
    """A Kubernetes API server in this process.

    `database` is the SQLite file that keeps the objects over restarts; None keeps them in memory only. `clock` returns
    wall-clock seconds. If `token` is set, every request must carry it as its bearer token. `bookmark_seconds` is the
    longest time a watch with bookmarks is silent; `history` is how many changes of each resource a watch can replay.
    """

    def __init__(
        self,
        database: Path | None = None,
        *,
        clock: Callable[[], float] = time.time,
        token: str | None = None,
        bookmark_seconds: float = 50.0,
        history: int = 4096,
    ) -> None:
        self.registry = Registry()
        self.failure = ""
        """Reason why the objects can no longer be stored."""
        self.failed = asyncio.Event()
        self._database = Database(database, self._fail)
        versions = VersionedStore(self._database, history=history)
        self.store = ObjectStore(versions, self.registry, clock)
        try:
            self._load(versions)
        except BaseException:
            self._database.close()
            raise
        self._closing = asyncio.Event()
        self._garbage = GarbageCollector(self.store, clock)
        self.pods = PodSubresources(self.store, clock)
        objects = ObjectHandlers(self.store, self._closing, bookmark_seconds)
        self._handler = RequestHandler(self.registry, objects, self.pods, AccountTokens(self.store, clock), token)
        self._runner: web.ServerRunner | None = None
        self.collector: asyncio.Task[None] | None = None
        """The garbage collector's task while the server runs. If it fails, `stop` raises its exception."""

    async def start(self, host: str = "127.0.0.1", port: int = 0, *, tls: ssl.SSLContext | None = None) -> str:
        """Listen on a port, a free one if `port` is 0, with TLS if `tls` is given. Returns the base URL.

        Raises OSError if the port is taken.
        """
        if self._runner is not None:
            raise RuntimeError("this API server has been started already")
        server = web.Server(
            self._handler.handle,
            handler_cancellation=True,
            access_log=None,
            max_line_size=16_384,
            max_field_size=16_384,
            read_bufsize=min(BODY_LIMIT, 1 << 18),
        )
        runner = web.ServerRunner(server, shutdown_timeout=_SHUTDOWN_SECONDS)
        await runner.setup()
        listener: socket.socket | None = None
        try:
            listener = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
            await web.SockSite(runner, listener, backlog=1024, ssl_context=tls).start()
        except BaseException:
            await runner.cleanup()
            if listener is not None:
                listener.close()
            raise
        self._runner = runner
        self._garbage.enqueue_leftovers()
        self.collector = asyncio.create_task(self._garbage.run(), name="apiserver-garbage")
        bound_host, bound_port = listener.getsockname()[:2]
        name = f"[{bound_host}]" if ":" in bound_host else bound_host
        return f"{'https' if tls else 'http'}://{name}:{bound_port}"

    async def stop(self) -> None:
        """End every watch, close listener and database. Raises the garbage collector's exception if it failed."""
        self._closing.set()
        self.store.versions.wake_watchers()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None
        collector, self.collector = self.collector, None
        try:
            if collector is not None:
                collector.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await collector
        finally:
            self._database.close()

    def _fail(self, why: str) -> None:
        self.failure = self.failure or why
        self.failed.set()

    def _load(self, versions: VersionedStore) -> None:
        for stored in versions.load():
            if stored.group_resource == CRD_RESOURCE:
                self.store.install(stored.object())
        namespaces = self.store.resource("v1", "namespaces")
        for name in FIRST_NAMESPACES:
            if versions.lookup(namespaces.group_resource, "", name) is None:
                self.store.create(namespaces, "", {"metadata": {"name": name}})
