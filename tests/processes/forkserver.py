"""Imports the programs of the project once, and forks: ``python -m tests.processes.forkserver IN OUT ROOM``.

IN and OUT are the two ends of a socket. Each message that comes to IN is a start: a JSON object with four descriptors,
three streams and the socket that gets the process id and then the status of the end. Who closes that socket has
no use for the process, which then gets SIGTERM. OUT is for those of the children that start others: ``muster run``.
"""

import contextlib
import ctypes
import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import sys
import time
from typing import Any, Final

from muster.api.schema.crd import custom_resource_definition
from muster.cli.main import VERBS
from muster.cli.processes.stack import Child
from muster.local.apiserver.schema import check_crd
from muster.local.cluster import run_kinds_crds
from muster.local.tether import tie
from tests.processes import forked

PROGRAMS: Final = ("muster.daemon.main", "muster.local.__main__")
"""What is started as ``python -m`` runs it: as a module that was not imported before."""
LATE: Final = (
    "uvloop",
    "kubernetes_asyncio.config.kube_config",
    *(verb.where.split(":")[0] for verb in VERBS.values()),
)
"""What they import late."""
MESSAGE: Final = 1 << 20


def main() -> None:
    """Fork as requested until SIGTERM; then end the processes that are left."""
    requests = socket.socket(fileno=int(sys.argv[1]))
    forked.REQUESTS.append(socket.socket(fileno=int(sys.argv[2])))
    for name in (*LATE, *PROGRAMS):
        importlib.import_module(name)
    for name in PROGRAMS:
        del sys.modules[name]
    for crd in (custom_resource_definition(), *run_kinds_crds()):
        check_crd(crd)  # its CEL rules are parsed once for all clusters
    gc.collect()
    gc.freeze()  # so that the garbage collector of a child does not copy shared pages
    Forkserver(requests).serve()


class Forkserver:
    """The processes that run, each by the socket of the one who started it."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._starters: dict[int, socket.socket] = {}
        self._asked_to_end = False

    def serve(self) -> None:
        """Fork as requested, and report how processes end, until SIGTERM."""
        ended, wake = socket.socketpair()
        ended.setblocking(False)
        wake.setblocking(False)
        signal.set_wakeup_fd(wake.fileno())
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._end)
        with selectors.DefaultSelector() as selector:
            selector.register(self._requests, selectors.EVENT_READ)
            selector.register(ended, selectors.EVENT_READ)
            while not self._asked_to_end:
                for key, _ in selector.select():
                    if key.fileobj is self._requests:
                        data, descriptors, _, _ = socket.recv_fds(self._requests, MESSAGE, 4)
                        pid = self._fork(json.loads(data), descriptors)
                        selector.register(self._starters[pid], selectors.EVENT_READ, pid)
                    elif key.data is None:
                        ended.recv(4096)
                    elif key.data in self._starters:
                        selector.unregister(key.fileobj)
                        os.kill(key.data, signal.SIGTERM)
                for starter in self._reap():
                    with contextlib.suppress(KeyError):
                        selector.unregister(starter)
                    starter.close()
        for pid in self._starters:
            os.kill(pid, signal.SIGKILL)
        for pid in self._starters:
            os.waitpid(pid, 0)

    def _end(self, *_: object) -> None:
        self._asked_to_end = True

    def _reap(self) -> list[socket.socket]:
        done = []
        for pid in list(self._starters):
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                starter = self._starters.pop(pid)
                with contextlib.suppress(OSError):
                    starter.send(str(status).encode())
                done.append(starter)
        return done

    def _fork(self, start: dict[str, Any], descriptors: list[int]) -> int:
        parent = os.getpid()
        *streams, status = descriptors
        if pid := os.fork():
            for each in streams:
                os.close(each)
            self._starters[pid] = socket.socket(fileno=status)
            with contextlib.suppress(OSError):
                self._starters[pid].send(str(pid).encode())
            return pid
        code = 70
        try:
            _become(start, streams, parent)
            code = _run(start["argv"])
        except BaseException:  # noqa: BLE001 - nothing may return to the forkserver's own frames
            sys.excepthook(*sys.exc_info())
        finally:
            with contextlib.suppress(OSError, ValueError):
                sys.stdout.flush()
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.flush()
            os._exit(code)


def _become(start: dict[str, Any], streams: list[int], parent: int) -> None:
    """Make of a fork what an executed program finds."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if start["session"]:
        os.setsid()
    tie(parent, signal.SIGTERM)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    requests = forked.REQUESTS[0].fileno()
    os.closerange(3, requests)
    os.closerange(requests + 1, 1 << 20)
    os.set_inheritable(requests, False)
    os.chdir(start["cwd"])
    os.environ.clear()
    os.environ.update(start["env"])
    time.tzset()
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - open until the process ends
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
    _show(start["argv"])


def _show(argv: list[str]) -> None:
    """Let ``/proc/PID/cmdline`` show these arguments: tests look for processes by them."""
    with open("/proc/self/stat", encoding="ascii", errors="replace") as stat:  # noqa: PTH123 - as cheap as can be
        first, end = (int(field) for field in stat.read().rpartition(")")[2].split()[45:47])
    words = b"\0".join(os.fsencode(word) for word in argv)[: end - first - 1]
    ctypes.memmove(first, words.ljust(end - first, b"\0"), end - first)


def _run(argv: list[str]) -> int:
    """Run ``PYTHON -P -m MODULE ARGUMENT...`` as the interpreter does; return the exit status."""
    name, *arguments = argv[argv.index("-m") + 1 :]
    sys.argv = [name, *arguments]
    if name == "muster.cli":
        Child.start = forked.start_child  # type: ignore[method-assign]  # what it starts is forked, too
    try:
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        sys.stderr.write(f"{end.code}\n")
        return 1
    except KeyboardInterrupt:
        sys.excepthook(*sys.exc_info())
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:  # noqa: BLE001 - as the interpreter does
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


if __name__ == "__main__":
    main()
