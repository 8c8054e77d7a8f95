"""Whatever a program or a library makes of ``sys.excepthook``: all that is printed is printed, and then the rank ends.

The gang has an exit hook that never returns, so a rank that ends was ended by the mounted code.
"""

from pathlib import Path

import pytest

from tests.assist.test_a_failure_in_a_gang import run_in_a_gang

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
RAISES = """
def hook(*error):
    raise KeyError('of the hook')
sys.excepthook = hook
"""
EXITS = """
def hook(*error):
    sys.__excepthook__(*error)
    sys.exit(4)
sys.excepthook = hook
"""
ENDS_ITSELF = """
def hook(*error):
    sys.__excepthook__(*error)
    os._exit(6)
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
    "raises": RAISES,
    "exits": EXITS,
    "ends the process": ENDS_ITSELF,
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
    waits = "atexit.unregister(distributed.shutdown); atexit.register(print, 'waits for the others')\n"
    done = run_in_a_gang(tmp_path, "mounted", waits + console)
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
