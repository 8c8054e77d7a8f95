"""What it takes to reach an API server, and the protocol of what provides it.

``kubeconfig`` has the providers that read files; ``FixedAccess`` is for an address that is known.
"""

from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

CONFIGURATION = "Configuration"
"""Reason of an ``ApiError`` before any request: address or credentials cannot be used as they are written."""


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
    """The name in the server's certificate, where it is not the host's."""
    proxy: str | None = None
    namespace: str = "default"
    """The namespace of the context, or of the pod this runs in."""
    files: tuple[Path, ...] = ()
    """A change of any of these calls for another reading."""
    expires: float | None = None
    """When the token ends, in wall seconds; None where that is not known."""


class Source(Protocol):
    """Provides ``ClusterAccess``; ``name`` says where from, for messages."""

    @property
    def name(self) -> str:
        """Where the access comes from, for error messages."""
        ...

    async def read(self) -> ClusterAccess:
        """Read everything again and run credential plugins. Raises ``ApiError`` with what to repair."""
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
        """Return them; there is nothing to read."""
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

    To be called once a reading: aiohttp would look for each request, at 0.16 ms.
    """
    parts = urlsplit(host)
    if not parts.hostname or is_loopback(parts.hostname) or proxy_bypass(parts.hostname):
        return None
    return getproxies().get(parts.scheme)


def is_loopback(hostname: str) -> bool:
    """Return whether a host is this machine: no network is crossed, and a proxy would look on its own."""
    try:
        return ip_address(hostname).is_loopback
    except ValueError:
        return hostname == "localhost"
