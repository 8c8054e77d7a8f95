"""Container logs: one file per run of a container, with lines of the form `<rfc3339nano> <text>`.

All options of `kubectl logs` are answered from these lines; the writer wakes followers. Standard output and standard
error are in one file, in the order in which the container wrote them. A file of more than `MAX_FILE` bytes is renamed
to `<run>.log.1`, in place of an older one, and a new file is started; `kubectl logs` shows that one, as with a kubelet.
"""

import asyncio
import contextlib
import re
from collections import deque
from collections.abc import AsyncIterator
from itertools import accumulate
from pathlib import Path

from muster.local.node.objects import Clock, nano_time

MAX_LINE = 64 * 1024
BLOCK = 64 * 1024
MAX_FILE = 32 * 1024 * 1024
"""Bytes of one file; a container has two (a kubelet's default: five of 10 MiB)."""
MESSAGE_LINES, MESSAGE_BYTES = 80, 2048
"""Part of a log that becomes a termination message (pkg/kubelet/container/runtime.go)."""
_RUN = re.compile(r"(\d+)\.log")


class NoLogError(FileNotFoundError):
    """The log does not exist. The message has the reason."""


class LogWriter:
    """Writes the output of one run of a container."""

    def __init__(self, path: Path, clock: Clock) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.closed = False
        self.generation = 0
        """Number of times that the file was renamed."""
        self._clock = clock
        self._file = path.open("ab", buffering=0)
        self._size = self._file.tell()
        self._lost = 0
        self._rest = bytearray()
        self._more = asyncio.Event()

    def feed(self, data: bytes) -> None:
        """Write every complete line. A line is split at 64 KiB."""
        self._rest += data
        *whole, rest = self._rest.split(b"\n")
        while len(rest) >= MAX_LINE:
            whole.append(rest[:MAX_LINE])
            rest = rest[MAX_LINE:]
        self._rest = bytearray(rest)
        if whole:
            self._write([bytes(line) for line in whole])
            self._wake()

    def close(self) -> None:
        """Write the rest of the output as a last line, and close the file."""
        if self.closed:
            return
        if self._rest:
            self._write([bytes(self._rest)])
        self.closed = True
        self._file.close()
        self._wake()

    def _write(self, lines: list[bytes]) -> None:
        """Append lines. A disk that is full must not end the program: lines that cannot be written are counted."""
        stamp = nano_time(self._clock()).encode() + b" "
        notice = [b"(%d lines are missing: the disk of the log was full)" % self._lost] if self._lost else []
        data = b"".join(stamp + line + b"\n" for line in (*notice, *lines))
        try:
            if self._size > MAX_FILE:
                self._rotate()
            self._size += self._file.write(data)
        except OSError:
            self._lost += len(lines)
        else:
            self._lost = 0

    def _rotate(self) -> None:
        self.path.replace(self.path.with_name(f"{self.path.name}.1"))
        self._file.close()
        self._file = self.path.open("ab", buffering=0)
        self._size = 0
        self.generation += 1

    async def more(self) -> None:
        """Wait until something is written or the log is closed. Check `closed` and read before."""
        await self._more.wait()

    def _wake(self) -> None:
        self._more.set()
        self._more = asyncio.Event()


