"""GET requests to a program that is not trusted: bounded in time and size, without redirects, cookies or proxies.

The other side is a pod of the experiment, and whatever runs in it writes the answer. A redirect could send the daemon
to an address that only the daemon may reach, so none is followed. Bodies are asked for without compression, because a
small one could become a large one, and reading stops at ``most`` bytes.
"""

import asyncio
from dataclasses import dataclass
from typing import Protocol

import aiohttp

from muster.api.values.printable import printable
from muster.state.view.roll import CoordinatorState


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer. ``status`` is 0 where there was none; ``state`` and ``detail`` then say why."""

    status: int
    body: bytes = b""
    state: CoordinatorState = CoordinatorState.SERVING
    detail: str = ""

    @property
    def good(self) -> bool:
        """The request was answered as it should be."""
        return self.status == 200


class Asking(Protocol):
    """The way to a head and its members."""

    async def get(self, port: int, path: str, *, host: str = "") -> Reply:
        """Ask once."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class Asker:
    """Sends the requests of one probe."""

    def __init__(self, host: str, *, token: str, deadline: float, most: int) -> None:
        headers = {"Accept-Encoding": "identity", "User-Agent": "muster"}
        if token:  # Ray takes either; a proxy in front of it may keep the first for itself
            headers |= {"Authorization": f"Bearer {token}", "x-ray-authorization": f"Bearer {token}"}
        self._host, self._headers, self._deadline, self._most = host, headers, deadline, most
        self._session: aiohttp.ClientSession | None = None

    async def get(self, port: int, path: str, *, host: str = "") -> Reply:
        """Ask once, the host of the probe or another. Raises nothing, whatever the network or the other side does."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                headers=self._headers,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
                timeout=aiohttp.ClientTimeout(total=self._deadline),
            )
        url = f"http://{_in_url(host) or self._host}:{port}{path}"
        try:
            async with self._session.get(url, allow_redirects=False) as response:
                body = await self._read(response)
                if body is None:
                    return self._none(CoordinatorState.OTHER_PROTOCOL, f"more than {self._most} bytes", port)
                return Reply(response.status, body)
        except TimeoutError:
            return self._none(CoordinatorState.TIMEOUT, f"no answer within {self._deadline:g} s", port)
        except aiohttp.ClientConnectorError as error:
            refused = isinstance(error.os_error, ConnectionRefusedError)
            state = CoordinatorState.REFUSED if refused else CoordinatorState.TIMEOUT
            what = "connection refused" if refused else f"no connection: {printable(str(error.os_error), 200)}"
            return self._none(state, what, port)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            return self._none(CoordinatorState.REFUSED, "the connection was closed", port)
        except (aiohttp.ClientError, ValueError) as error:
            what = f"no HTTP answer: {printable(str(error), 200)}"
            return self._none(CoordinatorState.OTHER_PROTOCOL, what, port)

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            await asyncio.sleep(0)

    async def _read(self, response: aiohttp.ClientResponse) -> bytes | None:
        body = bytearray()
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > self._most:
                return None
        return bytes(body)

    def _none(self, state: CoordinatorState, what: str, port: int) -> Reply:
        return Reply(0, state=state, detail=f"port {port}: {what}")


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
