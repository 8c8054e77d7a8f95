"""Keep programs running, and let a test stop one for a while; tests run in other processes than the one that owns them.

For each program there is a file with its process id. A program that ends is started again, unless the file
``<name>.hold`` exists. One that ended without that file did so by itself, which is reported.
"""

import threading
from pathlib import Path

from tests.real.plane.programs import Program

LOOK_EVERY = 0.1


class Supervisor:
    """Owns programs. `close` ends them in the reverse order of their start."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.unexpected: list[str] = []
        """What ended without being asked to, with its last words."""
        self._programs: dict[str, Program] = {}
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, program: Program) -> Program:
        """Take over a program that runs."""
        with self._lock:
            self._programs[program.name] = program
            self._note(program)
        return program

    def __getitem__(self, name: str) -> Program:
        return self._programs[name]

    def check(self) -> None:
        """Raise ProgramFailed if a program has ended; for the time before `watch`."""
        for program in self._programs.values():
            program.check()

    def watch(self) -> None:
        """From now on start again what ends. The kernel ties a child to the thread that started it, so this one
        lives until `close`."""
        self._thread = threading.Thread(target=self._keep, name="supervisor", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closing.set()
        if self._thread is not None:
            self._thread.join()
        for name in reversed(list(self._programs)):
            self._programs.pop(name).end()

    def _keep(self) -> None:
        while not self._closing.wait(LOOK_EVERY):
            with self._lock:
                programs = list(self._programs.values())
            for program in programs:
                if program.process.poll() is None:
                    continue
                held = (self.folder / f"{program.name}.hold").exists()
                expected = self.folder / f"{program.name}.expected"
                if not expected.exists() and not held:
                    self.unexpected.append(f"{program.name} ended by itself; {program.last_lines()}")
                if not held:
                    expected.unlink(missing_ok=True)
                    program.start_again()
                    self._note(program)
                else:
                    expected.touch()

    def _note(self, program: Program) -> None:
        draft = self.folder / f"{program.name}.new"
        draft.write_text(str(program.pid))
        draft.replace(self.folder / f"{program.name}.pid")
