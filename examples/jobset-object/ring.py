"""Workers greet their leader over TCP by its host name. In the first run worker 1 breaks with exit code 3."""

import os
import socket
import sys
import time

PORT = 7117
WORKERS = 2


def lead() -> None:
    """Wait until every worker has called."""
    with socket.create_server(("", PORT)) as server:
        called = set[str]()
        while len(called) < WORKERS:
            peer, _ = server.accept()
            with peer:
                worker = peer.recv(16).decode()
                called.add(worker)
                print(f"worker {worker} called, {len(called)} of {WORKERS}")


def call(leader: str, index: str) -> None:
    """Call the leader, which may not serve yet."""
    until = time.monotonic() + 60
    while True:
        try:
            with socket.create_connection((leader, PORT), timeout=5) as line:
                line.sendall(index.encode())
                return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


index, run = os.environ["JOB_COMPLETION_INDEX"], os.environ["RUN"]
if os.environ["JOB"] == "leader":
    lead()
elif run == "0" and index == "1":
    print("worker 1 breaks in the first run")
    sys.exit(3)
else:
    call(os.environ["LEADER"], index)
    print(f"worker {index} is done in run {run}")
