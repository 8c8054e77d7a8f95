"""A program started beside the tests: output in a file, ended by its process id, and by the kernel if the tests die."""

import contextlib
import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from muster.local import tether

LAST_LINES = 20
END_SECONDS = 20.0


class ProgramFailed(Exception):
    """A program did not start, or ended when it should run; the text carries the last lines of its log."""


class Program:
    """One process. `end` it always; a tether (prctl PR_SET_PDEATHSIG) ends it when this process is killed."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log: Path,
        *,
        environment: Mapping[str, str] | None = None,
        death: signal.Signals = signal.SIGKILL,
    ) -> None:
        self.name = name
        self.command = list(command)
        self.log = log
        self._environment = {**os.environ, **(environment or {})}
        self._death = death
        self.process = self._started()

    @property
    def pid(self) -> int:
        """The process id: the tether becomes the program, it does not stay as its parent."""
        return self.process.pid

    def start_again(self) -> None:
        """The same command once more, after `end` or `signal(SIGKILL)`."""
        self.process.wait()
        self.process = self._started()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, unless the process has ended."""
        if self.process.poll() is None:
            self.process.send_signal(number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.process.wait()

    def end(self) -> None:
        """SIGTERM, END_SECONDS, SIGKILL. A stopped process is continued first, or it could not obey."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(END_SECONDS)
        self.kill()

    def check(self) -> None:
        """Raise ProgramFailed if the process has ended."""
        status = self.process.poll()
        if status is not None:
            raise ProgramFailed(f"{self.name} ended with status {status}; {self.last_lines()}")

    def until(self, ready: Callable[[], bool], seconds: float, what: str = "ready") -> None:
        """Ask again until it is true. Raise ProgramFailed if the process has ended, or when the seconds are over."""
        deadline = time.monotonic() + seconds
        while not ready():
            self.check()
            if time.monotonic() > deadline:
                raise ProgramFailed(f"{self.name} was not {what} after {seconds:g} s; {self.last_lines()}")
            time.sleep(0.05)

    def last_lines(self) -> str:
        """The end of its log, for an error message."""
        with self.log.open(encoding="utf-8", errors="replace") as file:
            lines = "".join(f"\n  {line.rstrip()[:400]}" for line in deque(file, LAST_LINES))
        return f"the last lines of {self.log}:{lines or ' (none)'}"

    def _started(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as file:
            return subprocess.Popen(
                tether.command(self.command, death=self._death),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                env=self._environment,
                start_new_session=True,
            )
