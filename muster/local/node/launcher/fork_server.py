"""The launcher's loop: fork a pod's init for every request, reap the dead, end when the agent ends."""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import sys

from muster.local.node.isolation.frames import Channel, Message, WireError, encode
from muster.local.node.launcher import syscalls
from muster.local.node.launcher.pod_init import run_pod


def serve(descriptor: int, *, userns: bool) -> None:
    """Serve until the agent closes its end of the socket, or dies, which is the same."""
    channel = Channel(socket.socket(fileno=descriptor))
    channel.sock.set_inheritable(False)
    os.setsid()
    if userns:
        syscalls.become_root_of_user_namespace()
    syscalls.set_name("muster-launcher")
    syscalls.adopt_orphans()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the agent decides when to end; a Ctrl-C in its terminal is the agent's
    own_pid_namespace = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    gc.collect()
    gc.freeze()  # keep the collector from writing to pages the pods' init processes share
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
    """Fork a pod's init. With a pid namespace of the launcher's own to return to (>= 0), its child is the init.

    In a user namespace there is no way back into the host's pid namespace, so a process in between goes ahead instead.
    """
    sock = socket.socket(fileno=channel.descriptors.popleft())
    isolated = bool(message["namespaces"])
    between = isolated and own_pid_namespace < 0
    parent = os.getpid()
    try:
        if isolated and not between:
            syscalls.unshare(syscalls.NEW_PID)  # for the next child only: this process itself never moves
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
            channel.close()  # also the sockets of pods still to come: a copy here would hide their ends from the agent
            if between:
                _go_between(sock, parent)
            run_pod(sock, network=bool(message["network"]), isolated=isolated, parent=0 if isolated else parent)
        finally:
            os._exit(1)
    sock.close()
    return child


def _go_between(sock: socket.socket, parent: int) -> None:
    """Enter a new pid namespace by a second fork; returns in its first process. This one lives as long as that one."""
    syscalls.die_with_parent(parent)
    syscalls.unshare(syscalls.NEW_PID)
    child = os.fork()
    if child != 0:
        sock.close()
        os.waitpid(child, 0)
        os._exit(0)


def _reap(pods: set[int]) -> None:
    """Collect the dead. Anything adopted here lost its pod's init, so its pod is gone and it must go too."""
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
