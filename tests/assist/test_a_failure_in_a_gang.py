"""A process that fails ends where its gang or its threads would keep it, with its own code and after its exit hooks.

The gang is jax's module as the mounted code asks for it, with an exit hook that never returns, like a shutdown barrier.
That jax has it so is shown by tests/jax/test_a_rank_that_raises.py.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from muster.assist import CODE
from tests.assist.test_sitecustomize import run

GANG = """
import argparse, atexit, os, sys, threading, types
distributed = types.ModuleType("jax._src.distributed")
distributed.global_state = types.SimpleNamespace(client="joined")
distributed.shutdown = threading.Event().wait
sys.modules[distributed.__name__] = distributed
atexit.register(distributed.shutdown)
atexit.register(print, "saved")
print("step 12")
"""
WAITS = "atexit.unregister(distributed.shutdown); atexit.register(print, 'waits for the others')\n"
JOINS_WITH_MUSTER = """
from muster.assist.mounted.sitecustomize import help_this_process
help_this_process()
help_this_process()
"""


def run_in_a_gang(folder: Path, how: str, program: str, *before: str) -> "subprocess.CompletedProcess[str]":
    """The program in a gang, helped by the mounted file or as ``muster.jax.initialize`` does it."""
    if how == "mounted":
        return run(folder, "\n".join((*before, GANG, program)))
    joined = "\n".join((*before, JOINS_WITH_MUSTER, GANG, program))
    return subprocess.run([sys.executable, "-c", joined], capture_output=True, text=True, timeout=50)


@pytest.fixture(params=["mounted", "muster.jax"])
def how(request: pytest.FixtureRequest) -> str:
    """Where the help comes from."""
    return str(request.param)


@pytest.mark.parametrize(
    ("end", "code", "last_line"),
    [
        ("raise ValueError('loss is NaN')", 1, "ValueError: loss is NaN"),
        ("raise KeyboardInterrupt", 130, "KeyboardInterrupt"),
        ("sys.stdout.flush(); sys.stdout = None; raise ValueError('loss is NaN')", 1, "ValueError: loss is NaN"),
        ("sys.exit(3)", 3, ""),
        ("raise SystemExit(3)", 3, ""),
        ("exit(3)", 3, ""),
        ("sys.exit(True)", 1, ""),
        ("sys.exit(-1)", 255, ""),
        ("sys.exit('no data')", 1, "no data"),
        ("raise SystemExit('no data')", 1, "no data"),
        ("raise SystemExit(1, 2)", 1, "(1, 2)"),
        ("argparse.ArgumentParser(prog='train').parse_args(['--x'])", 2, "train: error: unrecognized arguments: --x"),
        ("try: sys.exit(3)\nfinally: pass", 3, ""),
        ("try: sys.exit(3)\nexcept SystemExit: raise SystemExit(4)", 4, ""),
        ("try: sys.exit(3)\nexcept SystemExit: pass\nsys.exit(5)", 5, ""),
        ("try: sys.exit(3)\nexcept SystemExit as error: raise ValueError(error.code)", 1, "ValueError: 3"),
    ],
)
def test_it_ends_with_its_code_and_its_words(how: str, tmp_path: Path, end: str, code: int, last_line: str) -> None:
    done = run_in_a_gang(tmp_path, how, end)
    assert done.returncode == code, done.stderr
    assert done.stderr.splitlines()[-1:] == ([last_line] if last_line else [])
    assert done.stdout == ("step 12\n" if "stdout = None" in end else "step 12\nsaved\n")


@pytest.mark.parametrize(
    "end", ["", "sys.exit()", "sys.exit(0)", "raise SystemExit", "sys.exit(False)", "sys.exit(256)"]
)
def test_a_process_that_succeeds_waits_for_its_gang_as_without_it(how: str, tmp_path: Path, end: str) -> None:
    done = run_in_a_gang(tmp_path, how, WAITS + end)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "step 12\nwaits for the others\nsaved\n"


@pytest.mark.parametrize(
    "goes_on",
    [
        "try: sys.exit(3)\nexcept SystemExit as error: print(error.code)",
        "try: raise SystemExit(3)\nexcept SystemExit as error: print(error.code)",
        "thread = threading.Thread(target=sys.exit, args=(3,)); thread.start(); thread.join(); print(3)",
        "error = SystemExit(2); error.code = 3; print(error.code); del error.code; assert error.code is None",
        "try: sys.exit((3, 4))\nexcept SystemExit as error: assert error.code == (3, 4); print(error.code[0])",
        "if not os.fork(): os._exit(3)\nprint(os.waitstatus_to_exitcode(os.wait()[1]))",
        "sys.excepthook(ValueError, ValueError(), None); print(3)",
    ],
)
def test_a_program_that_goes_on_sees_what_it_sees_without_it(how: str, tmp_path: Path, goes_on: str) -> None:
    done = run_in_a_gang(tmp_path, how, f"{goes_on}\natexit.unregister(distributed.shutdown)")
    assert (done.returncode, done.stdout) == (0, "step 12\n3\nsaved\n"), done.stderr


def test_a_code_that_was_read_before_is_read_again_at_the_end(tmp_path: Path) -> None:
    read = "for _ in range(100):\n    try: raise SystemExit(5)\n    except SystemExit as error: error.code"
    assert run_in_a_gang(tmp_path, "muster.jax", "raise SystemExit(3)", read).returncode == 3


def test_os_exit_ends_as_always(how: str, tmp_path: Path) -> None:
    done = run_in_a_gang(tmp_path, how, "os._exit(7)")
    assert done.returncode == 7
    assert "saved" not in done.stdout


def test_the_hook_that_was_there_before_prints(tmp_path: Path) -> None:
    before = "import sys; sys.excepthook = lambda *_: print('mine')"
    done = run_in_a_gang(tmp_path, "muster.jax", "raise ValueError", before)
    assert (done.returncode, done.stdout, done.stderr) == (1, "step 12\nmine\nsaved\n", "")


def test_an_interactive_interpreter_goes_on_after_an_exception() -> None:
    command = [sys.executable, "-i", "-c", JOINS_WITH_MUSTER + "1 / 0"]
    done = subprocess.run(command, input="print('on')\n", capture_output=True, text=True, timeout=50)
    assert done.stdout == "on\n"


def test_a_thread_that_writes_is_waited_for_and_one_that_never_ends_is_not(tmp_path: Path) -> None:
    """The second thread ends the wait: its patience is cut to what the first one needs."""
    assert "LAST_SECONDS = 10.0" in CODE
    program = """