class LogStore:
    """The logs of all pods on the node; the API server serves `kubectl logs` from it (its PodLogs)."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._folders: dict[tuple[str, str], Path] = {}
        self._open: dict[Path, LogWriter] = {}

    def register(self, namespace: str, pod: str, folder: Path) -> None:
        """Register the folder with a pod's logs, which has one folder per container."""
        self._folders[namespace, pod] = folder

    def unregister(self, namespace: str, pod: str, folder: Path) -> None:
        """Remove a deleted pod, unless another pod of this name was registered."""
        if self._folders.get((namespace, pod)) == folder:
            del self._folders[namespace, pod]

    def writer(self, folder: Path, container: str, run: int) -> LogWriter:
        """Create the log of a run. The log of the run before is kept for `--previous`, older ones are removed."""
        path = folder / container / f"{run}.log"
        for old in runs(folder / container)[:-1]:
            for name in (f"{old}.log", f"{old}.log.1"):
                (folder / container / name).unlink(missing_ok=True)
        made = self._open[path] = LogWriter(path, self._clock)
        return made

    def finish(self, writer: LogWriter) -> None:
        """Close the log of a container that has ended."""
        writer.close()
        self._open.pop(writer.path, None)

    async def read(
        self,
        namespace: str,
        pod: str,
        container: str,
        *,
        previous: bool = False,
        follow: bool = False,
        tail: int | None = None,
        since: float | None = None,
        timestamps: bool = False,
    ) -> AsyncIterator[bytes]:
        """Yield the log line by line. `since` is in seconds since 1970. NoLogError is raised before the first line."""
        path = self._path(namespace, pod, container, previous=previous)
        writer = self._open.get(path)
        oldest = b"" if since is None else nano_time(int(since * 1e9)).encode()
        with contextlib.ExitStack() as files:
            file = files.enter_context(path.open("rb"))
            generation = 0 if writer is None else writer.generation
            file.seek(0 if tail is None else _tail_offset(path, tail))
            rest = b""
            while True:
                ended = writer is None or writer.closed
                renamed = writer is not None and writer.generation != generation
                while block := file.read(BLOCK):
                    *whole, rest = (rest + block).split(b"\n")
                    for line in whole:
                        stamp, _, text = line.partition(b" ")
                        if stamp >= oldest:
                            yield (line if timestamps else text) + b"\n"
                if renamed and writer is not None:  # what follows is in the new file
                    files.pop_all().close()
                    file, rest, generation = files.enter_context(path.open("rb")), b"", writer.generation
                    continue
                if ended or not follow or writer is None:
                    return
                await writer.more()

    def _path(self, namespace: str, pod: str, container: str, *, previous: bool) -> Path:
        folder = self._folders.get((namespace, pod))
        if folder is None:
            raise NoLogError(f'pod "{pod}" in namespace "{namespace}" has not run on this node')
        found = runs(folder / container)
        if previous:
            if len(found) < 2:
                raise NoLogError(f'previous terminated container "{container}" in pod "{pod}" not found')
            return folder / container / f"{found[-2]}.log"
        if not found:
            raise NoLogError(f'container "{container}" in pod "{pod}" is waiting to start: ContainerCreating')
        return folder / container / f"{found[-1]}.log"


def runs(folder: Path) -> list[int]:
    """Return the numbers of the runs of a container that have a log, in ascending order."""
    if not folder.is_dir():
        return []
    return sorted(int(match.group(1)) for entry in folder.iterdir() if (match := _RUN.fullmatch(entry.name)))


def termination_message(path: Path) -> str:
    """Return the end of a log, without its timestamps, for ``terminationMessagePolicy: FallbackToLogsOnError``."""
    with path.open("rb") as file:
        file.seek(_tail_offset(path, MESSAGE_LINES))
        lines = [line.partition(b" ")[2] for line in file]
    return b"".join(lines)[-MESSAGE_BYTES:].decode(errors="replace")


def _tail_offset(path: Path, lines: int) -> int:
    with path.open("rb") as file:
        return deque(accumulate(map(len, file), initial=0), maxlen=lines + 1)[0]


class LogPipe(asyncio.Protocol):
    """Copies the output pipe of a container to its log. `ended` is set at end of file."""

    def __init__(self, writer: LogWriter) -> None:
        self.ended = asyncio.Event()
        self._writer = writer

    def data_received(self, data: bytes) -> None:
        """Write output to the log."""
        self._writer.feed(data)

    def connection_lost(self, _exc: Exception | None) -> None:
        """Note the end of the output."""
        self.ended.set()
