"""Start one process of a pod: set its session, limits, mounts, working directory and output, then exec.

The child reports through a pipe that exec closes: its pid on the host, and an error if exec is not reached.

A container has a mount namespace of its own, so that containers of a pod can have different mounts. The root is the
host's. If a mount point does not exist there, it is not created on the host: a small tmpfs covers the nearest existing
parent, with bind mounts of all entries of the parent, and the mount point is created in it. For a new top-level folder
the parent is `/`, and the process changes its root (chroot) to such a tmpfs.
"""

import json
import os
import resource
import signal
from pathlib import Path
from typing import Any, NoReturn

from muster.local.node.isolation.frames import Message
from muster.local.node.launcher import syscalls

MAX_ENTRIES = 4096


class MountRefusedError(Exception):
    """A mount that is not possible. The message has the mount and the reason."""


def join_mounts(pid: int) -> None:
    """Enter the mount namespace and root of the process `pid` of this pod."""
    with Path(f"/proc/{pid}/ns/mnt").open("rb") as namespace:
        root = os.open(f"/proc/{pid}/root", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        syscalls.setns(namespace.fileno(), syscalls.NEW_NS)
    os.fchdir(root)
    os.chroot(".")


def enter_mounts(message: Message) -> str:
    """Make the mounts; returns the working directory.

    A working directory that does not exist is created in the container's view if mounts are possible; otherwise the
    pod's own directory takes its place.
    """
    directory: str = message["cwd"] or message["pod_directory"]
    if not message["namespaces"]:
        return directory if Path(directory).is_dir() else str(message["pod_directory"])
    mounts = [mount for mount in message["mounts"] if mount["target"] != "/"]
    missing_directory = not Path(directory).is_dir() and not any(
        Path(directory).is_relative_to(mount["target"]) for mount in mounts
    )
    if not mounts and not missing_directory:
        return directory
    syscalls.unshare(syscalls.NEW_NS)
    grafts = _Grafts(Path(message["graft_directory"]))
    targets = [mount["target"] for mount in mounts] + ([directory] if missing_directory else [])
    for target in sorted(targets):
        grafts.prepare(Path(target), is_file=any(m["target"] == target and m.get("file") for m in mounts))
    for mount in sorted(mounts, key=lambda each: each["target"]):
        target = str(grafts.inside(Path(mount["target"])))
        syscalls.bind(mount["source"], target, read_only=bool(mount.get("read_only")))
    if grafts.new_root is not None:
        os.chroot(grafts.new_root)
    return directory


class _Grafts:
    """Creates mount points that the host does not have."""

    def __init__(self, scratch: Path) -> None:
        self.new_root: Path | None = None
        self._scratch = scratch
        self._covers = 0

    def inside(self, path: Path) -> Path:
        """Return a path of the container, as seen before the chroot."""
        return path if self.new_root is None else self.new_root / path.relative_to("/")

    def prepare(self, path: Path, *, is_file: bool) -> None:
        """Create `path` in the container's view if it does not exist."""
        if self.inside(path).exists():
            return
        parent = next(each for each in path.parents if self.inside(each).exists())
        if not _is_cover(self.inside(parent)):
            self._cover(parent)
        if is_file:
            self.inside(path).parent.mkdir(parents=True, exist_ok=True)
            self.inside(path).touch()
        else:
            self.inside(path).mkdir(parents=True, exist_ok=True)

    def _cover(self, folder: Path) -> None:
        cover = self._scratch / f"cover-{self._covers}"
        self._covers += 1
        cover.mkdir(parents=True, exist_ok=True)
        syscalls.mount("muster-graft", str(cover), "tmpfs", syscalls.MS_NOSUID, "mode=755")
        entries = list(self.inside(folder).iterdir())
        if len(entries) > MAX_ENTRIES:
            raise MountRefusedError(f"{folder} has {len(entries)} entries; choose a mountPath in a smaller folder")
        for entry in entries:
            _show(entry, cover / entry.name)
        if folder == Path("/"):
            self.new_root = cover
        else:
            syscalls.bind(str(cover), str(self.inside(folder)))


def _show(entry: Path, target: Path) -> None:
    if entry.is_symlink():
        target.symlink_to(entry.readlink())
        return
    if entry.is_dir():
        target.mkdir()
    else:
        target.touch()
    syscalls.bind(str(entry), str(target))


def _is_cover(folder: Path) -> bool:
    """Return True if a folder is on one of these tmpfs, where entries can be created, and not on the host's files."""
    with Path("/proc/self/mounts").open(encoding="utf-8", errors="replace") as mounts:
        sources = {line.split()[1]: line.split()[0] for line in mounts}  # the last mount on a folder is the visible one
    nearest = next((str(each) for each in (folder, *folder.parents) if str(each) in sources), "/")
    return sources.get(nearest) == "muster-graft"


_LIMITS = {"data": resource.RLIMIT_DATA}


class StartFailedError(Exception):
    """The process could not be started. The message is for the user."""


def start_process(message: Message, output: int, host_proc: int) -> tuple[int, int]:
    """Fork and exec; returns the pid in this namespace and on the host. Raises StartFailedError."""
    reports, report = os.pipe2(os.O_CLOEXEC)
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _become(message, output, report, host_proc, parent)
    os.close(report)
    with os.fdopen(reports, "rb") as stream:
        answer: dict[str, Any] = {}
        for line in stream:
            answer |= json.loads(line)
    if "error" in answer or "pid" not in answer:
        os.waitpid(pid, 0)
        raise StartFailedError(answer.get("error", "the process died before it could start"))
    return pid, int(answer["pid"])


def _become(message: Message, output: int, report: int, host_proc: int, parent: int) -> NoReturn:
    argv: list[str] = message["argv"]
    step = "start"
    try:
        signal.set_wakeup_fd(-1)
        os.setsid()
        syscalls.die_with_parent(parent)
        os.write(report, json.dumps({"pid": int(os.readlink("self", dir_fd=host_proc))}).encode() + b"\n")
        for group in message["cgroups"]:
            _join(group)
        for name, amount in message["limits"].items():
            resource.setrlimit(_LIMITS[name], (amount, amount))
        null = os.open("/dev/null", os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        step = "mount volumes"
        if message.get("join_pid") and message["namespaces"]:
            join_mounts(message["join_pid"])
            directory = message["cwd"] or message["pod_directory"]
        else:
            directory = enter_mounts(message)
        step = f"enter the working directory {directory!r}"
        os.chdir(directory)
        step = f"exec {argv[0]!r}"
        _default_signals()
        os.execvpe(argv[0], argv, message["env"])  # noqa: S606 - starting programs is this file's purpose
    except (OSError, MountRefusedError, ValueError) as error:
        text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        os.write(report, json.dumps({"error": f"cannot {step}: {text}"}).encode() + b"\n")
    finally:
        os._exit(127)


def _join(procs: str) -> None:
    descriptor = os.open(procs, os.O_WRONLY | os.O_CLOEXEC)
    os.write(descriptor, b"0")  # the writer itself
    os.close(descriptor)


def _default_signals() -> None:
    """Reset ignored signals, which stay ignored over exec: Python ignores SIGPIPE, the launcher a few more."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
