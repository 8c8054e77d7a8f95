"""Runs in every Python process of a member with ``spec.assist``, before the program (docs/researcher.md of Muster).

It makes a bare ``jax.distributed.initialize()`` work, ends a process that its gang or its threads would keep after a
failure, and writes the stack of its main thread on SIGURG to a file in memory, for ``muster stacks``. A process of a
torch gang publishes the collectives that it has entered (``torch_recorder``), one of a jax gang its place
(``place_watch``). Then it runs the image's own sitecustomize. MUSTER_ASSIST=off leaves a process alone. It works on
Python 3.8 and later.

``muster.jax.initialize`` takes ``help_this_process`` from here; nothing runs when this is imported under another name.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` would be an import of every process
    from typing import Any

FOLDER = os.path.dirname(__file__)
GANG = ("JAXOPERATOR_COORDINATOR_ADDRESS", "JAXOPERATOR_NUM_PROCESSES", "JAXOPERATOR_PROCESS_ID")
CLUSTERS = "jax._src.clusters"
TORCH = "torch.distributed.distributed_c10d"
"""The module of torch that holds the process groups."""
FIRST_FILES = (1000, 100)
"""Lowest numbers of the file for stacks, if the process may have so many: programs expect the numbers from 3 on.

The signal is answered in C, which cannot ask whether the number still means this file. A program that has closed all
its files gets a number as high as this again only when a thousand are open.
"""
MARK = "muster-assist"
"""Key of this module in ``sys.modules`` once it has helped: only once in a process."""
LAST_SECONDS = 10.0
"""Seconds for threads and exit hooks after a failure, if a gang or a thread would keep the process."""
FLUSH_SECONDS = 1.0
"""Seconds to write what they have printed."""
FIRST_FRAMES = ("<module>", "_run_module_as_main")
"""Functions that begin the main thread of a program."""
EXITS: list[int] = []
"""The exit code of the SystemExit that ends the program, if it is one of a failure."""
ERROR_FILE = "TORCHELASTIC_ERROR_FILE"
"""The variable with which torchrun names the file for the failure of a process."""
LONGEST_TRACEBACK = 65_536
WAITS_FOR_RANKS = (
    ("jax._src.api", "clean_up"),
    ("jax._src.distributed", "shutdown"),  # jax 0.4
    ("jax._src.dispatch", "wait_for_tokens"),
)
"""Exit hooks that wait for other ranks."""


def guarded(part: Any, *arguments: Any) -> Any:
    """Return the result of a part; its failure is no failure of the program."""
    try:
        return part(*arguments)
    except Exception:
        return None


def answer_a_signal() -> None:
    """Let SIGURG write the stack of the main thread. By default it is ignored, so it ends no process without this.

    The stacks of other threads change while the handler reads them: with ``all_threads=True`` 3 of 100 signals ended a
    process with SIGSEGV in which another thread ran Python (3.11).
    """
    import _thread
    import faulthandler
    import fcntl
    import signal

    if signal.getsignal(signal.SIGURG) is not signal.SIG_DFL:
        return
    threading = sys.modules.get("threading")
    main = threading.main_thread().ident if threading else _thread.get_ident()
    name = f"muster-stacks-{main:x}"
    if hasattr(os, "memfd_create"):  # not in a Python that was built with an older libc
        made = os.memfd_create(name)
    else:
        import tempfile

        made, path = tempfile.mkstemp("", name + ".", "/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        os.unlink(path)
    high, low = FIRST_FILES
    kept = guarded(fcntl.fcntl, made, fcntl.F_DUPFD_CLOEXEC, high) or fcntl.fcntl(made, fcntl.F_DUPFD_CLOEXEC, low)
    os.close(made)
    fcntl.fcntl(kept, fcntl.F_SETFL, os.O_APPEND)  # its reader empties it
    # chain=False restarts system calls that the signal interrupts.
    faulthandler.register(signal.SIGURG, file=kept, all_threads=False, chain=False)


def end_after_a_failure() -> None:
    """End a failed process that a gang or a thread would keep, once Python has printed its traceback.

    When the program is over, Python calls ``threading._shutdown`` first. All hooks have returned then, those that keep
    the traceback back and print it at their end too; none of them is in a chain with this (ADR 63).
    """
    if sys.flags.interactive:
        return
    threading = sys.modules.get("threading")
    if threading is not None:
        end_with(threading)
    else:
        sys.meta_path.insert(0, Threads())


def end_with(threading: Any) -> None:
    """Let the module's own end of a program be the end of the process, after a failure that something would keep."""
    wait = threading._shutdown

    def _shutdown() -> None:
        if guarded(program_is_over):
            code = guarded(failed)
            if code:
                leave(code, wait)
        wait()

    threading._shutdown = _shutdown


