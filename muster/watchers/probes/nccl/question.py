"""One question to the RAS of one process, and its answer.

The only commands that can be sent are those of ``COMMANDS``: they read. RAS has no others but MONITOR, which never ends
(NVIDIA/nccl: src/ras/client_support.cc, rasClientEventLoop). Its port has no authentication.

The answer is bounded in bytes, parts and seconds. RAS ends the connection after it.
"""

import asyncio
from typing import Final

from muster.api.values.printable import printable
from muster.state.view.recorder.ras_answer import RasAnswer
from muster.watchers.probes.bounded.connection import Address, Connection, Excess, Guard, Unreached
from muster.watchers.probes.bounded.turns import in_turns
from muster.watchers.probes.nccl.answer import Unreadable, decoded_in_turns

PROTOCOL: Final = b"SERVER PROTOCOL 2"
"""What NCCL says, from 2.24 to 2.30 at least."""
HELLO, LIMIT, FORMAT, STATUS = COMMANDS = (
    b"CLIENT PROTOCOL 2\n",
    b"TIMEOUT 5\n",
    b"SET FORMAT json\n",
    b"STATUS\n",
)
DEADLINE: Final = 15.0
"""Seconds for an answer: RAS waits five for its processes, and five more."""
MOST: Final = 2 << 20
"""Bytes of an answer: some 3,500 ranks, each counted once for each communicator that it is in."""
PART: Final = 512
"""Bytes of a part, on average, at least."""
_LINE: Final = 1024


class NoRas(Exception):
    """No answer; the text says why, for people."""


async def ask(address: Address, guard: Guard, deadline: float = DEADLINE) -> RasAnswer:
    """Ask once, for so many seconds at most. Raises ``NoRas`` and nothing else, whatever answers there."""
    connection: Connection | None = None
    try:
        async with asyncio.timeout(deadline):
            connection = await Connection.open(address, guard)
            return await _answer(connection)
    except TimeoutError:
        raise NoRas(f"no answer within {deadline:g} s") from None
    except Unreached as error:
        raise NoRas(error.port.detail) from None
    except (Excess, Unreadable) as error:
        raise NoRas(str(error)) from None
    except (OSError, asyncio.IncompleteReadError):
        raise NoRas("the connection was closed") from None
    finally:
        if connection is not None:
            connection.abort()


async def _answer(connection: Connection) -> RasAnswer:
    if (said := await _said(connection, HELLO)) != PROTOCOL:
        raise NoRas(f"it answers {printable(said, 80)!r}, not {PROTOCOL.decode()!r}")
    if (said := await _said(connection, LIMIT)) != b"OK":
        raise NoRas(f"it takes no time limit: {printable(said, 80)!r}")
    if (said := await _said(connection, FORMAT)) != b"OK":
        raise NoRas(f"it does not answer in JSON, as no NCCL before 2.28.7 does: {printable(said, 80)!r}")
    connection.grant(MOST, MOST // PART, "parts of an answer")
    connection.write(STATUS)
    data = bytearray()
    while part := await connection.some():
        data += part
    return await in_turns(decoded_in_turns(data))


async def _said(connection: Connection, command: bytes) -> bytes:
    """The line that answers a command."""
    connection.grant(_LINE, 1, "lines")
    connection.write(command)
    return (await connection.line()).rstrip(b"\r\n")
