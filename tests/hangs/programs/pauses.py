"""What makes a healthy rank slow: it computes, reads, writes, compiles or waits for a person, for so many seconds."""

import os
import random
import select
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

REST = 0.25
"""Seconds between two pieces of work, so that two CPUs have room for twenty gangs; the work between is real."""


def until(seconds: float) -> Iterator[int]:
    """Numbers until so many seconds have passed, a few each second."""
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        yield number
        number += 1
        time.sleep(REST)


def evaluate(seconds: float) -> float:
    """Compute batch after batch: some 20 ms of CPU each."""
    import numpy as np

    total, weights = 0.0, np.random.default_rng(0).random((192, 192))
    for _ in until(seconds):
        for _ in range(12):
            total += float(np.tanh(weights @ weights).sum())
    return total


def write_checkpoint(seconds: float, path: Path) -> None:
    """Write bytes, and force them to the disk: 8 MB at most, over and over."""
    block = os.urandom(1 << 16)
    with path.open("wb") as file:
        for number in until(seconds):
            file.seek(number % 128 * len(block))
            file.write(block)
            file.flush()
            os.fsync(file.fileno())


def read_rows(seconds: float, path: Path) -> int:
    """Read bytes and parse them: each time as many as chance says."""
    chance, found = random.Random(0), 0
    path.write_bytes(b"1 2 3 4\n" * 20_000)
    for _ in until(seconds):
        with path.open("rb") as file:
            found += sum(len(line.split()) for line in file.readlines(chance.randrange(1 << 14, 1 << 17)))
    return found


def compile_shapes(seconds: float) -> int:
    """Compile the same function for one shape after another."""
    import jax
    import jax.numpy as jnp

    def layers(x: "jax.Array") -> "jax.Array":
        for number in range(40):
            x = jnp.sin(x @ x.T @ x) * number + x
        return x

    shapes = 0
    for number in until(seconds):
        jax.jit(layers)(jnp.ones((4 + number, 8))).block_until_ready()
        jax.clear_caches()  # else memory grows with the speed of the machine, up to the limit of the pod
        shapes += 1
    return shapes


def download(seconds: float) -> int:
    """Fetch a file from a slow server."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serves() -> None:
            taken, _ = server.accept()
            with taken:
                for _ in until(seconds):
                    taken.sendall(bytes(1 << 14))

        threading.Thread(target=serves, daemon=True).start()
        found = 0
        with socket.create_connection(server.getsockname()) as asked:
            while block := asked.recv(1 << 14):
                found += len(block)
    return found


def kernel_waits(seconds: float) -> None:
    """A notebook's kernel between two cells: it waits for what a person types next."""
    mine, _theirs = socket.socketpair()
    select.select([mine], [], [], seconds)


def answer(seconds: float) -> bytes:
    """Wait in one call for another process: the cells of a notebook, or a server that stores a file."""
    mine, theirs = socket.socketpair()
    threading.Timer(seconds, lambda: theirs.sendall(b".")).start()
    return mine.recv(1)
