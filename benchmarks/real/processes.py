"""CPU seconds of the processes of a control plane, from /proc."""

import os
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
API_SERVER, MUSTERD = "kube-apiserver", "musterd"


def cpu_seconds(pid: int) -> float:
    """User and system time of a process with all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


@dataclass(frozen=True, slots=True)
class Processes:
    """The processes of one ground; the supervisor keeps their ids in files."""

    folder: Path

    def cpu(self, name: str) -> float:
        """CPU seconds that the process of that name has used."""
        return cpu_seconds(int((self.folder / f"{name}.pid").read_text()))


@dataclass(slots=True)
class Stretch:
    """CPU of API server and musterd from its creation until `end`."""

    processes: Processes
    server: float = 0.0
    daemon: float = 0.0
    with_daemon: bool = True

    def __post_init__(self) -> None:
        self.server, self.daemon = self._now()

    def end(self) -> tuple[float, float]:
        """CPU seconds of API server and musterd."""
        server, daemon = self._now()
        return server - self.server, daemon - self.daemon

    def _now(self) -> tuple[float, float]:
        return self.processes.cpu(API_SERVER), self.processes.cpu(MUSTERD) if self.with_daemon else 0.0
