"""The launcher's main loop: fork a pod's init process for each request, reap children, end with the agent."""

import gc
import os
import select
import signal
import socket
import sys

from muster.local.node.isolation.frames import Channel, Message, WireError, encode
from muster.local.node.launcher import syscalls
from muster.local.node.launcher.pod_init import PodInit


def serve(descriptor: int, *, userns: bool) -> None:
    """Serve until the agent closes its end of the socket or dies."""
    channel = Channel(socket.socket(fileno=descriptor))
    channel.sock.set_inheritable(False)
    os.setsid()
    if userns:
        syscalls.become_root_of_user_namespace()
    syscalls.set_name("muster-launcher")
    syscalls.adopt_orphans()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the agent handles Ctrl-C in its terminal and stops the launcher
    own_pid_namespace = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    gc.collect()
    gc.freeze()  # keep the garbage collector from writing to pages that the forked processes share
    pods: set[int] = set()
    poll = select.poll()
    poll.register(channel, select.POLLIN)
    poll.register(woken, select.POLLIN)
    while True:
        ready = {fd for fd, _ in poll.poll()}
        if woken in ready:
            os.read(woken, 4096)
        _reap(pods)
        if channel.fileno() in ready:
            try:
                messages = channel.receive()
            except (EOFError, ConnectionError, WireError):
                sys.exit(0)  # every pod's init has PR_SET_PDEATHSIG on this process
            for message in messages:
                pods.add(_fork_pod(message, channel, -1 if userns else own_pid_namespace))


def _fork_pod(message: Message, channel: Channel, own_pid_namespace: int) -> int:
    """Fork a pod's init process.

    `own_pid_namespace` is the launcher's pid namespace, to return to after the fork. In a user namespace (-1) the
    launcher could not return, so an intermediate process enters the new pid namespace and forks the init process.
    """
    sock = socket.socket(fileno=channel.descriptors.popleft())
    isolated = bool(message["namespaces"])
    between = isolated and own_pid_namespace < 0
    parent = os.getpid()
    try:
        if isolated and not between:
            syscalls.unshare(syscalls.NEW_PID)  # applies to the next child only; this process stays where it is
        child = os.fork()
    except OSError as error:
        sock.sendall(encode({"ev": "error", "message": f"cannot start the pod's init process: {error}"}))
        sock.close()
        return 0
    finally:
        if isolated and not between and os.getpid() == parent:
            syscalls.setns(own_pid_namespace, syscalls.NEW_PID)
    if child == 0:
        try:
            signal.set_wakeup_fd(-1)
            channel.close()  # also the sockets of other pods: copies would keep them open after their pods
            if between:
                _go_between(sock, parent)
            PodInit(Channel(sock), network=bool(message["network"]), isolated=isolated).run(0 if isolated else parent)
        finally:
            os._exit(0)
    sock.close()
    return child


def _go_between(sock: socket.socket, parent: int) -> None:
    """Enter a new pid namespace by a second fork. Returns in its first process; this process waits for that one."""
    syscalls.die_with_parent(parent)
    syscalls.unshare(syscalls.NEW_PID)
    child = os.fork()
    if child != 0:
        sock.close()
        os.waitpid(child, 0)
        os._exit(0)


def _reap(pods: set[int]) -> None:
    """Reap children. A process that was adopted has lost its pod's init process, so it is killed."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            break
        pods.discard(pid)
    for child in _children():
        if child not in pods:
            os.kill(child, signal.SIGKILL)


def _children() -> list[int]:
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as listing:  # noqa: PTH123
        return [int(pid) for pid in listing.read().split()]
