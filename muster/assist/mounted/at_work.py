"""Shows whether a process works while its main thread is in one call, and what a request for its stacks cost.

The main thread may wait for other threads of the process, for its children, or for a disk: their CPU and the bytes that
they move are evidence of progress. They are read if the main thread itself does not compute, every ``CHECK`` seconds,
at a cost of 0.5 ms.

The answer to SIGURG (``muster stacks``) takes CPU of the main thread, and is no work of the program. It changes the
file that the stacks are written to. All else is read from /proc; without it nothing is known.
"""

from __future__ import annotations

import os
import sys
import threading

CHECK = 8.0
"""Seconds between two looks at the other threads and at the children."""
COMPUTES = 0.01
"""The part of its time that a computing main thread has a CPU: one that polls has less."""
OTHERS_COMPUTE = 0.05
"""That part for all other threads and the children together: threads of frameworks wake for nothing."""
BUSY = 0.8
"""The part of its time that an always computing thread runs, or would run if a CPU were free."""
LEAST = 10_000_000
"""Nanoseconds of CPU below which such a thread only wakes often on a busy machine."""
MOVED = 1 << 16
"""Bytes written or read in ``CHECK`` seconds."""
COMPUTING, WRITING, READING, MOVING, INPUT = "computing", "writing", "reading", "at work", "input"
"""Kinds of work of a process; with ``INPUT`` it waits for a person."""
MOST_THREADS, MOST_CHILDREN = 64, 16
FUTEX = {"x86_64": 202, "aarch64": 98}
"""The number of the system call in which a thread waits for another one of its process."""
STACKS, FIRST_FILE = "muster-stacks-", 100
"""The name of the file for stacks, and the lowest number that it may have (``sitecustomize``)."""
LOOKS_APART = 30
"""Looks between two searches for that file, while there is none."""
OWN = "muster "
"""The beginning of the names of Muster's own threads."""


def read(path: str) -> str:
    """Return the beginning of a file of /proc; empty if it cannot be read. open() would take twice as long."""
    try:
        file = os.open(path, os.O_RDONLY)
        try:
            return os.read(file, 4096).decode("ascii", "replace")
        finally:
            os.close(file)
    except OSError:
        return ""


def numbers(text: str) -> list[int]:
    """Return the whole numbers among the words of a text."""
    return [int(word) for word in text.split() if word.isdigit()]


class Question:
    """The notice of an answer to a signal since the last call: the file for stacks has changed."""

    def __init__(self) -> None:
        self._file, self._rest = -1, 0
        self._is: tuple[int, ...] = ()
        self._was: tuple[int, ...] = ()

    def asked(self) -> bool:
        """Return True if stacks were written since the last call, or their file was emptied to ask for them."""
        if self._file < 0 and not self._find():
            return False
        try:
            now = os.fstat(self._file)
        except OSError:
            now = None
        if now is None or (now.st_dev, now.st_ino) != self._is:  # the program has closed all its files
            self._file = -1
            return False
        before, self._was = self._was, (now.st_mtime_ns, now.st_size)
        return bool(before) and before != self._was

    def _find(self) -> bool:
        self._rest -= 1
        if self._rest > 0:
            return False
        self._rest = LOOKS_APART
        for name in os.listdir("/proc/self/fd"):
            try:
                if int(name) >= FIRST_FILE and STACKS in os.readlink(f"/proc/self/fd/{name}"):
                    found = os.fstat(int(name))
                    self._file, self._is = int(name), (found.st_dev, found.st_ino)
                    self._was = (found.st_mtime_ns, found.st_size)
                    return True
            except OSError:
                continue
        return False


