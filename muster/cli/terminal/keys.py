"""Keys that are typed while a screen is drawn."""

import asyncio
import os
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager

QUIT = b"qQ"


@contextmanager
def quit_key() -> Iterator[asyncio.Event]:
    """Yield an event that is set when q is typed; without a terminal for input it never is.

    The terminal passes each key on at once, and shows none, until the block ends: then it is as it was. Ctrl-C remains
    a signal.
    """
    typed = asyncio.Event()
    if not sys.stdin.isatty():
        yield typed
        return
    stream, loop = sys.stdin.fileno(), asyncio.get_running_loop()

    def read() -> None:
        keys = os.read(stream, 64)
        if not keys:
            loop.remove_reader(stream)
        if set(keys) & set(QUIT):
            typed.set()

    before = termios.tcgetattr(stream)
    tty.setcbreak(stream, termios.TCSANOW)
    loop.add_reader(stream, read)
    try:
        yield typed
    finally:
        loop.remove_reader(stream)
        termios.tcsetattr(stream, termios.TCSADRAIN, before)
