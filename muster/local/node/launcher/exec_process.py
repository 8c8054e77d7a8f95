"""Start one process of a pod: set its session, limits, mounts, working directory and output, then exec.

The child reports through a pipe that exec closes: its pid on the host, and an error if exec is not reached.
"""

from __future__ import annotations

import json
import os
import resource
import signal
from typing import Any, NoReturn

from muster.local.node.isolation.frames import Message
from muster.local.node.launcher import syscalls
from muster.local.node.launcher.mounts import MountRefusedError, enter_mounts, join_mounts

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
