"""An uncaught exception ends the process at once; exit hooks that wait for other processes do not run."""

import subprocess
import sys

import pytest

WAITS_AT_EXIT = """
import atexit, sys, threading
from muster.jax.excepthook import exit_on_exception
atexit.register(threading.Event().wait)  # as jax waits in its shutdown barrier
exit_on_exception()
exit_on_exception()
print("step 12", end="")
{end}
"""


def run(end: str, *flags: str) -> "subprocess.CompletedProcess[str]":
    program = WAITS_AT_EXIT.format(end=end)
    return subprocess.run([sys.executable, *flags, "-c", program], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("end", "code", "last_line"),
    [
        ("raise ValueError('loss is NaN')", 1, "ValueError: loss is NaN"),
        ("raise KeyboardInterrupt", 130, "KeyboardInterrupt"),
        ("sys.stdout.close(); raise ValueError('loss is NaN')", 1, "ValueError: loss is NaN"),
    ],
)
def test_an_exception_is_printed_and_ends_the_process_without_its_exit_hooks(
    end: str, code: int, last_line: str
) -> None:
    done = run(end)
    assert done.returncode == code
    assert done.stderr.count("Traceback (most recent call last)") == 1
    assert done.stderr.splitlines()[-1] == last_line
    assert done.stdout == "step 12"


def test_the_hook_that_was_there_before_prints() -> None:
    before = "import sys; sys.excepthook = lambda *_: print('mine')"
    program = f"{before}\n{WAITS_AT_EXIT.format(end='raise ValueError')}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "step 12mine\n", "")


def test_an_interactive_interpreter_goes_on_after_an_exception() -> None:
    program = "from muster.jax.excepthook import exit_on_exception; exit_on_exception(); 1 / 0"
    done = subprocess.run(
        [sys.executable, "-i", "-c", program], input="print('on')\n", capture_output=True, text=True, check=False
    )
    assert done.stdout == "on\n"
