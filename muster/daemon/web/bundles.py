"""Bundles of runs for readers of the page: what ``muster bundle`` makes, read with the reader's own token.

musterd keeps flat records and no pods, and has no right to read logs (ADR 42), so each bundle is read when a reader
asks for it, by a process of its own (``bundle_process``). It has the token and no credential of musterd, the kernel
bounds its memory and CPU time, and it can be ended at any moment. A reader has one bundle at a time, and musterd
``AT_ONCE``; others wait for their turn. A person with tokens of several names counts as several readers, so the runs of
one namespace share one place, too: with rights in one namespace, no number of tokens takes both.

Makes the bundle of one run and ends: a process that musterd starts for one reader (see ``bundles``).

Everything is read with the reader's token, and with no credential of musterd. The order comes on standard input, so
that the token is in no argument and no environment. The archive goes to standard output with exit status 0, a
``Failure`` with ``REFUSED``.
"""

import asyncio
import contextlib
import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from hashlib import sha256
from weakref import WeakValueDictionary

import msgspec
import structlog

from muster.api.errors import ApiError, Forbidden, Invalid, MusterError, NotFound, Throttled, Unreachable
from muster.api.values.printable import MESSAGE, printable
from muster.client.client import Client
from muster.client.errors import NoSuchExperiment, NotInstalled
from muster.client.explaining.bundle import bundle
from muster.client.subjects import UnknownKind
from muster.daemon.web.readers import Refused
from muster.kube.authentication.credentials import FixedAccess
from muster.kube.connection import Connection

AGENT = "musterd-for-reader"
"""User agent of the requests: in an audit log they appear beside the reader's own."""
REFUSED = 3
"""Exit status of a bundle that was not made."""
LONGEST_ORDER = 64 * 2**10
NICER = 10


class Order(msgspec.Struct, frozen=True):
    """The run, the reader's token, and the limits of one bundle."""

    access: FixedAccess
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
        said, status = asyncio.run(made(order)), 0
    except Exception as error:  # noqa: BLE001 - musterd logs it; a traceback would be read by nobody
        said, status = msgspec.json.encode(failure(error, order.seconds)), REFUSED
    sys.stdout.buffer.write(said)
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
    said = printable(str(error), MESSAGE)
    match error:
        case ApiError(status=401):
            return Failure(401, "The API server does not accept your token; it may have expired.")
        case Forbidden():
            return Failure(403, f"The API server refuses to show it to you: {said}")
        case NoSuchExperiment() | NotInstalled() | NotFound() | Invalid() | UnknownKind():
            return Failure(404, f"There is nothing to make a bundle of: {said}")
        case TimeoutError():
            return Failure(503, f"The bundle was not ready within {seconds:g} s. {ELSEWHERE}")
        case MemoryError():
            return Failure(413, f"The run is too large for musterd to make its bundle. {ELSEWHERE}")
        case Unreachable() | Throttled():
            return Failure(503, "The API server does not answer now; try again.", said)
        case MusterError():
            return Failure(502, "The API server does not answer as it should.", said)
    return Failure(500, "The bundle could not be made; see the log of musterd.", f"{type(error).__name__}: {said}")


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


log = structlog.get_logger()

PROGRAM = (sys.executable, "-P", "-m", "muster.daemon.web.bundles")
WITHIN = 20.0
"""Seconds for a bundle, with the wait for its turn."""
AT_ONCE = 2
MEMORY = 128 * 2**20
"""Bytes of data of one process."""
LARGEST = 16 * 2**20
"""Bytes of an archive."""

SPARE = 1.0
"""Seconds that the process has less than its reader, so that it can still report what took so long."""


class Bundles:
    """The bundles of all readers. ``access`` gives the API server for a token's owner; ``program`` makes one bundle."""

    def __init__(
        self, access: Callable[[str], FixedAccess], program: Sequence[str] = PROGRAM, within: float = WITHIN
    ) -> None:
        self._access = access
        self._program = program
        self._within = within
        self._made_for: set[str] = set()
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._places: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """Places by namespace, as long as a bundle waits or is made."""

    async def make(self, reader: str, token: str, namespace: str, name: str) -> bytes:
        """Return the archive of that run for the owner of ``token``, whose name is ``reader``. Raises ``Refused``."""
        key = reader or sha256(token.encode()).hexdigest()
        if key in self._made_for:
            raise Refused(429, "A bundle is being made for you already; only one at a time is.")
        self._made_for.add(key)
        began = time.monotonic()
        try:
            place = self._places.setdefault(namespace, asyncio.Lock())
            async with asyncio.timeout(self._within), place, self._turns:
                left = self._within - SPARE - (time.monotonic() - began)
                order = Order(self._access(token), namespace, name, left, MEMORY)
                archive = await self._run(order)
        except TimeoutError:
            raise Refused(503, f"No bundle could be made within {self._within:g} s; try again.") from None
        finally:
            self._made_for.discard(key)
        seconds = round(time.monotonic() - began, 2)
        log.info("bundle made", reader=reader, namespace=namespace, name=name, bytes=len(archive), seconds=seconds)
        return archive

    async def _run(self, order: Order) -> bytes:
        """Start the process and return its output. The process has ended when this ends."""
        process = await asyncio.create_subprocess_exec(
            *self._program,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=os.environ | {"MALLOC_ARENA_MAX": "1"},
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(msgspec.json.encode(order))
            process.stdin.close()
            said = bytearray()
            while part := await process.stdout.read(2**16):
                said += part
                if len(said) > LARGEST:
                    raise Refused(413, "The archive would be too large.")
            status = await process.wait()
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if status == 0:
            return bytes(said)
        raise _refused(bytes(said) if status == REFUSED else b"", status)


def _refused(said: bytes, status: int) -> Refused:
    """Return the refusal that the process wrote, or a sentence for a process that was ended or could not write."""
    try:
        failure = msgspec.json.decode(said, type=Failure)
    except msgspec.MsgspecError:
        failure = Failure(500, "The bundle could not be made; see the log of musterd.", f"exit status {status}")
    if failure.problem:
        log.warning("a bundle could not be made", problem=failure.problem)
    return Refused(failure.status, failure.text)
