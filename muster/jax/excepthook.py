"""An uncaught exception ends the process at once, with its traceback printed.

Without this, an exception in one rank ends nothing. jax registers an exit hook that waits for all ranks in a shutdown
barrier (jax/_src/distributed.py, ``shutdown``; 300 s by default): the process stays, its peers wait for it in a
collective, and when the barrier gives up all of them abort, the rank that raised no different from the others.

``os._exit`` skips every exit hook, not only jax's: what must survive an exception has to be written before it is
raised, or in an ``except`` or ``finally`` of the program.
"""

import contextlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

FAILED = 1
"""The exit code of Python after an uncaught exception."""
INTERRUPTED = 130
"""128 + SIGINT, as a shell reports Ctrl-C."""

Hook = Callable[[type[BaseException], BaseException, TracebackType | None], object]


@dataclass(frozen=True, slots=True)
class ExitAtOnce:
    """A ``sys.excepthook`` that prints with the hook that was there before, flushes, and ends the process."""

    before: Hook

    def __call__(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Print the exception and end the process."""
        try:
            self.before(kind, error, trace)
        finally:
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):  # closed, a broken pipe, or None: nothing is left to print to
                    stream.flush()
            os._exit(INTERRUPTED if issubclass(kind, KeyboardInterrupt) else FAILED)


def exit_on_exception() -> None:
    """Install the hook, once. An interactive interpreter keeps its own: it goes on after an exception."""
    if not sys.flags.interactive and not isinstance(sys.excepthook, ExitAtOnce):
        sys.excepthook = ExitAtOnce(sys.excepthook)
