"""Access to an API server, with credentials that stay valid while the process runs.

A ``Source`` provides the access: those that read files are in ``kubeconfig``.
"""

import asyncio
import os
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from muster.api.errors import ApiError, Unreachable
from muster.api.values.printable import clean
from muster.kube.cancellation import cancel_and_wait, mark_seen

CONFIGURATION = "Configuration"
"""Reason of an ``ApiError`` before any request: the configured address or credentials cannot be used."""


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """Address, credentials and TLS files of an API server, as they were at one reading; a ``Source`` that is fixed."""

    host: str
    """``https://name:port``, perhaps with a path."""
    authorization: str | None = None
    """The value of the Authorization header."""
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    verify: bool = True
    server_name: str | None = None
    """The name in the server's certificate, if it is not the host's."""
    proxy: str | None = None
    namespace: str = "default"
    """The namespace of the context, or of the pod of this process."""
    files: tuple[Path, ...] = ()
    """Files whose change requires another reading."""
    expires: float | None = None
    """The end of the token in wall seconds; None if it is not known."""

    @property
    def name(self) -> str:
        """See ``Source``."""
        return "a fixed address"

    async def read(self) -> "ClusterAccess":
        """See ``Source``: there is nothing to read."""
        return self


class Source(Protocol):
    """A provider of ``ClusterAccess``; ``name`` is its origin, for messages."""

    @property
    def name(self) -> str:
        """The origin of the access, for error messages."""

    async def read(self) -> ClusterAccess:
        """Read everything again and run credential plugins. Raises ``ApiError`` with the repair."""


def environment_proxy(host: str) -> str | None:
    """Return the proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name for ``host``; never one for this machine itself.

    Call it once a reading: aiohttp would read them for each request, at 0.16 ms.
    """
    parts = urlsplit(host)
    if not parts.hostname or is_loopback(parts.hostname) or proxy_bypass(parts.hostname):
        return None
    return getproxies().get(parts.scheme)


def is_loopback(hostname: str) -> bool:
    """Return True if a host is this machine: requests to it cross no network, and a proxy would look elsewhere."""
    try:
        return ip_address(hostname).is_loopback
    except ValueError:
        return hostname == "localhost"


LOOK_EVERY = 10.0
"""Seconds between two checks of the files, and the least time between two readings after refused requests."""

BEFORE_EXPIRY = 60.0
"""Seconds before its end at which a token is replaced."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Everything a request needs apart from its path."""

    host: str
    authorization: str | None
    tls: ssl.SSLContext | None
    """None for plain http."""
    server_name: str | None
    proxy: str | None


