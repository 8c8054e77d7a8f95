"""New connections in turns: each address has its own queue, so that many of one do not put another one off.

Accepting costs the daemon little, and a TLS handshake fifty times as much: 0.026 ms of CPU were measured for a
connection that is closed here, and 1.4 ms for a post that is refused (ADR 68). So connections are accepted as they
come, at most ``ACCEPTED`` a second, and wait here for their handshake. One address after the other has a turn.
"""

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from typing import Final

ACCEPTED: Final = 2000.0
"""Connections a second that are accepted: as many that are refused here take a twentieth of a core."""
AT_ONCE: Final = 20
"""Connections that are accepted without a pause."""
OF_ONE: Final = 128
"""Connections of one address that wait."""
IN_ALL: Final = 1024
"""Connections that wait. Another one takes the place of the newest one of the address with most."""


class Turns:
    """Connections that wait for their handshake. ``refused`` is called with the address of each that has no room."""

    def __init__(self, refused: Callable[[str], None]) -> None:
        self._refused = refused
        self._waiting: dict[str, deque[socket.socket]] = {}
        """By address. The first address is the next one."""
        self._number = 0
        self._some = asyncio.Event()

    def __len__(self) -> int:
        return self._number

    def add(self, address: str, connection: socket.socket) -> None:
        """Let a connection wait, or close it where its address has its share."""
        if len(self._waiting.get(address, ())) >= OF_ONE:
            self._close(address, connection)
            return
        if self._number >= IN_ALL:
            most = max(self._waiting, key=lambda each: len(self._waiting[each]))
            self._close(most, self._taken(most, newest=True))
        self._waiting.setdefault(address, deque()).append(connection)
        self._number += 1
        self._some.set()

    async def next(self) -> socket.socket:
        """The connection whose turn it is. Its address is the last one then."""
        while not self._number:
            self._some.clear()
            await self._some.wait()
        address = next(iter(self._waiting))
        connection = self._taken(address)
        if rest := self._waiting.pop(address, None):
            self._waiting[address] = rest
        return connection

    def close(self) -> None:
        """Close all."""
        for waiting in self._waiting.values():
            for connection in waiting:
                connection.close()
        self._waiting.clear()
        self._number = 0

    def _taken(self, address: str, *, newest: bool = False) -> socket.socket:
        waiting = self._waiting[address]
        connection = waiting.pop() if newest else waiting.popleft()
        if not waiting:
            del self._waiting[address]
        self._number -= 1
        return connection

    def _close(self, address: str, connection: socket.socket) -> None:
        connection.close()
        self._refused(address)