def failed() -> int:
    """Return the exit code of an ended program that failed and that a gang or a thread would keep; else 0."""
    in_a_gang = any(map(guarded, (in_a_jax_gang, in_a_torch_gang)))
    if EXITS:
        return EXITS[-1] if in_a_gang else 0
    trace = getattr(sys, "last_traceback", None)
    # A traceback that begins elsewhere is of a console or a callback, after which the program continued.
    if trace is None or trace.tb_frame.f_back is not None or trace.tb_frame.f_code.co_name not in FIRST_FRAMES:
        return 0
    guarded(explain_to_torchrun)
    if not in_a_gang and not guarded(has_threads):
        return 0
    return 130 if issubclass(sys.last_type or Exception, KeyboardInterrupt) else 1


def explain_to_torchrun() -> None:
    """Write the traceback where torchrun looks for it, so that torchrun's last output has it.

    Programs with torch's ``@record`` do so themselves. A process that the program has started inherits the variable,
    and its failure is not that of the program.
    """
    path = os.environ.get(ERROR_FILE)
    if not path or os.path.exists(path):
        return
    with open(f"/proc/{os.getppid()}/environ", "rb") as file:
        if f"{ERROR_FILE}={path}".encode() in file.read().split(b"\0"):
            return
    import json
    import time
    import traceback

    lines = traceback.format_exception(sys.last_type, sys.last_value, sys.last_traceback)
    what = "".join(traceback.format_exception_only(sys.last_type, sys.last_value)).strip()
    more = {"py_callstack": "".join(lines)[-LONGEST_TRACEBACK:], "timestamp": str(int(time.time()))}
    with open(f"{path}.muster", "w") as made:
        json.dump({"message": {"message": what[:LONGEST_TRACEBACK], "extraInfo": more}}, made)
    os.replace(made.name, path)  # torchrun fails on a part of it


def notice_an_exit() -> None:
    """Learn the code of an uncaught SystemExit: a process that a gang would keep ends with it.

    Nothing keeps the code of a SystemExit. The interpreter asks it for its code, though, when no frame of Python is
    left; a program has a frame when it asks. The attribute of the built-in type can be replaced in its dictionary only
    (ADR 63).
    """
    import gc

    attributes = next(each for each in gc.get_referents(SystemExit.__dict__) if isinstance(each, dict))
    member = attributes["code"]

    def code(error: Any) -> Any:
        found = member.__get__(error)
        if sys._getframe().f_back is None:
            guarded(note_the_code, found)
        return found

    attributes["code"] = property(code, member.__set__, member.__delete__)
    getattr(sys, "_clear_type_cache", int)()  # if the attribute was read before
    if sys.version_info < (3, 12):
        plain = sys.exit

        def sys_exit(*status: Any) -> None:
            try:
                plain(*status)
            except SystemExit:  # noqa: TRY203 - it becomes an object here, which is asked; sys.exit alone makes none
                raise

        sys.exit = sys_exit  # type: ignore[assignment]


def note_the_code(given: Any) -> None:
    """Keep the exit code that the interpreter makes of a SystemExit, if it is one of a failure."""
    number = 0 if given is None else given & 255 if isinstance(given, int) else 1
    if number:
        EXITS.append(number)


def leave(code: int, wait: Any) -> None:
    """End the process, after its threads and exit hooks, except those that wait for other ranks."""
    import _thread
    import atexit
    import time

    def at_last() -> None:
        time.sleep(LAST_SECONDS)
        _thread.start_new_thread(flush, ())  # another thread may write to the stream, and wait for its reader
        time.sleep(FLUSH_SECONDS)
        os._exit(code)

    try:
        _thread.start_new_thread(at_last, ())
        flush()
        for module, name in WAITS_FOR_RANKS:
            guarded(atexit.unregister, getattr(sys.modules.get(module), name, None))
        guarded(wait)
        guarded(atexit._run_exitfuncs)
    finally:
        flush()
        os._exit(code)


