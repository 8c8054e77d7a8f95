"""A pod's init process: owns the namespaces, starts and reaps the processes, and ends with all of them.

In a pid namespace it is process 1, and the kernel kills the others when it ends. Without one it is a child subreaper:
it adopts every orphan of the pod, and before it ends it kills its descendants until none is left. It ends when the
agent's socket closes, or with the launcher (PR_SET_PDEATHSIG).
"""

import contextlib
import os
import select
import signal
import socket
import sys
from pathlib import Path

from muster.local.node.isolation.frames import Channel, Message, WireError
from muster.local.node.launcher import syscalls
from muster.local.node.launcher.exec_process import StartFailedError, start_process

SHARED_MEMORY = "/dev/shm"  # noqa: S108 - every pod gets its own


class PodInit:
    """The main loop: requests of the agent, and exits of child processes."""

    def __init__(self, channel: Channel, *, network: bool, isolated: bool) -> None:
        self._channel = channel
        self._network = network
        self._isolated = isolated
        self._ids: dict[int, int] = {}  # pid -> the agent's number for that process
        self._host_proc = -1

    def run(self, parent: int) -> None:
        """Be the pod's first process until the pod ends; `parent` is the launcher's process id."""
        os.setsid()
        syscalls.set_name("muster-pod")
        woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        if not self._isolated:
            signal.signal(signal.SIGTERM, lambda _number, _frame: None)  # the wakeup descriptor delivers its number
        # Without a pid namespace, this process has descendants to kill when the launcher dies: SIGTERM, not SIGKILL.
        syscalls.die_with_parent(parent, signal.SIGKILL if self._isolated else signal.SIGTERM)
        try:
            # Opened before /proc is replaced: a child reads its pid on the host from it.
            self._host_proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            pid = int(os.readlink("self", dir_fd=self._host_proc))
            if self._isolated:
                enter_namespaces(network=self._network)
            else:
                syscalls.adopt_orphans()
        except OSError as error:
            self._channel.send({"ev": "error", "message": f"cannot prepare the pod's namespaces: {error}"})
            return
        self._channel.send({"ev": "created", "pid": pid})
        poll = select.poll()
        poll.register(self._channel, select.POLLIN)
        poll.register(woken, select.POLLIN)
        with contextlib.suppress(EOFError, ConnectionError, WireError):
            self._loop(poll, woken)
        if not self._isolated:
            kill_descendants()  # in a pid namespace the kernel does this

    def _loop(self, poll: select.poll, woken: int) -> None:
        while True:
            ready = {fd for fd, _ in poll.poll()}
            if woken in ready and signal.SIGTERM in os.read(woken, 4096):
                return
            self._reap()
            if self._channel.fileno() in ready:
                for message in self._channel.receive():
                    self._handle(message)

    def _handle(self, message: Message) -> None:
        match message["op"]:
            case "setup":
                self._set_up(message)
            case "start":
                self._start(message)
            case "signal":
                self._signal(int(message["id"]), int(message["signal"]))

    def _set_up(self, message: Message) -> None:
        try:
            if self._isolated:
                socket.sethostname(message["hostname"])
                for source, target in message["binds"]:
                    syscalls.bind(source, target)
                for folder, size in message["tmpfs"]:
                    limit = f",size={int(size)}" if size else ""
                    syscalls.mount("tmpfs", folder, "tmpfs", syscalls.NO_DEVICES, f"mode=1777{limit}")
                syscalls.mount("tmpfs", SHARED_MEMORY, "tmpfs", syscalls.NO_DEVICES, "mode=1777")
            if self._network:
                syscalls.loopback_up()
                syscalls.ethernet_up(message["address"], message["prefix"], message["gateway"])
        except OSError as error:
            self._channel.send({"ev": "error", "message": f"cannot set up the pod's namespaces: {error}"})
        else:
            self._channel.send({"ev": "ready"})

    def _start(self, message: Message) -> None:
        number = int(message["id"])
        output = self._channel.descriptors.popleft()
        message["join_pid"] = next((pid for pid, known in self._ids.items() if known == message["join"]), 0)
        try:
            pid, host_pid = start_process(message, output, self._host_proc)
        except (StartFailedError, OSError) as error:
            self._channel.send({"ev": "start-failed", "id": number, "message": str(error)})
        else:
            self._ids[pid] = number
            self._channel.send({"ev": "started", "id": number, "pid": host_pid})
        finally:
            os.close(output)

    def _signal(self, number: int, signal_number: int) -> None:
        """Signal the container's first process, as a container runtime does; SIGKILL reaches all of them."""
        for pid, known in self._ids.items():
            if known == number and signal_number == signal.SIGKILL:
                kill_session(pid, signal_number)
            elif known == number:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal_number)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            number = self._ids.pop(pid, None)
            if number is not None:
                kill_session(pid, signal.SIGKILL)  # a container ends with its first process
                self._channel.send({"ev": "exited", "id": number, "status": status})


def enter_namespaces(*, network: bool) -> None:
    """Enter the namespaces of a pod, whose mounts the host does not see, with a /proc of its own."""
    syscalls.unshare(syscalls.POD_NAMESPACES | (syscalls.NEW_NET if network else 0))
    syscalls.mount("none", "/", flags=syscalls.MS_REC | syscalls.MS_PRIVATE)
    syscalls.mount("proc", "/proc", "proc", syscalls.NO_DEVICES)


_SESSION = 3  # position of the session in /proc/<pid>/stat, counted from the state (proc(5))


def kill_session(leader: int, number: int) -> None:
    """Signal every process of a session, in all its process groups. All are descendants of this process.

    The kernel does not reuse a session id while the session has a process, so the pid of a dead leader is safe to use.
    """
    for pid in _descendants():
        try:
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if len(fields) > _SESSION and int(fields[_SESSION]) == leader:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


def kill_descendants() -> None:
    """Kill every descendant and wait for it. Orphans become children of this process, so the loop reaches all."""
    while True:
        for pid in _descendants():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _descendants() -> list[int]:
    """Return the descendants of this process."""
    found = [os.getpid()]
    for parent in found:  # grows meanwhile
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for task in Path(f"/proc/{parent}/task").iterdir():
                found.extend(map(int, (task / "children").read_text(encoding="ascii").split()))
    return found[1:]


def probe(isolation: str) -> int:
    """Try everything that a pod's init process does. If it is refused, print the reason and return 1."""
    network = isolation == "netns"
    try:
        if isolation == "mnt" and os.geteuid() != 0:
            syscalls.become_root_of_user_namespace()
        syscalls.unshare(syscalls.NEW_PID)
        child = os.fork()
        if child == 0:
            os._exit(_try_namespaces(network=network))
        _, status = os.waitpid(child, 0)
    except OSError as error:
        sys.stdout.write(f"{error}\n")
        return 1
    return os.waitstatus_to_exitcode(status)


def _try_namespaces(*, network: bool) -> int:
    try:
        enter_namespaces(network=network)
        syscalls.mount("tmpfs", SHARED_MEMORY, "tmpfs", syscalls.NO_DEVICES, "mode=1777")
        syscalls.bind("/etc/hosts", "/etc/hosts")
        socket.sethostname("muster-probe")
        if network:
            syscalls.loopback_up()
    except OSError as error:
        sys.stdout.write(f"{error}\n")
        sys.stdout.flush()
        return 1
    return 0
