"""The main thread of a process in virtual time, and Muster's own code in that process, which looks at it.

The calls of the thread and the CPU that it has used are the world's. What follows from them is found by the code that
runs in every process with ``spec.assist``: ``PlaceWatch`` and all that it reads.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch

from muster.api.places import located
from muster.assist.mounted import at_work, place_watch
from muster.assist.mounted.place_watch import PlaceWatch
from muster.state.view.stage import Doing

ANSWER = 0.05
"""Seconds of CPU of the main thread that a question for its stacks costs."""
POLLS = 0.0002
"""The part of a CPU with which a thread polls that waits in a call of jax."""


class Code(NamedTuple):
    """A function of the program, or of a library."""

    co_name: str
    co_filename: str


@dataclass(slots=True, eq=False)
class Call:
    """A call of a function."""

    f_code: Code
    f_lineno: int
    f_lasti: int = 0
    f_back: "Call | None" = None
    f_trace: Any = None


class Thread:
    """What the main thread of one process does at this moment, and what it has used until now."""

    def __init__(self) -> None:
        self.call: Call | None = None
        self.cpu = 0.0
        self.wrote = 0
        """Bytes that the process has written."""
        self.alone = False
        """It waits in the kernel, and for no other thread of its process."""
        self.answers = 0
        """How often the process has written its stacks, since it was asked for them."""
        self._answers = 0
        self.watch: PlaceWatch = _Watch(self)

    def asked(self) -> bool:
        """As ``at_work.Question``: the file for stacks has changed since the last call."""
        before, self._answers = self._answers, self.answers
        return before != self.answers

    @property
    def doing(self) -> Doing:
        """As the recorder of torch has it."""
        watch = self.watch
        return Doing(located(*watch.activity), watch.at - watch.worked, watch.how, watch.alone)  # type: ignore[attr-defined]


class _Watch(PlaceWatch):
    """Looks at a thread of the world."""

    def __init__(self, thread: Thread) -> None:
        super().__init__(0)
        self.of, self.worked, self._question = thread, 0.0, thread  # type: ignore[assignment]

    @property
    def activity(self) -> tuple[str, str, int]:
        """Where the program is."""
        return place_watch.activity(self.frames)

    def look(self, now: float) -> None:
        """Look once, at this thread and at no real one."""
        _seen[:] = [self.of]
        super().look(now)

    def _working(self) -> tuple[int, Any]:
        return 0, self.of.call


_seen: list[Thread] = []
"""The thread that is looked at."""


@contextmanager
def no_real_thread() -> Iterator[None]:
    """Let Muster's own code in processes read the threads of the world, in place of /proc."""
    clock = SimpleNamespace(
        monotonic=lambda: 0.0, pthread_getcpuclockid=lambda _thread: 0, clock_gettime=lambda _id: _seen[0].cpu
    )
    read: tuple[tuple[Any, str, Any], ...] = (
        (place_watch, "time", clock),
        (place_watch, "native_of", lambda _thread: 1),
        (place_watch, "queued", lambda _native: 0.0),
        (at_work, "waits_alone", lambda _native: _seen[0].alone),
        (at_work, "waits_for_input", lambda _native: False),
        (at_work, "thread_times", lambda _main: {}),
        (at_work, "child_times", dict),
        (at_work, "moved_bytes", lambda _children: (_seen[0].wrote, 0)),
    )
    with ExitStack() as stack:
        for module, name, value in read:
            stack.enter_context(patch.object(module, name, value))
        yield
