"""Watches where the program of a jax gang is, and writes it into jax's key-value store.

A thread looks at the main thread every two seconds. The program is at a standstill if it is in the same calls as before
and its thread has used no CPU since: then no line of Python has run. So it is if its thread computes all the time at
the same instruction: a loop in C. A loop that waits in each step uses CPU in each step, and does not count.

The value is small: function, file and line of the program, the time at this standstill, the longest one in its loop
before, and when it was last seen at work (``at_work``). No value of a variable is read. After ``NOTICE`` seconds its
stack is written too. A stopped process, or one whose C code keeps the interpreter's lock, writes nothing, which shows
it.

jax is used if the program has imported it, and never imported. It works on Python 3.8 and later.
"""

from __future__ import annotations

import sys
import threading
import time
from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` would be an import of every process
    from collections.abc import Iterator
    from typing import Any

if __package__:
    from muster.assist.mounted import at_work
else:
    at_work = sys.modules["muster-assist"].beside("at_work")

JAX = "jax._src.distributed"
"""The module of jax that holds the client of the coordination service; the same from jax 0.4.35 to 0.12."""
PLACES, STACKS = "muster/places", "muster/stacks"
"""Directories of the store: the place of each rank, and the stack of a rank at a standstill."""
NAME = "muster place watch"
LAST_CHANCE = 1.0
"""Seconds for which the end of the program waits for a value that is being written."""
LOOK = 2.0
"""Seconds between two looks."""
NOTICE = 20.0
"""Seconds in one call after which its stack is written."""
FASTEST, SLOWEST = 4.0, 20.0
"""Seconds between two values at a standstill, in a gang of at most 800 and of at least 4,000 processes."""
GETS_ON = 10.0
"""Those seconds for a rank that moves, if that is longer: each value costs the program as much CPU as 100 reports."""
VALUES_PER_SECOND = 200
"""Values of a kind that process 0 takes from the whole gang in a second, between those sizes."""
STILL, BUSY = 20e-6, 0.8
"""CPU seconds that a waiting thread may have used, and the part of its time that a loop in C runs, or would run if a
CPU were free."""
MAX_FRAMES, MAX_STACK, MAX_NAME, MAX_FILE = 32, 2048, 60, 100
"""Frames and bytes of a stack; characters of a function and of a file."""
RETURNS = 3
"""Returns to a place that must have been seen before a standstill means anything."""
KNOWN_PLACES = 64
"""The latest places to which it may return."""
COMPILES = "jax/_src/compiler.py"
"""A program inside of it compiles: for minutes, and in one rank longer than in another. That is no standstill."""
WAITS_FOR_RANKS = ("/jax/", "/jaxlib/")
"""Packages in whose calls a program may wait for other ranks."""
WAITS = ("jax/_src/api.py", "jax/_src/array.py")
"""Files of jax whose innermost calls wait for devices. jaxlib wakes five times a second there, to look for signals, and
uses CPU: such a call is known again by a mark on its frame, and each step of a program makes another one."""
JOINS = ("threading.py", ("join", "_wait_for_tstate_lock", "_join_os_thread"))
"""The calls of a main thread whose work another one does."""
PAUSE = "muster-pause"
"""Key in ``sys.modules`` of the announced pause, where each copy of this file finds it."""
THREADING = ("/threading.py", "/queue.py")
"""Files in whose calls a thread waits for another one of its process."""
LIBRARIES = (
    *("/site-packages/", "/dist-packages/", "/lib/python3", "/lib64/python3", "<frozen ", "<__array_function__"),
    *("/muster-assist/", "/muster/jax/__init__.py"),
)
"""Parts of the file names of Python, of installed packages, and of Muster where it is mounted or runs from a clone."""


def place_interval(processes: int) -> float:
    """Return the seconds between two values at a standstill, in a gang of that many processes."""
    return min(max(processes / VALUES_PER_SECOND, FASTEST), SLOWEST)


def longest_interval(processes: int) -> float:
    """Return the seconds between two values of a rank that makes progress."""
    return max(place_interval(processes), GETS_ON)


def next_value(now: float, rank: int, processes: int) -> float:
    """Return when a rank that makes progress writes next, in monotonic seconds: the ranks of a node take turns.

    A process writes step and place together: a call wakes each thread of gRPC a dozen times until it rests again, and
    the next call shares that.
    """
    interval = longest_interval(processes)
    return now + interval - (now - interval * rank / max(processes, 1)) % interval


class PlaceWatch:
    """The watch of one thread of this process. Times are of the monotonic clock."""

    def __init__(self, thread: int) -> None:
        self.thread = thread
        self.at = self.since = self.longest = 0.0
        self.returns = 0
        self.frames: list[tuple[str, str, int]] = []
        self.worked = time.monotonic()
        """The time when the program was last seen at work, and its kind of work."""
        self.how = at_work.COMPUTING
        self.alone = False
        """True if it waits, and for no other rank."""
        self._others, self._question = at_work.Others(), at_work.Question()
        self._calls: tuple[object, ...] = ()
        self._cpu_since = self._ran = self._cpu = self._unsure = 0.0
        self._came_back = False
        self._known: dict[int, None] = {}

    def look(self, now: float) -> None:
        """Look once."""
        thread, frame = self._working()
        if frame is None:
            return
        cpu, calls = time.clock_gettime(time.pthread_getcpuclockid(thread)), calls_of(frame)
        native = native_of(thread)
        ran = cpu + queued(native)
        same, asked, seconds = calls == self._calls, self._question.asked(), now - self.at
        in_jax = frame.f_code.co_filename.endswith(WAITS)
        waits = (in_jax and seen_before(frame)) or cpu - self._cpu_since <= STILL
        loops = ran - self._ran >= BUSY * seconds
        if not asked:
            computes = loops or cpu - self._cpu >= at_work.COMPUTES * seconds
            self._note_work(now, native, frame, same, computes and not in_jax, hash(calls) in self._known)
        if asked and same:  # the cost of the answer is no sign of progress, nor of its absence
            self._cpu_since += cpu - self._cpu
            self._unsure += seconds
            waits = True
        still = same and (waits or loops)
        if not (asked and still):  # at a standstill now, it was so meanwhile
            self._unsure = 0.0
        self._cpu_since = cpu if loops else self._cpu_since
        self.at, self._ran, self._cpu, self._calls = now, ran, cpu, calls
        if still:
            if any(file.endswith(COMPILES) for _, file, _ in self.frames):
                self.since = now - self._unsure
            return
        if (self._came_back or self.returns >= RETURNS) and not announced():
            self.longest = max(self.longest, now - self.since)  # a start waits for others and for compilers, and once
        self.since, self._cpu_since, self.frames = now, cpu, stack_of(frame)
        here = hash(calls)
        self._came_back = here in self._known
        self.returns += self._came_back
        self._known.pop(here, None)
        self._known[here] = None
        if len(self._known) > KNOWN_PLACES:
            del self._known[next(iter(self._known))]

    def _note_work(self, now: float, native: int | None, frame: Any, same: bool, computes: bool, known: bool) -> None:
        """Note signs of work, and whether the program may wait for other ranks without one."""
        file, how = frame.f_code.co_filename, ""
        alone = file.endswith(THREADING) or at_work.waits_alone(native)
        self.alone = alone and not any(part in file for part in WAITS_FOR_RANKS)
        if computes:
            how = at_work.COMPUTING
            self._others.forget()
        elif not (same or known):
            how = at_work.MOVING
        elif self._others.due(now):
            how = self._others.look(now, native) or (at_work.INPUT if at_work.waits_for_input(native) else "")
        if how:
            self.worked, self.how = now, how

    @property
    def stood(self) -> float:
        """The seconds in one call, as of the last look that no request for stacks disturbed."""
        return self.at - self.since - self._unsure

    def _working(self) -> tuple[int, Any]:
        """Return the working thread, and its innermost call: another one if this one waits for its end."""
        frames = sys._current_frames()
        frame = frames.get(self.thread)
        if frame is not None and frame.f_code.co_name in JOINS[1] and frame.f_code.co_filename.endswith(JOINS[0]):
            main = threading.main_thread()
            others = [each.ident for each in threading.enumerate() if each is not main and not each.daemon]
            if len(others) == 1 and others[0] in frames:
                return others[0], frames[others[0]]
        return self.thread, frame

    def value(self, processes: int = 0) -> str:
        """Return the value that the daemon reads (``muster.api.places``)."""
        import json

        function, file, line = activity(self.frames)
        return json.dumps(
            {
                "at": round(self.at, 1),
                "since": round(self.since + self._unsure, 1),
                "longest": round(self.longest, 1),
                "returns": min(self.returns, RETURNS),
                "in": function,
                "file": file,
                "line": line,
                "stack": digest(self.frames),
                "worked": round(self.worked, 1),
                "how": self.how,
                "alone": int(self.alone),
                "pause": announced(),
                "processes": processes,
            },
            separators=(",", ":"),
        )

    def stack(self) -> str:
        """Return the stack, the innermost call first; calls beyond the bounds are left out."""
        import json

        frames = list(self.frames)
        while len(text := json.dumps(frames, separators=(",", ":"))) > MAX_STACK:
            frames.pop()
        return text


def announced() -> float:
    """Return the seconds of the announced pause that is not over; 0 without one."""
    return float(getattr(sys.modules.get(PAUSE), "seconds", 0.0))


def announce(seconds: float) -> None:
    """Announce a pause to the watch of this process, whichever copy of this file it runs; 0 ends it."""
    sys.modules.setdefault(PAUSE, type(sys)(PAUSE)).seconds = seconds  # type: ignore[attr-defined]


def native_of(thread: int) -> int | None:
    """Return the kernel's number of a thread."""
    return next((each.native_id for each in threading.enumerate() if each.ident == thread), None)


def queued(native: int | None) -> float:
    """Return the seconds that a thread has waited for a CPU (proc(5), schedstat); 0 if the kernel does not count."""
    found = at_work.numbers(at_work.read(f"/proc/self/task/{native}/schedstat"))
    return found[1] / 1e9 if len(found) > 1 else 0.0


def mark(_frame: Any, _event: str, _argument: Any) -> Any:
    """Mark a frame: a trace function that traces nothing, if a debugger calls it."""
    return mark


def seen_before(frame: Any) -> bool:
    """Return True if this call, and not only its line, was seen before; mark it, unless a debugger traces it."""
    if frame.f_trace is None:
        frame.f_trace = mark
        return False
    return frame.f_trace is mark


def outwards(frame: Any) -> Iterator[Any]:
    """Yield the calls of a thread, the innermost first."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def calls_of(frame: Any) -> tuple[object, ...]:
    """Return the calls of a thread with their instructions: equal if nothing has moved, or all has come again."""
    return tuple((call.f_code, call.f_lasti) for call in islice(outwards(frame), MAX_FRAMES))


def stack_of(frame: Any) -> list[tuple[str, str, int]]:
    """Return function, file and line of each call, the innermost first."""
    calls = ((call.f_code, call.f_lineno) for call in islice(outwards(frame), MAX_FRAMES))
    return [(code.co_name[:MAX_NAME], code.co_filename[-MAX_FILE:], line or 0) for code, line in calls]


def activity(frames: list[tuple[str, str, int]]) -> tuple[str, str, int]:
    """Return the innermost line of the program, and the function that it called: ``all_reduce``, ``train.py``, 88."""
    if not frames:
        return "", "", 0
    index = next((at for at, (_, file, _) in enumerate(frames) if not any(part in file for part in LIBRARIES)), 0)
    inside = [name for name, file, _ in frames[:index] if not file.endswith("/c10d_logger.py")]  # torch wraps its calls
    _, file, line = frames[index]
    return (inside or [frames[0][0]])[-1], file.rpartition("/")[2], line


def digest(frames: list[tuple[str, str, int]]) -> str:
    """Return a text that is equal for equal stacks, in every process."""
    import zlib

    return f"{zlib.crc32(repr(frames).encode()):08x}"


def attach(distributed: Any) -> None:
    """Let each process that has joined a gang by jax's module of that name watch itself until it leaves.

    jax sets its client before it has connected, and ends the process if the client is used before that, or after the
    end. So the watch begins when ``initialize`` has returned, and ends before ``shutdown`` begins.
    """
    from contextlib import suppress
    from functools import wraps

    initialize, shutdown = distributed.State.initialize, distributed.State.shutdown

    @wraps(initialize)
    def joined(self: Any, *arguments: Any, **options: Any) -> Any:
        result = initialize(self, *arguments, **options)
        with suppress(Exception):  # the program is in its gang in any case
            watch()
        return result

    @wraps(shutdown)
    def left(self: Any, *arguments: Any, **options: Any) -> Any:
        stop()
        return shutdown(self, *arguments, **options)

    distributed.State.initialize, distributed.State.shutdown = joined, left


def watch(thread: int | None = None) -> None:
    """Start the watch of this process in its gang; once, and again after it has left and joined another.

    ``thread`` is the working one; None is the main thread.
    """
    import atexit

    client = client_of(sys.modules.get(JAX))
    running = any(each.name == NAME and each.is_alive() for each in threading.enumerate())
    if client is None or running or not hasattr(time, "pthread_getcpuclockid"):
        return
    watched = PlaceWatch(thread or threading.main_thread().ident or 0)
    over.clear()
    atexit.register(stop)  # runs before jax's own hook, which closes the client
    threading.Thread(target=_run, args=(watched, client), name=NAME, daemon=True).start()


def stop() -> None:
    """End the watch of this process, and wait for a value that is being written."""
    over.set()
    if _writing.acquire(timeout=LAST_CHANCE):
        _writing.release()


over, _writing = threading.Event(), threading.Lock()


def client_of(distributed: Any) -> Any:
    """Return the client of the coordination service; None if there is none."""
    return getattr(getattr(distributed, "global_state", None), "client", None)


def joins_or_leaves(distributed: Any) -> bool:
    """Return True if a thread is inside of that module, so that its client may be new, or at its end."""
    calls = (call for frame in sys._current_frames().values() for call in outwards(frame))
    return any(call.f_code.co_filename == distributed.__file__ for call in calls)


def _run(watched: PlaceWatch, client: Any) -> None:
    """Watch until the process has left its gang: then the client is closed, or another one."""
    distributed = sys.modules[JAX]
    state = distributed.global_state
    writer = Writer(watched, state.process_id or 0, state.num_processes or 1)
    while not over.wait(writer.rest(time.monotonic())):
        try:
            watched.look(time.monotonic())
            if not writer.due(watched.at):
                continue
            with _writing:
                if over.is_set() or client_of(distributed) is not client or joins_or_leaves(distributed):
                    return
                writer.write(client, watched.at)
        except Exception:  # noqa: S112 - the place of a process is worth less than its work
            continue


class Writer:
    """The writer of the program's place, at the pace of the gang's size."""

    def __init__(self, watched: PlaceWatch, rank: int, processes: int) -> None:
        self._watched, self._rank, self._processes = watched, rank, processes
        self._due = self._due_standing = 0.0
        self._stack = ""

    def rest(self, now: float) -> float:
        """Return the seconds until the next look: about ``LOOK``, with one when a value is due."""
        left = next_value(now, self._rank, self._processes) - now
        return left / max(1, round(left / LOOK))

    def due(self, now: float) -> bool:
        """Return True if it is time to write."""
        still = self._watched.stood >= FASTEST
        return bool(self._watched.frames) and now >= (self._due_standing if still else self._due)

    def write(self, client: Any, now: float) -> None:
        """Write the value. Raises what jax raises."""
        watched = self._watched
        self._due = next_value(now, self._rank, self._processes)
        self._due_standing = now + place_interval(self._processes)
        if watched.stood >= NOTICE and (stack := watched.stack()) != self._stack:
            client.key_value_set(f"{STACKS}/{self._rank}", stack, allow_overwrite=True)
            self._stack = stack
        client.key_value_set(f"{PLACES}/{self._rank}", watched.value(self._processes), allow_overwrite=True)