import threading, time
def write():
    time.sleep(0.5)
    print("written", flush=True)
threading.Thread(target=write).start()
threading.Thread(target=threading.Event().wait).start()
raise ValueError
"""
    done = run(tmp_path, program, code=CODE.replace("LAST_SECONDS = 10.0", "LAST_SECONDS = 3.0"))
    assert (done.returncode, done.stdout) == (1, "written\n")


def test_workers_of_an_executor_finish_what_they_were_given(how: str, tmp_path: Path) -> None:
    program = """
from concurrent.futures import ThreadPoolExecutor
import time
ThreadPoolExecutor(1).submit(lambda: (time.sleep(0.3), print("written")))
sys.exit(3)
"""
    done = run_in_a_gang(tmp_path, how, program)
    assert (done.returncode, done.stdout) == (3, "step 12\nwritten\nsaved\n")


KEEPS_IT_BACK = """
import io, traceback
def hooked(former):
    def hook(*error):  # as torch has one: the former hook prints into a buffer
        kept, sys.stderr = sys.stderr, io.StringIO()
        former(*error)
        said, sys.stderr = sys.stderr.getvalue(), kept
        for line in said.splitlines():
            print(f"[rank1]: {line}", file=sys.stderr)
    return hook
sys.excepthook = hooked(sys.excepthook)
"""
CALLS_THE_FORMER_LATE = """
import time
former = sys.excepthook
def hook(*error):  # as error trackers do: first sent, then printed
    time.sleep(0.1)
    former(*error)
    print("sent", file=sys.stderr)
