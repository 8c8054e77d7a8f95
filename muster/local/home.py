"""The state directory of a local cluster: its files, and the lock that shows whether a cluster runs.

    <state>/lock           held (flock) by the cluster process; the kernel releases it when the process ends
    <state>/cluster.json   what the cluster announced: process id, address, isolation
    <state>/kubeconfig     address, token and certificate authority; readable by its owner only
    <state>/data.db        the API server's objects
    <state>/node/          the node agent's files: logs, pod directories, callers of ``muster run``
    <state>/cluster.log    standard error of the cluster process
    <state>/musterd.log    log of the daemon, if a command runs one with the cluster
    <state>/daemon.json    address of that daemon
    <state>/runs/          a state directory for each cluster that ``muster run`` starts for itself

Only the lock shows that a cluster runs: a ``cluster.json`` whose lock is free was left by a crash.
"""

import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec

from muster.api.errors import MusterError
from muster.api.names import LABEL_EXPERIMENT

CALLERS = "callers"
"""Folder of the files of callers, in the node agent's folder."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Environment and working directory of the caller of ``muster run``, with which containers of its experiment start.

    On a cluster the image sets both. Here the caller's shell takes the place of the image: its Python, its variables,
    its project. ``muster run`` writes them to a file before it creates the experiment, and the node agent reads the
    file for each pod with the experiment's label. Other pods get the environment of
    ``muster.local.node.sources.environment``.

    The file holds the secrets of the environment, so only its owner can read it, and it is removed after the run.
    """

    environment: Mapping[str, str]
    directory: Path


@contextmanager
def write_caller(folder: Path, namespace: str, experiment: str, caller: Caller) -> Iterator[Path]:
    """Write the file for the pods of ``experiment``; it is removed when the context ends."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = _file(folder, namespace, experiment)
    content = {"environment": dict(caller.environment), "directory": str(caller.directory)}
    try:
        _write(path, json.dumps(content).encode("ascii"))  # escapes all else, also lone surrogates of bytes
        yield path
    finally:
        path.unlink(missing_ok=True)


def read_caller(folder: Path, pod: Mapping[str, Any]) -> Caller | None:
    """Return the caller of the experiment that this pod belongs to; None if there is no file."""
    metadata = pod.get("metadata") or {}
    experiment = (metadata.get("labels") or {}).get(LABEL_EXPERIMENT)
    if not experiment:
        return None
    try:
        content = json.loads(_file(folder, str(metadata.get("namespace")), str(experiment)).read_bytes())
    except FileNotFoundError:
        return None
    return Caller(content["environment"], Path(content["directory"]))


def _file(folder: Path, namespace: str, experiment: str) -> Path:
    """Return a unique path inside the folder: namespaces contain no dot and label values no slash."""
    return folder / f"{namespace}.{experiment}.json"


class Occupied(MusterError):
    """Another process runs a cluster in this state directory."""


class Exposed(MusterError):
    """The state directory belongs to another user, or is open to others and is not only a cluster's."""


class NoDirectory(MusterError):
    """The state directory cannot be created."""


class Announcement(msgspec.Struct, frozen=True, kw_only=True):
    """Announcement that a running cluster prints when it is ready and writes to ``cluster.json``."""

    pid: int
    url: str
    kubeconfig: str
    state: str
    isolation: str
    started: float
    """Wall seconds since 1970."""
    workspace: str = ""
    """Working directory of containers that set none; if empty, each pod has one of its own."""


def default_home() -> Path:
    """Return ``$MUSTER_HOME``, or ``muster`` in the user's state directory (XDG base directory specification)."""
    if chosen := os.environ.get("MUSTER_HOME"):
        return Path(chosen).expanduser().absolute()
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state).expanduser().absolute() / "muster"


def _lock(file: IO[str]) -> bool:
    """Take the exclusive lock. Tries three times, because ``held()`` in another process takes a shared lock briefly."""
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
    """Address of the daemon that runs with a local cluster. The command that starts both writes it."""

    pid: int
    url: str
    keeper: int
    """The process that started cluster and daemon, and stops both on SIGTERM."""


T = TypeVar("T", bound=msgspec.Struct)