def flush() -> None:
    """Write the printed text."""
    for stream in (sys.stdout, sys.stderr):
        guarded(getattr(stream, "flush", int))


def program_is_over() -> bool:
    """Return True if the interpreter has called, and not a running program."""
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_name not in (*FIRST_FRAMES, "_bootstrap")


def in_a_jax_gang() -> bool:
    """Return True if jax would wait for all ranks in a shutdown barrier."""
    return bool(sys.modules["jax._src.distributed"].global_state.client)


def in_a_torch_gang() -> bool:
    """Return True if peers wait for this rank in a collective."""
    return bool(sys.modules["torch.distributed"].is_initialized())


def has_threads() -> bool:
    """Return True if Python would wait for a thread."""
    threading = sys.modules["threading"]
    main = threading.main_thread()
    return any(each is not main and not each.daemon for each in threading.enumerate())


class Clusters:
    """A finder of jax's module of clusters, which adds the gang to it when it has run."""

    module = CLUSTERS

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """See importlib.abc.MetaPathFinder."""
        return guarded(self.found, name, path, target) if name == self.module else None

    def found(self, name: str, path: Any, target: Any) -> Any:
        """Return the spec of the other finders; if this fails, they are asked again."""
        sys.meta_path.remove(self)
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                guarded(self.extend, spec.loader)
                return spec
        return None

    def extend(self, loader: Any) -> None:
        """Change the module after it has run."""
        run = loader.exec_module

        def exec_module(module: Any) -> None:
            run(module)
            guarded(self.change, module)

        loader.exec_module = exec_module

    def change(self, module: Any) -> None:
        """Add the gang."""
        add_the_gang(module)


class Threads(Clusters):
    """A finder of Python's module of threads, which replaces the interpreter's call at the end."""

    module = "threading"

    def change(self, module: Any) -> None:
        """Replace what the interpreter calls at the end."""
        end_with(module)


class Distributed(Clusters):
    """A finder of jax's module of its gang: a process in one publishes its place."""

    module = "jax._src.distributed"

    def change(self, module: Any) -> None:
        """Run the file beside this one."""
        beside("place_watch").attach(module)


class ProcessGroups(Clusters):
    """A finder of torch's module of process groups: the process publishes the collectives that it has entered."""

    module = TORCH

    def change(self, module: Any) -> None:
        """Run the file beside this one."""
        beside("torch_recorder").attach(module)


def beside(name: str) -> Any:
    """Return the module in the file of that name beside this one. Raises what an import of it raises."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(f"muster_{name}", os.path.join(FOLDER, f"{name}.py"))
    assert spec is not None and spec.loader is not None  # noqa: PT018
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def add_the_gang(clusters: Any) -> None:
    """Add the first of jax's kinds of clusters, from which ``initialize`` takes missing arguments."""

    class Muster(clusters.ClusterEnv):  # type: ignore[misc]
        name = "muster"

        @classmethod
        def is_env_present(cls) -> bool:
            return all(map(os.environ.get, GANG))

        @classmethod
        def get_coordinator_address(cls, *_: object, **__: object) -> str:
            return os.environ[GANG[0]]

        @classmethod
        def get_process_count(cls) -> int:
            return int(os.environ[GANG[1]])

        @classmethod
        def get_process_id(cls) -> int:
            return int(os.environ[GANG[2]])

        @classmethod
        def get_local_process_id(cls) -> int | None:
            return None  # a number would leave the process one device of its own

    kinds = Muster._cluster_types
    kinds.insert(0, kinds.pop(kinds.index(Muster)))


def run_the_images() -> None:
    """Run the sitecustomize that this one hides. Its errors are raised, as without this one."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = sys.modules["sitecustomize"] = module_from_spec(spec)
        spec.loader.exec_module(module)


def help_this_process() -> None:
    """Install every help except the way into the gang, once."""
    if MARK in sys.modules:
        return
    sys.modules[MARK] = sys.modules[__name__]
    for part in (answer_a_signal, end_after_a_failure, notice_an_exit):
        guarded(part)


if __name__ == "sitecustomize":
    if os.environ.get("MUSTER_ASSIST") != "off":
        help_this_process()
        if all(map(os.environ.get, GANG)):
            sys.meta_path[:0] = (Clusters(), Distributed())
        sys.meta_path.insert(0, ProcessGroups())
    sys.path[:] = [entry for entry in sys.path if entry != FOLDER]
    run_the_images()
