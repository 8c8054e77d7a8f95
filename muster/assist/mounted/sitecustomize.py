"""Runs in every Python process of a member with ``spec.assist``, before the program (docs/researcher.md of Muster).

It makes a bare ``jax.distributed.initialize()`` work, ends a process that its gang or its threads would keep after an
exception, and writes the stacks of all threads on SIGURG to a file in memory, for ``muster stacks``. Then it runs the
image's own sitecustomize. MUSTER_ASSIST=off leaves a process alone. It works on Python 3.8 and later.
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
FIRST_FILE = 100
"""Lowest number of the file for stacks: programs may expect the numbers from 3 on."""


def guarded(part: Any, *arguments: Any) -> Any:
    """The result of a part; its failure is no failure of the program."""
    try:
        return part(*arguments)
    except Exception:
        return None


def answer_a_signal() -> None:
    """SIGURG writes all stacks. It is ignored by default, so it ends no process that does not expect it."""
    import _thread
    import faulthandler
    import fcntl
    import signal

    if signal.getsignal(signal.SIGURG) is not signal.SIG_DFL:
        return
    name = f"muster-stacks-{_thread.get_ident():x}"
    if hasattr(os, "memfd_create"):  # not in a Python that was built with an older libc
        made = os.memfd_create(name)
    else:
        import tempfile

        made, path = tempfile.mkstemp("", name + ".", "/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        os.unlink(path)
    kept = fcntl.fcntl(made, fcntl.F_DUPFD_CLOEXEC, FIRST_FILE)
    os.close(made)
    fcntl.fcntl(kept, fcntl.F_SETFL, os.O_APPEND)  # its reader empties it
    # chain=False restarts system calls that the signal interrupts.
    faulthandler.register(signal.SIGURG, file=kept, all_threads=True, chain=False)


def end_on_an_exception() -> None:
    """After an uncaught exception the process ends at once where a gang or a thread would keep it."""
    if sys.flags.interactive:
        return
    before = sys.excepthook

    def hook(kind: Any, error: Any, trace: Any) -> None:
        try:
            before(kind, error, trace)
        finally:
            if guarded(program_is_over) and any(map(guarded, (in_a_jax_gang, in_a_torch_gang, has_threads))):
                for stream in (sys.stdout, sys.stderr):
                    guarded(stream.flush)
                os._exit(130 if issubclass(kind, KeyboardInterrupt) else 1)

    sys.excepthook = hook


def program_is_over() -> bool:
    """The interpreter called the hook, and not a program that goes on."""
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_name not in ("<module>", "_run_module_as_main", "_bootstrap")


def in_a_jax_gang() -> bool:
    """Jax would wait for all ranks in a shutdown barrier."""
    return bool(sys.modules["jax._src.distributed"].global_state.client)


def in_a_torch_gang() -> bool:
    """Peers wait for this rank in a collective."""
    return bool(sys.modules["torch.distributed"].is_initialized())


def has_threads() -> bool:
    """Python would wait for a thread."""
    threading = sys.modules["threading"]
    main = threading.main_thread()
    return any(each is not main and not each.daemon for each in threading.enumerate())


class Clusters:
    """Finds jax's module of clusters as it would be found, and adds the gang to it when it has run."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """See importlib.abc.MetaPathFinder."""
        return guarded(self.found, name, path, target) if name == CLUSTERS else None

    def found(self, name: str, path: Any, target: Any) -> Any:
        """What the other finders find; where this fails, they are asked again."""
        sys.meta_path.remove(self)
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                guarded(self.extend, spec.loader)
                return spec
        return None

    def extend(self, loader: Any) -> None:
        """Add the gang after the module has run."""
        run = loader.exec_module

        def exec_module(module: Any) -> None:
            run(module)
            guarded(add_the_gang, module)

        loader.exec_module = exec_module


def add_the_gang(clusters: Any) -> None:
    """The first of jax's kinds of clusters: ``initialize`` takes from it what it was not given."""

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
    """Run the sitecustomize that this one hides. What it raises is raised, as without this one."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = sys.modules["sitecustomize"] = module_from_spec(spec)
        spec.loader.exec_module(module)


if os.environ.get("MUSTER_ASSIST") != "off":
    guarded(answer_a_signal)
    guarded(end_on_an_exception)
    if all(map(os.environ.get, GANG)):
        sys.meta_path.insert(0, Clusters())
sys.path[:] = [entry for entry in sys.path if entry != FOLDER]
run_the_images()
