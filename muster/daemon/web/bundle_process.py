"""Makes the bundle of one run and ends: a process that musterd starts for one reader (see ``bundles``).

Everything is read with the reader's token, and with no credential of musterd. The order comes on standard input, so
that the token is in no argument and no environment. The archive goes to standard output with exit status 0, a
``Failure`` with ``REFUSED``.
"""

import asyncio
import os
import resource
import sys
import time

import msgspec

from muster.api.errors import ApiError, Forbidden, Invalid, MusterError, NotFound, Throttled, Unreachable
from muster.api.values.printable import MESSAGE, printable
from muster.client.client import Client
from muster.client.errors import NoSuchExperiment, NotInstalled
from muster.client.explaining.bundle import bundle
from muster.client.subjects import UnknownKind
from muster.kube.authentication.credentials import ClusterAccess
from muster.kube.connection import Connection

AGENT = "musterd-for-reader"
"""User agent of the requests: in an audit log they appear beside the reader's own."""
REFUSED = 3
"""Exit status of a bundle that was not made."""
LONGEST_ORDER = 64 * 2**10
NICER = 10


class Order(msgspec.Struct, frozen=True):
    """The run, the reader's token, and the limits of one bundle."""

    access: ClusterAccess
    namespace: str
    name: str
    seconds: float
    memory: int
    """Bytes of data of this process."""


class Failure(msgspec.Struct, frozen=True):
    """The reason for a missing bundle: HTTP status and sentence for the reader; ``problem`` is for the log."""

    status: int
    text: str
    problem: str = ""


def main() -> None:
    """Read the order, make the bundle."""
    order = msgspec.json.decode(sys.stdin.buffer.read(LONGEST_ORDER), type=Order)
    _limit(order)
    try:
        output, status = asyncio.run(made(order)), 0
    except Exception as error:  # noqa: BLE001 - musterd logs it; a traceback would be read by nobody
        output, status = msgspec.json.encode(failure(error, order.seconds)), REFUSED
    sys.stdout.buffer.write(output)
    sys.stdout.buffer.flush()
    sys.exit(status)


async def made(order: Order) -> bytes:
    """Return the archive. Raises ``MusterError``, ``TimeoutError`` and ``MemoryError``."""
    async with asyncio.timeout(order.seconds):
        connection = await Connection.open(order.access, agent=AGENT)
        try:
            async with Client(transport=connection, namespace=order.namespace) as client:
                found = await client.explain(order.name, last_lines=True)
        finally:
            await connection.aclose()
    return bundle(found, time.time())


def failure(error: Exception, seconds: float) -> Failure:
    """Return the answer that the reader gets instead of a bundle."""
    message = printable(str(error), MESSAGE)
    match error:
        case ApiError(status=401):
            return Failure(401, "The API server does not accept your token; it may have expired.")
        case Forbidden():
            return Failure(403, f"The API server refuses to show it to you: {message}")
        case NoSuchExperiment() | NotInstalled() | NotFound() | Invalid() | UnknownKind():
            return Failure(404, f"There is nothing to make a bundle of: {message}")
        case TimeoutError():
            return Failure(503, f"The bundle was not ready within {seconds:g} s. {ELSEWHERE}")
        case MemoryError():
            return Failure(413, f"The run is too large for musterd to make its bundle. {ELSEWHERE}")
        case Unreachable() | Throttled():
            return Failure(503, "The API server does not answer now; try again.", message)
        case MusterError():
            return Failure(502, "The API server does not answer as it should.", message)
    return Failure(500, "The bundle could not be made; see the log of musterd.", f"{type(error).__name__}: {message}")


ELSEWHERE = "`muster bundle` in a terminal has no such limit."


def _limit(order: Order) -> None:
    """Bound the memory and CPU time of this process, so that musterd and its pod keep running."""
    os.nice(NICER)
    seconds = int(order.seconds) + 1
    for what, most in (
        (resource.RLIMIT_DATA, order.memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        resource.setrlimit(what, (most, most))


if __name__ == "__main__":
    main()
