"""CPU seconds of the processes of a control plane, from /proc."""

import asyncio
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

API_SERVER = "kube-apiserver"
PROGRAMS = (API_SERVER, "etcd", "kube-controller-manager", "kube-scheduler", "musterd")
CALM = 0.25
"""Parts of a core that all of them may use together between two measurements."""
CALM_WITHIN = 15.0
"""Seconds for which that is awaited. Controllers clean up after a measurement, and the next one would pay for it."""


@dataclass(frozen=True, slots=True)
class Processes:
    """The processes of one ground; the supervisor keeps their ids in files."""

    folder: Path

    def cpu(self, name: str) -> float:
        """Return user and system time of the process of that name, with all its threads; 0 while it is down."""
        try:
            pid = int((self.folder / f"{name}.pid").read_text())
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except FileNotFoundError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def all(self) -> Mapping[str, float]:
        """Return CPU seconds of each program."""
        return {name: self.cpu(name) for name in PROGRAMS}

    def since(self, before: Mapping[str, float]) -> Mapping[str, float]:
        """Return CPU seconds of each program since it had used those."""
        return {name: seconds - before[name] for name, seconds in self.all().items()}

    async def calm(self) -> None:
        """Wait until they have next to nothing to do, for CALM_WITHIN at most."""
        deadline = time.monotonic() + CALM_WITHIN
        while time.monotonic() < deadline:
            before = sum(self.all().values())
            await asyncio.sleep(1.0)
            if sum(self.all().values()) - before < CALM:
                return
