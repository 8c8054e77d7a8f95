"""The ways in which a rank comes to a halt forever: each is a function, and what it waits in is a line of it."""

import asyncio
import ctypes
import fcntl
import hashlib
import multiprocessing
import os
import pdb  # noqa: T100 - one rank waits at a prompt
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from itertools import repeat
from pathlib import Path

from tests.hangs.programs import AGAIN

FOREVER = 10**6


def sleeps() -> None:
    time.sleep(FOREVER)


def one_lock() -> None:
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def two_locks() -> None:
    """Two threads take the same locks in another order."""
    first, second, held = threading.Lock(), threading.Lock(), threading.Event()

    def other() -> None:
        with second:
            held.set()
            first.acquire()

    with first:
        threading.Thread(target=other, daemon=True).start()
        held.wait()
        second.acquire()


def barrier_of_threads() -> None:
    """A barrier of two threads that only one enters."""
    threading.Barrier(2).wait()


def stopped() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def lock_until_told() -> None:
    """A lock that another thread gives back once the file ``again`` is there."""
    lock = threading.Lock()
    lock.acquire()

    def gives() -> None:
        while not Path(os.environ["GANG"], AGAIN).exists():
            time.sleep(0.5)
        lock.release()

    threading.Thread(target=gives, daemon=True).start()
    lock.acquire()


def loop_in_c() -> None:
    """A loop in C that keeps the interpreter's lock: it computes for a while, and rests in C for most of the time.

    All that compute are nice, too: many gangs share this machine.
    """
    os.nice(19)
    rests = map(ctypes.PyDLL(None).usleep, repeat(200_000))  # PyDLL: the lock is kept during the call
    all(zip(map(sum, repeat(range(500_000))), rests, strict=False))


def computes_in_c() -> None:
    """One call that computes forever without the interpreter's lock."""
    os.nice(19)
    hashlib.pbkdf2_hmac("sha256", b"x", b"y", 2**31 - 1)


def numpy_loop() -> None:
    """A solver that does not converge."""
    import numpy as np

    os.nice(19)
    matrix = np.eye(64) * 0.5
    while True:
        matrix = matrix @ matrix + np.eye(64) * 0.5


def polls_a_file() -> None:
    while not Path("/nowhere/ready").exists():
        time.sleep(1)


def full_queue() -> None:
    """Nobody takes from the queue any more."""
    batches: queue.Queue[int] = queue.Queue(1)
    batches.put(1)
    batches.put(2)


def read_of_a_fifo() -> None:
    """A file whose server does not answer."""
    path = Path(tempfile.mkdtemp()) / "rows"
    os.mkfifo(path)
    path.read_bytes()


def file_lock() -> None:
    """A lock of a file that another descriptor holds, as a cache of data sets has it."""
    path = Path(tempfile.mkdtemp()) / "cache.lock"
    with path.open("w") as held, path.open("w") as wanted:
        fcntl.flock(held, fcntl.LOCK_EX)
        fcntl.flock(wanted, fcntl.LOCK_EX)


def silent_socket() -> None:
    """An answer that does not come, without a time-out."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as asked:
        asked.recv(1)


def signal_handler() -> None:
    """A handler wants the lock that the code has which it interrupted."""
    lock = threading.Lock()
    signal.signal(signal.SIGUSR1, lambda *_: lock.acquire())
    with lock:
        os.kill(os.getpid(), signal.SIGUSR1)
        time.sleep(1)


def prompt() -> None:
    """A debugger that somebody left in the code."""
    _, terminal = os.openpty()
    with os.fdopen(terminal, "r") as typed:
        pdb.Pdb(stdin=typed, stdout=sys.stdout).set_trace()
        time.sleep(FOREVER)


def child_that_stays() -> None:
    """A program that was started and does not end."""
    subprocess.run(["sleep", "infinity"], check=False)


def child_with_a_lock() -> None:
    """A process is forked while another thread has a lock that the child wants, too."""
    lock, held = threading.Lock(), threading.Event()

    def holds() -> None:
        with lock:
            held.set()
            time.sleep(FOREVER)

    threading.Thread(target=holds, daemon=True).start()
    held.wait()
    worker = multiprocessing.get_context("fork").Process(target=lock.acquire)
    worker.start()
    worker.join()


def lost_task() -> None:
    """An answer of asyncio's that nobody gives."""

    async def answer() -> None:
        await asyncio.get_running_loop().create_future()

    asyncio.run(answer())