class Home:
    """The files of one cluster, by the names that this module's docstring explains."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = path / "lock"
        self.announcement = path / "cluster.json"
        self.kubeconfig = path / "kubeconfig"
        self.database = path / "data.db"
        self.runs = path / "runs"
        self.node = path / "node"
        self.callers = self.node / CALLERS
        self.cluster_log = path / "cluster.log"
        self.daemon_log = path / "musterd.log"
        self.daemon = path / "daemon.json"

    def make(self) -> None:
        """Create the directory, if it does not exist, with mode 0700. Raises ``NoDirectory``."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise NoDirectory(
                f"{self.path} cannot be a directory for the state of a local cluster: {error.strerror}; "
                "name another with MUSTER_HOME"
            ) from error

    def create(self) -> None:
        """Create the directory with mode 0700: it holds the token, Secrets and the files of pods.

        One that exists and is open to others is closed to them if it was a cluster's before, or holds nothing but the
        directories of ``muster run``. Any other directory has a purpose of its own. Raises ``Exposed`` for it, and
        for a directory of another user: root would follow the links that its owner has put there.
        """
        self.make()
        found = self.path.stat()
        if found.st_uid != os.geteuid():
            raise Exposed(
                f"{self.path} belongs to another user (uid {found.st_uid}); name another directory with MUSTER_HOME"
            )
        if not found.st_mode & 0o077:
            return
        ours = self.lock.exists() or all(each == self.runs for each in self.path.iterdir())
        if not ours:
            raise Exposed(
                f"{self.path}: other users can enter it (mode {found.st_mode & 0o777:o}), and a cluster keeps its "
                f"token, Secrets and logs there; `chmod 700` it, or name another directory with MUSTER_HOME"
            )
        self.path.chmod(0o700)

    def acquire(self) -> IO[str]:
        """Take the lock, which is held until the returned file is closed or the process ends.

        Raises ``Occupied`` with the process id of the holder and what to do.
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
        """Return True if a process holds the lock."""
        try:
            with self.lock.open("r", encoding="utf-8") as probe:
                fcntl.flock(probe, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False

    def running(self) -> Announcement | None:
        """Return the announcement of the running cluster; None if none runs or it is not ready."""
        return self._read(self.announcement, Announcement)

    def announce(self, announcement: Announcement) -> None:
        """Write ``cluster.json``."""
        _write(self.announcement, msgspec.json.encode(announcement))

    def note_daemon(self, note: DaemonNote) -> None:
        """Write ``daemon.json``."""
        _write(self.daemon, msgspec.json.encode(note))

    def noted_daemon(self) -> DaemonNote | None:
        """Return the daemon that runs with the cluster; None if there is none."""
        return self._read(self.daemon, DaemonNote)

    def withdraw(self) -> None:
        """Remove the files of a running cluster: when it stops, or when a crash left them."""
        for path in (self.announcement, self.kubeconfig, self.daemon):
            path.unlink(missing_ok=True)

    def _read(self, path: Path, kind: type[T]) -> T | None:
        """Return what the running cluster has in a file; None if none runs, or the file is not complete."""
        try:
            return msgspec.json.decode(path.read_bytes(), type=kind) if self.held() else None
        except (FileNotFoundError, msgspec.DecodeError):
            return None


def _write(path: Path, content: bytes) -> None:
    """Replace a file in one step, so that a reader never sees a part of it, and with mode 0600 from the start."""
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    draft.replace(path)


NAME = "muster-local"


def write_kubeconfig(path: Path, *, url: str, token: str, ca: bytes | None = None, namespace: str = "default") -> None:
    """Write ``path``, or replace it, for kubectl and all client libraries.

    JSON is valid YAML: client-go and kubernetes-asyncio read it with a YAML parser.
    """
    cluster: dict[str, object] = {"server": url}
    if ca is not None:
        cluster["certificate-authority-data"] = msgspec.json.decode(msgspec.json.encode(ca))  # bytes become base64
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": cluster}],
        "users": [{"name": NAME, "user": {"token": token}}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME, "namespace": namespace}}],
        "current-context": NAME,
    }
    _write(path, msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