class Credentials:
    """The current ``Identity`` of a source.

    Tokens expire, certificates rotate, and a kubeconfig is edited. So the files are checked every few seconds (one
    ``stat`` each, nothing is read), an exec plugin is run again shortly before its token expires, and a 401 causes a
    new reading at once. Requests that fail together share one reading, and no connection is closed for it.
    """

    def __init__(self, source: Source, *, clock: Callable[[], float], wall: Callable[[], float]) -> None:
        self._source = source
        self._clock = clock
        self._wall = wall
        self._identity: Identity | None = None
        self._access = ClusterAccess("")
        self._marks: tuple[object, ...] = ()
        self._look_at = 0.0
        self._refused_at = float("-inf")
        self._tls_key: tuple[object, ...] = ()
        self._reading: asyncio.Task[Identity] | None = None

    @property
    def namespace(self) -> str:
        """The namespace of the context, once the source has been read."""
        return self._access.namespace

    @property
    def place(self) -> str:
        """The server, and the origin of its address, for messages."""
        return f"{self._access.host} (from {self._source.name})" if self._access.host else self._source.name

    def with_token(self, token: str) -> ClusterAccess:
        """Return the access to the same API server with that token: it has no credential of this source."""
        known = self._access
        return ClusterAccess(
            known.host,
            f"Bearer {token}",
            known.ca_file,
            verify=known.verify,
            server_name=known.server_name,
            proxy=known.proxy,
        )

    async def current(self) -> Identity:
        """Return the present identity. Raises ``ApiError`` only if there never was one."""
        identity = self._identity
        if identity is None:
            return await self._renew(None)
        if self._clock() < self._look_at:
            return identity
        self._look_at = self._clock() + LOOK_EVERY
        expires = self._access.expires
        ending = expires is not None and self._wall() >= expires - BEFORE_EXPIRY
        if not ending and _marks(self._access.files) == self._marks:
            return identity
        try:
            return await self._renew(identity)
        except ApiError:  # half-written or missing for a moment: use the known identity until a 401
            return identity

    async def renew(self, refused: Identity) -> Identity:
        """Read everything again after a 401 to ``refused``, unless that was just done. Raises ``ApiError``."""
        if self._identity is refused and self._reading is None:
            if self._clock() - self._refused_at < LOOK_EVERY:
                return refused
            self._refused_at = self._clock()
        return await self._renew(refused)

    async def aclose(self) -> None:
        """Stop a reading in progress."""
        await cancel_and_wait(self._reading)

    async def _renew(self, known: Identity | None) -> Identity:
        """Read once for all concurrent requests.

        The read outlives a request that gives up: a plugin that hangs is not started again by every request.
        """
        if self._identity is not None and self._identity is not known:
            return self._identity
        if self._reading is None:
            self._reading = asyncio.create_task(self._read(), name="credentials")
            self._reading.add_done_callback(mark_seen)  # who waits gets its error, else the next request reads again
        reading = self._reading
        try:
            return await asyncio.shield(reading)
        except asyncio.CancelledError:
            asker = asyncio.current_task()
            if not reading.cancelled() or (asker is not None and asker.cancelling()):
                raise
            raise Unreachable("the connection has been closed", reason="Closed") from None

    async def _read(self) -> Identity:
        try:
            access = await self._source.read()
            identity = self._identity_of(access)
        finally:
            self._reading = None
        self._identity, self._access, self._marks = identity, access, _marks(access.files)
        self._look_at = self._clock() + LOOK_EVERY
        return identity

    def _identity_of(self, access: ClusterAccess) -> Identity:
        host = access.host.rstrip("/")
        scheme, _, name = host.partition("://")
        if scheme not in ("http", "https") or not name:
            raise ApiError(f"{host!r} is no address of an API server; it begins with https://", reason=CONFIGURATION)
        token = (access.authorization or "").strip()
        if not token.isprintable() or not token.isascii():
            raise ApiError("the token holds characters that no token has; is it the right file?", reason=CONFIGURATION)
        if access.proxy and urlsplit(access.proxy).scheme not in ("http", "https"):
            raise ApiError(
                f"the proxy {clean(access.proxy, 200)!r} cannot be used; name one that begins with http:// or https://",
                reason=CONFIGURATION,
            )
        if token and scheme == "http" and (access.proxy or not is_loopback(urlsplit(host).hostname or "")):
            raise ApiError(
                f"the token would travel to {host} without encryption; name the server with https:// "
                "(http:// takes a token on a loopback address only)",
                reason=CONFIGURATION,
            )
        return Identity(
            host=host,
            authorization=token or None,
            tls=self._tls(access) if scheme == "https" else None,
            server_name=access.server_name,
            proxy=access.proxy,
        )

    def _tls(self, access: ClusterAccess) -> ssl.SSLContext:
        """Return a TLS context, a new one only if its files changed: each takes 1 MB outside Python's collector."""
        files = tuple(Path(p) for p in (access.ca_file, access.cert_file, access.key_file) if p)
        key = (files, _marks(files), access.verify)
        if self._identity is not None and self._identity.tls is not None and key == self._tls_key:
            return self._identity.tls
        try:
            context = ssl.create_default_context(cafile=access.ca_file)
            if access.cert_file:
                context.load_cert_chain(access.cert_file, keyfile=access.key_file)
        except OSError as error:
            names = ", ".join(map(str, files))
            raise ApiError(f"the certificates {names} cannot be used: {error}", reason=CONFIGURATION) from error
        # Python 3.13 asks for extensions that the CAs of many clusters lack; Go's clients, kubectl among them, do not.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if not access.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        self._tls_key = key
        return context


def _marks(files: tuple[Path, ...]) -> tuple[object, ...]:
    """Return marks that change with a file: Kubernetes swaps a symlink, editors write in place or rename."""
    marks: list[object] = []
    for file in files:
        try:
            stat = os.stat(file)  # noqa: PTH116 - follows the links of a projected volume, and is read every 10 s
        except OSError:
            marks.append(None)
        else:
            marks.append((stat.st_ino, stat.st_mtime_ns, stat.st_size))
    return tuple(marks)
