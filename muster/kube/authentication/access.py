"""The access to an API server, and the protocol of its providers.

``kubeconfig`` has the providers that read files; ``FixedAccess`` is for a known address.
"""

from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

CONFIGURATION = "Configuration"
"""Reason of an ``ApiError`` before any request: the configured address or credentials cannot be used."""


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """Address, credentials and TLS files of an API server, as they were at one reading."""

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


class Source(Protocol):
    """A provider of ``ClusterAccess``; ``name`` is its origin, for messages."""

    @property
    def name(self) -> str:
        """The origin of the access, for error messages."""
        ...

    async def read(self) -> ClusterAccess:
        """Read everything again and run credential plugins. Raises ``ApiError`` with the repair."""
        ...


@dataclass(frozen=True, slots=True)
class FixedAccess:
    """An address and a bearer token that do not change, such as those of the local cluster."""

    host: str
    token: str | None = None
    ca_file: str | None = None
    verify: bool = True
    server_name: str | None = None
    proxy: str | None = None

    @property
    def name(self) -> str:
        """See ``Source``."""
        return "a fixed address"

    async def read(self) -> ClusterAccess:
        """Return the fixed access; there is nothing to read."""
        return ClusterAccess(
            self.host,
            f"Bearer {self.token}" if self.token else None,
            ca_file=self.ca_file,
            verify=self.verify,
            server_name=self.server_name,
            proxy=self.proxy,
        )


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
