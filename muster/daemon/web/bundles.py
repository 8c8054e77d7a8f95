"""Bundles of runs for readers of the page: what ``muster bundle`` makes, read with the reader's own token.

musterd keeps flat records and no pods, and has no right to read logs (ADR 42), so each bundle is read when a reader
asks for it, by a process of its own (``bundle_process``). It has the token and no credential of musterd, the kernel
bounds its memory and CPU time, and it can be ended at any moment. A reader has one bundle at a time, and musterd
``AT_ONCE``; others wait for their turn. A person with tokens of several names counts as several readers, so the runs of
one namespace share one place, too: with rights in one namespace, no number of tokens takes both.
"""

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from weakref import WeakValueDictionary

import msgspec
import structlog

from muster.daemon.web.bundle_process import REFUSED, Failure, Order
from muster.daemon.web.readers import Refused
from muster.daemon.web.reviews import InUse
from muster.kube.authentication.credentials import ClusterAccess

log = structlog.get_logger()

PROGRAM = (sys.executable, "-P", "-m", "muster.daemon.web.bundle_process")
WITHIN = 20.0
"""Seconds for a bundle, with the wait for its turn."""
AT_ONCE = 2
MEMORY = 128 * 2**20
"""Bytes of data of one process."""
LARGEST = 16 * 2**20
"""Bytes of an archive."""

SPARE = 1.0
"""Seconds that the process has less than its reader, so that it can still report what took so long."""


@dataclass(eq=False)
class Bundles:
    """The bundles of all readers. ``access`` gives the API server for a token's owner; ``program`` makes one bundle."""

    access: Callable[[str], ClusterAccess]
    program: Sequence[str] = PROGRAM
    within: float = WITHIN
    _made_for: InUse = field(default_factory=InUse)
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    _places: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)
    """Places by namespace, as long as a bundle waits or is made."""

    async def make(self, reader: str, token: str, namespace: str, name: str) -> bytes:
        """Return the archive of that run for the owner of ``token``, whose name is ``reader``. Raises ``Refused``."""
        key = reader or sha256(token.encode()).hexdigest()
        busy = Refused(429, "A bundle is being made for you already; only one at a time is.")
        began = time.monotonic()
        try:
            with self._made_for.taking({key: 1}, busy):
                place = self._places.setdefault(namespace, asyncio.Lock())
                async with asyncio.timeout(self.within), place, self._turns:
                    left = self.within - SPARE - (time.monotonic() - began)
                    order = Order(self.access(token), namespace, name, left, MEMORY)
                    archive = await self._run(order)
        except TimeoutError:
            raise Refused(503, f"No bundle could be made within {self.within:g} s; try again.") from None
        seconds = round(time.monotonic() - began, 2)
        log.info("bundle made", reader=reader, namespace=namespace, name=name, bytes=len(archive), seconds=seconds)
        return archive

    async def _run(self, order: Order) -> bytes:
        """Start the process and return its output. The process has ended when this ends."""
        process = await asyncio.create_subprocess_exec(
            *self.program,
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
            output = bytearray()
            while part := await process.stdout.read(2**16):
                output += part
                if len(output) > LARGEST:
                    raise Refused(413, "The archive would be too large.")
            status = await process.wait()
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if status == 0:
            return bytes(output)
        raise _refused(bytes(output) if status == REFUSED else b"", status, order)


def _refused(output: bytes, status: int, order: Order) -> Refused:
    """Return the refusal that the process wrote, or a sentence for a process that was ended or could not write."""
    try:
        failure = msgspec.json.decode(output, type=Failure)
    except msgspec.MsgspecError:
        failure = Failure(500, "The bundle could not be made; see the log of musterd.", f"exit status {status}")
    if failure.problem:
        which = {"namespace": order.namespace, "name": order.name}
        log.warning("a bundle could not be made", **which, problem=failure.problem)
    return Refused(failure.status, failure.text)
