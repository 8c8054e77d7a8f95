"""A child process of the command: it ends with the command, is supervised, and writes its output to a log file.

It runs in a session of its own, so that Ctrl-C in the terminal reaches the command alone, which then ends its
children in order.
"""

import asyncio
import contextlib
import os
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from muster.api.errors import MusterError
from muster.local import tether

LAST_LINES = 15
KILL_SECONDS = 20.0
"""Seconds a child may take to end by itself once it was asked to."""


class ChildEnded(MusterError):
    """A child process that the command needs has ended."""


def module(name: str, *arguments: str) -> list[str]:
    """Return the argument vector that runs one of our own modules, whatever directory the command was called in."""
    return [sys.executable, "-P", "-m", name, *arguments]


@dataclass(slots=True)
class Child:
    """One child process. Create it with ``start``, and always ``stop`` it."""

    name: str
    log: Path
    process: asyncio.subprocess.Process

    @classmethod
    async def start(
        cls,
        name: str,
        program: Sequence[str],
        log: Path,
        *,
        announces: bool = False,
        environ: Mapping[str, str] = MappingProxyType({}),
    ) -> "Child":
        """Start ``program`` with its output in ``log``, and ``environ`` added to the environment of this process.

        With ``announces`` its standard output is read by the caller.
        """
        with log.open("ab") as file:
            process = await asyncio.create_subprocess_exec(
                *tether.command(program),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE if announces else file,
                stderr=file,
                env={**os.environ, **environ},
                start_new_session=True,
            )
        return cls(name, log, process)

    async def announcement(self, seconds: float) -> bytes:
        """Return its first line on standard output. Raises ``ChildEnded`` without one within ``seconds``."""
        assert self.process.stdout is not None
        try:
            async with asyncio.timeout(seconds):
                line = await self.process.stdout.readline()
        except TimeoutError:
            raise ChildEnded(self._with_log(f"the {self.name} was not ready after {seconds:g} s")) from None
        if not line:
            await self.watch()
        return line

    async def watch(self) -> None:
        """Wait for its end, and raise ``ChildEnded`` with the last lines of its log: it was not asked to end."""
        status = await self.process.wait()
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        raise ChildEnded(self._with_log(f"the {self.name} (process {self.process.pid}) {how}"))

    async def stop(self) -> None:
        """Ask it to end, and kill it if it does not."""
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.terminate()
            try:
                async with asyncio.timeout(KILL_SECONDS):
                    await self.process.wait()
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    self.process.kill()
                await self.process.wait()

    def _with_log(self, what: str) -> str:
        try:
            with self.log.open(encoding="utf-8", errors="replace") as file:
                lines = [line.rstrip() for line in deque(file, LAST_LINES)]
        except OSError:
            lines = []
        last = "".join(f"\n  {line}" for line in lines) or "\n  (nothing)"
        return f"{what}; the last lines of {self.log}:{last}"
