"""Run a program that ends when its parent does.

``python -m muster.local.tether --parent PID -- PROGRAM ARGUMENT...``

``muster run`` may be killed in a way it cannot handle (SIGKILL, out of memory). What it started must end all the
same. Linux sends a chosen signal to a process whose parent dies (prctl(2), PR_SET_PDEATHSIG), and the choice survives
execve, so a tether sets it and then becomes the program. The parent may have died before the call; comparing
getppid() afterwards closes that gap.

Where there is no prctl (other systems than Linux) the program is started untethered.
"""

import argparse
import ctypes
import os
import signal
import sys
from collections.abc import Sequence

PR_SET_PDEATHSIG = 1


def command(program: Sequence[str], *, parent: int | None = None, death: signal.Signals = signal.SIGTERM) -> list[str]:
    """The argument vector that starts ``program`` tethered to ``parent`` (this process by default)."""
    holder = os.getpid() if parent is None else parent
    return [
        sys.executable,
        "-P",  # the directory a command is run in must not supply modules
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
    """Have this process receive ``death`` when ``parent`` ends; at once, if it has ended already."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, int(death), 0, 0, 0) != 0:
        failure = ctypes.get_errno()
        raise OSError(failure, f"prctl(PR_SET_PDEATHSIG): {os.strerror(failure)}")
    if os.getppid() != parent:
        os.kill(os.getpid(), death)


def main(arguments: Sequence[str] | None = None) -> None:
    """Tie, then become the program."""
    parser = argparse.ArgumentParser(
        prog="muster.local.tether", description="Run a program that ends when its parent does."
    )
    parser.add_argument("--parent", type=int, required=True, help="process id to be tied to")
    parser.add_argument(
        "--signal", default="SIGTERM", choices=[name.name for name in signal.Signals], help="sent on its end"
    )
    parser.add_argument("program", nargs="+", help="the program and its arguments")
    chosen = parser.parse_args(arguments)
    tie(chosen.parent, signal.Signals[chosen.signal])
    os.execvp(chosen.program[0], chosen.program)  # noqa: S606 - no shell is wanted: the vector is run as it is given


if __name__ == "__main__":
    main()
