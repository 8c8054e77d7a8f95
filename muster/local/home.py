"""Where a local cluster lives on disk, and who holds it.

    <state>/lock           held (flock) by the cluster process while it lives; the kernel lets go of it at its end
    <state>/cluster.json   what the holder announced: process id, address, isolation
    <state>/kubeconfig     how to reach it; readable by its owner only, because it holds the token
    <state>/data.db        the API server's objects
    <state>/node/          the node agent's files: logs and pod directories
    <state>/cluster.log    what the cluster process says on standard error
    <state>/musterd.log    the daemon's log, when a command runs one beside the cluster
    <state>/daemon.json    where that daemon answers

A file alone never proves that a cluster runs. The lock does: a ``cluster.json`` whose lock is free was left by a crash.
"""

import fcntl
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import msgspec

from muster.api.errors import MusterError
from muster.local.caller import CALLERS


class Occupied(MusterError):
    """Another process runs a cluster on this state directory."""


class Announcement(msgspec.Struct, frozen=True, kw_only=True):
    """What a running cluster says of itself, on its standard output and in ``cluster.json``."""

    pid: int
    url: str
    kubeconfig: str
    state: str
    isolation: str
    started: float
    """Wall seconds since 1970."""
    workspace: str = ""
    """The directory pods start in; empty where each has a folder of its own."""


def default_home() -> Path:
    """``$MUSTER_HOME``, or ``muster`` in the user's state directory (XDG base directory specification)."""
    if chosen := os.environ.get("MUSTER_HOME"):
        return Path(chosen).expanduser().absolute()
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state).expanduser().absolute() / "muster"


def _lock(file: IO[str]) -> bool:
    """Take the exclusive lock.

    A second and third try, because ``held()`` of another process takes a shared one for an instant.
    """
    for pause in (0.05, 0.1, None):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if pause is not None:
                time.sleep(pause)
        else:
            return True
    return False


class DaemonNote(msgspec.Struct, frozen=True, kw_only=True):
    """Where the daemon of a local cluster answers. A command that runs both writes it; the cluster knows no daemon."""

    pid: int
    url: str
    keeper: int
    """The process that started cluster and daemon, and ends both when it is sent SIGTERM."""


@dataclass(frozen=True, slots=True)
class Home:
    """The files of one cluster."""

    path: Path

    @property
    def lock(self) -> Path:
        """Locked by the cluster for as long as it runs."""
        return self.path / "lock"

    @property
    def announcement(self) -> Path:
        """What a running cluster announces: its ``Announcement``."""
        return self.path / "cluster.json"

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig for kubectl and the commands."""
        return self.path / "kubeconfig"

    @property
    def database(self) -> Path:
        """The API server's objects (SQLite)."""
        return self.path / "data.db"

    @property
    def node(self) -> Path:
        """The node's directory: volumes and logs of pods."""
        return self.path / "node"

    @property
    def callers(self) -> Path:
        """Environments lent to pods (``muster.local.caller``)."""
        return self.node / CALLERS

    @property
    def cluster_log(self) -> Path:
        """The cluster's log."""
        return self.path / "cluster.log"

    @property
    def daemon_log(self) -> Path:
        """The log of musterd."""
        return self.path / "musterd.log"

    @property
    def daemon(self) -> Path:
        """Where the daemon answers: its ``DaemonNote``."""
        return self.path / "daemon.json"

    def create(self) -> None:
        """Make the directory, for its owner only: pods' files and the token are nobody else's business."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def acquire(self) -> IO[str]:
        """Become the one holder; the lock lasts until the returned file is closed or the process ends.

        Raises ``Occupied`` with the holder's process id and what to do.
        """
        self.create()
        held = self.lock.open("a+", encoding="utf-8")
        if not _lock(held):
            held.seek(0)
            holder = held.read(32).strip() or "unknown"
            held.close()
            raise Occupied(
                f"{self.path}: a cluster runs here already (process {holder}); use it, end it with "
                f"`muster local down`, "
                f"or name another directory with MUSTER_HOME"
            )
        held.truncate(0)
        held.write(f"{os.getpid()}\n")
        held.flush()
        return held

    def held(self) -> bool:
        """Whether some process holds the lock right now."""
        try:
            with self.lock.open("r", encoding="utf-8") as probe:
                fcntl.flock(probe, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False

    def running(self) -> Announcement | None:
        """What the cluster that runs here announced; None if none runs, or it is not ready yet."""
        if not self.held():
            return None
        try:
            return msgspec.json.decode(self.announcement.read_bytes(), type=Announcement)
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def announce(self, announcement: Announcement) -> None:
        """Say that a cluster runs here."""
        _write(self.announcement, announcement)

    def note_daemon(self, note: DaemonNote) -> None:
        """Say where the daemon beside the cluster answers."""
        _write(self.daemon, note)

    def noted_daemon(self) -> DaemonNote | None:
        """The daemon beside a running cluster, None where none was noted."""
        try:
            return msgspec.json.decode(self.daemon.read_bytes(), type=DaemonNote) if self.held() else None
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def withdraw(self) -> None:
        """Remove what promises a running cluster: at a proper end, or when a crash left it behind."""
        self.announcement.unlink(missing_ok=True)
        self.kubeconfig.unlink(missing_ok=True)
        self.daemon.unlink(missing_ok=True)


def _write(path: Path, content: msgspec.Struct) -> None:
    """Write a file in one step, so that no reader sees half of it."""
    draft = path.with_name(path.name + ".new")
    draft.write_bytes(msgspec.json.encode(content))
    draft.replace(path)
