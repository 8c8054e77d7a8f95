"""A program of ours for a shell, by fork: ``python -I -S command.py REQUESTS PYTHON -P -m MODULE ARGUMENT...``.

It imports next to nothing, so that each line of a page costs little. REQUESTS is the descriptor of the forkserver's
socket, which the shell has inherited. It passes signals on, and ends as the program does.
"""

import json
import os
import signal
import socket
import sys


def main() -> None:
    """Run the program."""
    requests = socket.socket(fileno=int(sys.argv[1]))
    status, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    start = {"argv": sys.argv[2:], "cwd": os.getcwd(), "env": dict(os.environ), "session": False}  # noqa: PTH109
    with theirs:
        socket.send_fds(requests, [json.dumps(start).encode()], [0, 1, 2, theirs.fileno()])
    pid = int(status.recv(64))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda which, _: os.kill(pid, which))
    code = os.waitstatus_to_exitcode(int(status.recv(64)))
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


if __name__ == "__main__":
    main()