sys.excepthook = hook
"""
PRINTS_AT_EXIT = """
held = []
sys.excepthook = lambda *error: held.append(error)
def report():
    sys.__excepthook__(*held[0])
atexit.register(report)
"""
CALLS_NO_OTHER = "sys.excepthook = lambda kind, error, trace: print(f'{kind.__name__}: {error}', file=sys.stderr)\n"
HOOK = """
def hook(*error):
    sys.__excepthook__(*error)
    END
sys.excepthook = hook
"""
RICH = "import rich.traceback; rich.traceback.install(width=90)\n"
UNRAISABLE = """
class Held:
    def __del__(self): raise OSError('closed')
held = Held()
"""
OF_THREADS = """
def work(): raise OSError('a thread')
thread = threading.Thread(target=work); thread.start(); thread.join()
"""
HOOKS = {
    "none": "",
    "keeps it back": KEEPS_IT_BACK,
    "keeps it back twice": KEEPS_IT_BACK + KEEPS_IT_BACK,
    "calls the former late": CALLS_THE_FORMER_LATE,
    "prints at exit": PRINTS_AT_EXIT,
    "calls no other": CALLS_NO_OTHER,
    "is put back": KEEPS_IT_BACK + "sys.excepthook = sys.__excepthook__\n",
    "raises": "def hook(*error): raise KeyError('of the hook')\nsys.excepthook = hook\n",
    "exits": HOOK.replace("END", "sys.exit(4)"),
    "ends the process": HOOK.replace("END", "os._exit(6)"),
    "rich": RICH,
    "of what cannot be raised": UNRAISABLE,
    "of threads": OF_THREADS,
    "all of them": KEEPS_IT_BACK + CALLS_THE_FORMER_LATE + KEEPS_IT_BACK,
    "faulthandler": "import faulthandler; faulthandler.enable()\n",
}
CODES = {"exits": 4, "ends the process": 6}
FAILS = "def step(): raise ValueError('the learning rate is negative')\nstep()"


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("how", ["mounted", "muster.jax"])
def test_the_exception_is_printed_and_the_rank_ends(how: str, tmp_path: Path, hook: str) -> None:
    done = run_in_a_gang(tmp_path, how, f"{HOOKS[hook]}{FAILS}")
    assert done.returncode == CODES.get(hook, 1)
    assert "ValueError: the learning rate is negative" in done.stderr
    assert ("saved" in done.stdout) == (hook != "ends the process")


@pytest.mark.parametrize("hook", ["keeps it back", "calls no other", "rich"])
@pytest.mark.parametrize(("end", "code"), [("sys.exit(3)", 3), ("raise KeyboardInterrupt", 130)])
def test_an_exit_and_an_interrupt_end_with_their_codes_under_any_hook(
    tmp_path: Path, hook: str, end: str, code: int
) -> None:
    assert run_in_a_gang(tmp_path, "mounted", f"{HOOKS[hook]}{end}").returncode == code


def test_a_program_that_ends_well_after_a_traceback_of_a_console_waits_for_its_gang(tmp_path: Path) -> None:
    console = "import code; code.InteractiveInterpreter().runcode(compile('1 / 0', 'x', 'exec'))\n"
    done = run_in_a_gang(tmp_path, "mounted", WAITS + console)
    assert (done.returncode, "ZeroDivisionError" in done.stderr) == (0, True)
    assert "waits for the others" in done.stdout


def test_a_process_of_a_pool_that_ends_is_no_end_of_the_program(tmp_path: Path) -> None:
    pool = """
import multiprocessing
if __name__ == "__main__":
    forked = multiprocessing.get_context("fork")
    child = forked.Process(target=print, args=("of the child",), kwargs={"flush": True})
    child.start(); child.join()
    assert child.exitcode == 0
    sys.exit(3)
"""
    done = run_in_a_gang(tmp_path, "mounted", pool)
    assert (done.returncode, "of the child" in done.stdout) == (3, True)