class Others:
    """The other threads of this process and its children: their use since the last look."""

    def __init__(self) -> None:
        self._at = 0.0
        self._threads: dict[str, tuple[int, int]] = {}
        self._children: dict[int, int] = {}
        self._bytes = (0, 0)

    def forget(self) -> None:
        """Make the next look the first one."""
        self._at = 0.0

    def due(self, now: float) -> bool:
        """Return True if it is time to look."""
        return self._at == 0 or now - self._at >= CHECK

    def look(self, now: float, main: int | None) -> str:
        """Return the work of the others; empty without a sign, and at the first look. ``main`` is left out."""
        seconds, self._at = now - self._at if self._at else 0.0, now
        threads, self._threads = self._threads, thread_times(main)
        children, self._children = self._children, child_times()
        (wrote, had), self._bytes = self._bytes, moved_bytes(self._children)
        if not seconds:
            return ""
        spent = [
            (ran - threads[name][0], queued - threads[name][1])
            for name, (ran, queued) in self._threads.items()
            if name in threads
        ]
        used = sum(ran for ran, _ in spent) / 1e9
        used += (
            sum(ticks - children[pid] for pid, ticks in self._children.items() if pid in children) / ticks_a_second()
        )
        always = any(ran >= LEAST and ran + queued >= BUSY * seconds * 1e9 for ran, queued in spent)
        if used >= OTHERS_COMPUTE * seconds or always:
            return COMPUTING
        if self._bytes[0] - wrote >= MOVED:
            return WRITING
        return READING if self._bytes[1] - had >= MOVED else ""


def ticks_a_second() -> int:
    """Return the unit of the times of a process in /proc."""
    return os.sysconf("SC_CLK_TCK")


def thread_times(main: int | None) -> dict[str, tuple[int, int]]:
    """Return how long each other thread, except Muster's, ran and waited for a CPU, in nanoseconds."""
    left_out = {str(each.native_id) for each in threading.enumerate() if each.name.startswith(OWN)} | {str(main)}
    try:
        names = [name for name in os.listdir("/proc/self/task") if name not in left_out]
    except OSError:
        return {}
    times = {name: numbers(read(f"/proc/self/task/{name}/schedstat")) for name in names[:MOST_THREADS]}
    return {name: (found[0], found[1]) for name, found in times.items() if len(found) > 1}


def child_times() -> dict[int, int]:
    """Return the ticks of CPU that each descendant has used."""
    found: dict[int, int] = {}
    try:
        tasks = os.listdir("/proc/self/task")[:MOST_THREADS]
    except OSError:
        tasks = []
    left = [pid for task in tasks for pid in numbers(read(f"/proc/self/task/{task}/children"))]
    while left and len(found) < MOST_CHILDREN:
        pid = left.pop(0)
        words = read(f"/proc/{pid}/stat").rpartition(")")[2].split()
        if len(words) > 12:
            found[pid] = int(words[11]) + int(words[12])
            left += numbers(read(f"/proc/{pid}/task/{pid}/children"))
    return found


def moved_bytes(children: dict[int, int]) -> tuple[int, int]:
    """Return the bytes that the process and its children have written and read."""
    wrote = had = 0
    for pid in ("self", *children):
        count = numbers(read(f"/proc/{pid}/io"))
        if len(count) > 5:
            wrote, had = wrote + count[1] + count[5], had + count[0] + count[4]
    return wrote, had


def system_call(native: int | None) -> tuple[int, int]:
    """Return the number of a waiting thread's system call, and its first argument; -1 if it waits in none."""
    words = read(f"/proc/self/task/{native}/syscall").split()
    try:
        return int(words[0]), int(words[1], 16)
    except (ValueError, IndexError):
        return -1, -1


def waits_alone(native: int | None) -> bool:
    """Return True if a thread waits in the kernel for time, a file or a connection, not for a thread of its process."""
    futex, call = FUTEX.get(os.uname().machine, -1), system_call(native)[0]
    return futex >= 0 <= call != futex


def waits_for_input(native: int | None) -> bool:
    """Return True if the program waits for input of a person: a notebook, a shell of Python, a terminal."""
    if "ipykernel" in sys.modules or hasattr(sys, "ps1"):
        return waits_alone(native)
    try:
        return system_call(native) == (READ.get(os.uname().machine), 0) and os.isatty(0)
    except OSError:
        return False


READ = {"x86_64": 0, "aarch64": 63}
"""The number of the system call that reads from a file."""
