"""Run a program that ends with its parent.

Usage: ``python -m muster.local.tether --parent PID -- PROGRAM ARGUMENT...``

``muster run`` may be killed by a signal that it cannot handle (SIGKILL, out of memory); the processes it started must
end too. Linux sends a signal of choice to a process whose parent dies (prctl(2), PR_SET_PDEATHSIG). The setting
survives execve, so this program sets it and then executes the other. The parent may die before the call; getppid()
afterwards detects that.

On other systems than Linux the program runs without this.
"""

import argparse
import ctypes
import os
import signal
import sys
from collections.abc import Sequence

PR_SET_PDEATHSIG = 1


def command(program: Sequence[str], *, parent: int | None = None, death: signal.Signals = signal.SIGTERM) -> list[str]:
    """Return the arguments that start ``program`` so that it ends with ``parent`` (this process by default)."""
    holder = os.getpid() if parent is None else parent
    return [
        sys.executable,
        "-P",  # do not import modules from the working directory
        "-m",
        "muster.local.tether",
        "--parent",
        str(holder),
        "--signal",
        death.name,
        "--",
        *program,
    ]


def tie(parent: int, death: signal.Signals) -> None:
    """Have the kernel send ``death`` to this process when ``parent`` ends; at once if it has already ended."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, int(death), 0, 0, 0) != 0:
        failure = ctypes.get_errno()
        raise OSError(failure, f"prctl(PR_SET_PDEATHSIG): {os.strerror(failure)}")
    if os.getppid() != parent:
        os.kill(os.getpid(), death)


def main(arguments: Sequence[str] | None = None) -> None:
    """Set the signal, then execute the program."""
    parser = argparse.ArgumentParser(
        prog="muster.local.tether", description="Run a program that ends when its parent does."
    )
    parser.add_argument("--parent", type=int, required=True, help="process id of the parent")
    parser.add_argument(
        "--signal", default="SIGTERM", choices=[name.name for name in signal.Signals], help="sent when the parent ends"
    )
    parser.add_argument("program", nargs="+", help="the program and its arguments")
    chosen = parser.parse_args(arguments)
    tie(chosen.parent, signal.Signals[chosen.signal])
    os.execvp(chosen.program[0], chosen.program)  # noqa: S606 - no shell: the arguments are passed unchanged


if __name__ == "__main__":
    main()
