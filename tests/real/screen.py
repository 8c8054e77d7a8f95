"""What a person sees who has `muster get --watch` open in the test's namespace."""

import asyncio
import contextlib
import re
import sys
from collections.abc import AsyncIterator

from tests.real.ground import ROOT, Ground

GAP = re.compile(r" {3,}")
PHASE, REASON, MESSAGE = 1, 2, 7
"""Columns of the table."""


class Screen:
    """The lines so far."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self.lines: list[str] = []
        self.errors: list[str] = []
        """What the command wrote about itself: interruptions of its watch."""
        self._reader = reader
        self._more = asyncio.Condition()

    async def read(self) -> None:
        while line := await self._reader.readline():
            async with self._more:
                self.lines.append(line.decode(errors="replace").rstrip("\n"))
                self._more.notify_all()

    async def read_errors(self, reader: asyncio.StreamReader) -> None:
        while line := await reader.readline():
            self.errors.append(line.decode(errors="replace").rstrip("\n"))

    def sentences(self, name: str) -> list[str]:
        """Phase, reason and message of each line about one experiment."""
        return [spoken(line) for line in self.lines if line.startswith(f"{name} ")]

    async def shows(self, name: str, pattern: str, seconds: float) -> str:
        """The newest sentence about an experiment that matches. Raises AssertionError if none does in time."""
        expected = re.compile(pattern)

        def found() -> str:
            return next((each for each in reversed(self.sentences(name)) if expected.search(each)), "")

        try:
            async with asyncio.timeout(seconds), self._more:
                await self._more.wait_for(found)
        except TimeoutError:
            shown = "".join(f"\n  {each}" for each in self.sentences(name)[-8:]) or " nothing"
            raise AssertionError(f"`muster get` does not show {pattern!r} after {seconds:g} s, but:{shown}") from None
        return found()


def spoken(line: str) -> str:
    """Phase, reason and message of a line of the table."""
    cells = [*GAP.split(line, maxsplit=MESSAGE), *[""] * MESSAGE]
    return " ".join(cell for cell in (cells[PHASE], cells[REASON], cells[MESSAGE]) if cell not in ("", "-"))


@contextlib.asynccontextmanager
async def screen(ground: Ground, namespace: str) -> AsyncIterator[Screen]:
    options = ("--watch", "--kubeconfig", ground.admin, "--namespace", namespace)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "muster.cli", "get", *options),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    opened = Screen(process.stdout)
    reading = asyncio.gather(opened.read(), opened.read_errors(process.stderr))
    try:
        yield opened
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        await reading
