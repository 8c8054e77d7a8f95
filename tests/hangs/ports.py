"""A port that belongs to one gang, though its coordinator comes to listen on it only seconds later.

A port that is only found free may be another gang's by then: each process of PyTorch takes some at random.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

JAX, TORCH = socket.SO_REUSEPORT, socket.SO_REUSEADDR
"""The option that a coordinator sets on its own socket, so that both may have the port."""


@contextmanager
def held_port(option: int) -> Iterator[int]:
    """A port on which only a coordinator that sets this option listens: the kernel gives it to no one else."""
    with socket.socket(socket.AF_INET6) as held:
        held.setsockopt(socket.SOL_SOCKET, option, 1)
        held.bind(("::", 0))
        port: int = held.getsockname()[1]
        yield port
