"""The reporter of a process: keeps the newest report, and writes it from a thread. It never waits and never raises.

A call of ``report`` keeps the newest step, and a thread writes it to the available channel, at the channel's own pace
(``muster.api.progress``). So a call costs about a microsecond, whatever the other end does, and a step or a scalar that
is an array still being computed is waited for in the thread and never in the training loop. A pause of rank 0 is
written when it begins and when it ends, because it counts the time of the gang.

Without a channel a call does nothing. Values that cannot be reported are left out: a scalar that is no finite number,
the ninth scalar, a step that is no whole number. The first step that is left out is logged.

Only the standard library is imported, and a framework is found if the program has imported it.
"""

import atexit
import contextlib
import json
import logging
import math
import operator
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, Protocol

from muster.api.progress import (
    LOAD,
    MAX_RESTARTS,
    MAX_SCALAR_NAME,
    MAX_SCALARS,
    MAX_STEP,
    MAX_VALUE,
    MAX_WORKS,
    RESTART_COUNT,
    RESTORE,
    SAVE,
)
from muster.assist.mounted import place_watch, torch_recorder
from muster.assist.mounted.sitecustomize import MARK, answer_a_signal, guarded

FIRST_REPORTS = 3
EARLY, SOON = 10.0, 1.0
"""Seconds after its first report for which rank 0 writes more often, and the interval: from these values the daemon
learns the offset of the program's clock. The first report after a silence is written as soon."""
UNOPENED = 1.0
"""Seconds until the next search for a channel."""
APART = 4.0
"""Seconds after the beginning of a pause in which the next pause is not written at once."""
SHOWN_AGAIN = 15.0
"""Seconds after which a working process shows that again, and for which it counts as working after it was seen so."""
LAST_CHANCE = 1.0
"""Seconds for which the end of the program waits until the last step is written."""

_log = logging.getLogger("muster")


class Place(Protocol):
    """The present destination of this process's reports."""

    @property
    def quiet(self) -> float:
        """Seconds without a further call after which the newest report is written, although it is not due."""
        ...

    @property
    def prompt(self) -> bool:
        """True if the beginning and the end of a pause are written at once."""
        ...

    @property
    def shows_work(self) -> bool:
        """True if a process at work writes its newest report again, because nothing else shows that it works."""
        ...

    def next(self, now: float) -> float:
        """Return when the next report is due after one at ``now``, in monotonic seconds."""
        ...

    def write(self, latest: "Latest") -> None:
        """Write this report over the one before. May raise anything; it is called from the reporter's thread."""
        ...


Find = Callable[[], Place | None]
"""A channel: a function that finds its place, or None if the program has not opened it. It is cheap and opens none."""


class Spent(NamedTuple):
    """The time spent until now. It changes with the first reports, and when a pause begins or ends."""

    pause: float = 0.0
    """Seconds of the pause that has begun with this report."""
    kind: str = ""
    """The kind of that pause."""
    first: Any = None
    """The step of the first report."""
    begin: tuple[float, ...] = ()
    """The work (the time without announced pauses) at the first three reports."""
    saved: float = 0.0
    restored: float = 0.0
    loaded: float = 0.0
    paused: float = 0.0
    """Seconds of past pauses: for saving a checkpoint, for restoring one, for loading data, and of all."""

    @property
    def begun(self) -> float | None:
        """The work when the first step began; None before the third report.

        A program reports when a step is done, or when one begins. The second report is the end of a whole step in
        either case, and what that step took longer than the next one was the compilation.
        """
        if len(self.begin) < FIRST_REPORTS:
            return None
        first, second, third = self.begin
        return max(first, second - (third - second))

    @property
    def settled(self) -> bool:
        """True once a further report changes nothing here."""
        return not self.pause and len(self.begin) == FIRST_REPORTS


class Latest(NamedTuple):
    """The newest call of ``report``, with what the calls so far have shown."""

    step: Any
    scalars: dict[str, Any]
    calls: int
    at: float
    longest: float
    spent: Spent = Spent()
    settled: bool = False
    """True once ``spent`` is settled."""
    works: float = 0.0
    """Seconds for which the process is taken to be at work."""


_Newest = tuple[Any, dict[str, Any], int, float, float, Spent, bool]
"""A ``Latest`` as it is kept: a plain tuple is made without a call of Python code."""


class Reporter:
    """The reporter of this process: keeps the newest report, and writes it from a thread that the first one starts."""

    def __init__(self, channels: Sequence[Find]) -> None:
        """At a report, the first available channel is taken, and kept."""
        self.channels = channels
        self._find: Find | None = None
        self._newest: _Newest | None = None
        self._thread: threading.Thread | None = None
        self._turn: SimpleQueue[None] = SimpleQueue()
        """The queue that wakes the thread. Unlike an event, a signal handler may use it while it is being used."""
        self._over = False
        self._prompt = self._announced = False
        self._paused_at = -APART
        self._warned = False
        self._watch: place_watch.PlaceWatch | None = None
        """The watch of the thread that trains, if its work is to be shown."""

    def take(self, step: Any, scalars: dict[str, Any]) -> None:
        """Keep this report. Without a channel nothing will be written, and nothing is kept."""
        newest = self._newest
        if newest is None or not newest[6]:
            self._keep(step, scalars)
            return
        _, _, calls, at, longest, spent, _ = newest  # the path of nearly all reports, whose cost is cold code
        now = time.monotonic()
        self._newest = (step, scalars, calls + 1, now, now - at if now - at > longest else longest, spent, True)

    @property
    def _latest(self) -> "Latest | None":
        return None if self._newest is None else Latest(*self._newest)

    def _keep(self, step: Any, scalars: dict[str, Any], pause: float | None = None, kind: str = "") -> None:
        """Keep a report, or the announcement of a ``pause``, or with 0 of its end.

        An announced pause is no interval between reports: after a checkpoint of ten minutes a hang is reported as soon
        as before it.
        """
        if self._thread is None:
            self._find = next((find for find in self.channels if find() is not None), None)
            if self._find is None:
                return
        now, last = time.monotonic(), self._latest
        if last is None:
            self._newest = (step, scalars, 1, now, 0.0, Spent(first=step, begin=(now,)), False)
        else:
            took, before = now - last.at, last.spent
            paused = took if before.pause else 0.0
            work = now - before.paused - paused
            more = pause is None and len(before.begin) < FIRST_REPORTS
            spent = Spent(
                pause or 0.0,
                kind if pause else "",
                before.first,
                (*before.begin, work) if more else before.begin,
                before.saved + (paused if before.kind == SAVE else 0.0),
                before.restored + (paused if before.kind == RESTORE else 0.0),
                before.loaded + (paused if before.kind == LOAD else 0.0),
                before.paused + paused,
            )
            longest = max(last.longest, took - before.pause)
            self._newest = (step, scalars, last.calls + 1, now, longest, spent, spent.settled)
        if self._thread is None:
            if hasattr(time, "pthread_getcpuclockid"):
                self._watch = place_watch.PlaceWatch(threading.get_ident())
            self._thread = threading.Thread(target=self._write, name="muster report", daemon=True)
            atexit.register(self.close)  # runs before jax's own hook, which closes the client
            self._thread.start()
            if MARK not in sys.modules:
                guarded(answer_a_signal)  # a gang that reports can hang, and is then asked for its stacks
            if place_watch.JAX in sys.modules:
                guarded(place_watch.watch, threading.get_ident())
            guarded(torch_recorder.start_once)

    def pause(self, seconds: float, kind: str = "") -> None:
        """Repeat the newest report with an announced pause of that many seconds; 0 ends the pause.

        Without a report, the place watch of ``spec.assist`` gets the pause.
        """
        place_watch.announce(seconds)
        last = self._latest
        if last is None:
            return
        self._keep(last.step, last.scalars, seconds, kind)
        now = time.monotonic()
        if seconds:
            self._paused_at, earlier = now, self._paused_at
            self._announced = now - earlier >= APART
        if self._announced and self._prompt:
            self._turn.put(None)

    def close(self) -> None:
        """Write the newest report if that is possible at once, and end the thread."""
        self._over = True
        self._turn.put(None)
        if self._thread is not None:
            self._thread.join(LAST_CHANCE)

    def _write(self) -> None:
        written: _Newest | None = None
        due, shown_at, asked = 0.0, 0.0, False
        early_until = time.monotonic() + EARLY
        while not self._over:
            place, now, newest = self._place(), time.monotonic(), self._newest
            self._prompt = place is not None and place.prompt
            if place is None or newest is None:
                asked = self._asked(UNOPENED)
                continue
            quiet_at = newest[3] + place.quiet
            works = self._works(place, now)
            shows = works > 0 and now >= max(due, shown_at + SHOWN_AGAIN)
            if shows or (newest is not written and (now >= due or asked or now >= quiet_at)):
                newest = written = self._write_newest(place, None if shows else written, works)
                due = now + SOON if place.prompt and now < early_until else place.next(now)
                shown_at = now
            elif newest is written and now >= due and not place.prompt:
                due = place.next(now)
            if newest is written:  # a due report is written soon
                wait = min(due - now, place.quiet) if due > now else SOON
            else:
                wait = min(due, quiet_at) - now
            asked = self._asked(max(0.0, wait))
        self._write_newest(self._place(), written)

    def _works(self, place: Place, now: float) -> float:
        """Return the seconds for which the program counts as at work from now on: until the next sign, and more."""
        if self._watch is None or not place.shows_work:
            return 0.0
        guarded(self._watch.look, now)
        lately = now - self._watch.worked < SHOWN_AGAIN
        return place.next(now) - now + 2 * SHOWN_AGAIN if lately else 0.0

    def _asked(self, seconds: float) -> bool:
        """Wait for that many seconds, or until a report is asked for. Return True if one was asked for."""
        try:
            self._turn.get(timeout=seconds)
        except Empty:
            return False
        return True

    def _place(self) -> Place | None:
        try:
            return self._find() if self._find is not None else None
        except Exception as error:  # noqa: BLE001 - a report is worth less than the training it is about
            self._warn(error)
            return None

    def _write_newest(self, place: Place | None, written: _Newest | None, works: float = 0.0) -> _Newest | None:
        """Write the newest report if it is not the last written one. Return the one that is written now."""
        newest = self._newest
        if newest is None or newest is written or place is None:
            return written
        try:
            place.write(Latest(*newest, works))
        except Exception as error:  # noqa: BLE001 - a report is worth less than the training it is about
            self._warn(error)
        return newest

    def _warn(self, error: Exception) -> None:
        if not self._warned and not self._over:
            self._warned = True
            _log.warning("a step is not reported (%s); this is logged once", error)


def value_of(latest: Latest, **more: int) -> str:
    """Return the value that the daemon reads, with ``more`` in it. Raises if the step is no whole number from 0 on."""
    value: dict[str, Any] = {
        "step": _whole(latest.step),
        "calls": latest.calls,
        "at": round(latest.at, 3),
        "longest": round(latest.longest, 3),
        **more,
    }
    times = latest.spent
    spent = {
        "pause": times.pause,
        "kind": times.kind[:MAX_SCALAR_NAME],
        "saved": round(times.saved, 3),
        "restored": round(times.restored, 3),
        "loaded": round(times.loaded, 3),
        "paused": round(times.paused, 3),
    }
    value |= {name: each for name, each in spent.items() if each}
    if latest.works:
        value["works"] = round(min(latest.works, MAX_WORKS), 1)
    with contextlib.suppress(ValueError):
        if restarts := int(os.environ.get(RESTART_COUNT, "0")):
            value["restarts"] = min(max(0, restarts), MAX_RESTARTS)
    with contextlib.suppress(Exception):
        value["first"] = _whole(times.first)
    if times.begun is not None:
        value["begun"] = round(times.begun, 3)
    scalars = finite(latest.scalars)
    text = json.dumps({**value, "scalars": scalars} if scalars else value, separators=(",", ":"))
    return text if len(text) <= MAX_VALUE else json.dumps(value, separators=(",", ":"))


def _whole(step: Any) -> int:
    whole = step if type(step) is int else operator.index(step)
    if not 0 <= whole <= MAX_STEP:
        raise ValueError(f"a step is between 0 and {MAX_STEP}")
    return whole


def finite(scalars: dict[str, Any]) -> dict[str, float]:
    """Return the scalars that can be reported, as numbers."""
    found: dict[str, float] = {}
    for name, given in scalars.items():
        if len(found) == MAX_SCALARS:
            break
        try:
            number = float(given)
        except Exception:  # noqa: BLE001, S112 - an array of many numbers, or one whose memory was given away
            continue
        if math.isfinite(number) and len(name) <= MAX_SCALAR_NAME:
            found[name] = number
    return found


class Reports(NamedTuple):
    """The two functions that a module offers to training programs, of one reporter."""

    reporter: Reporter

    def report(self, step: Any, scalars: dict[str, Any]) -> None:
        """Keep a report, and raise nothing."""
        try:
            self.reporter.take(step, scalars)
        except Exception as error:  # noqa: BLE001 - see the module
            _log.debug("a report was dropped", exc_info=error)

    @contextlib.contextmanager
    def pause(self, seconds: float, kind: str = "") -> Iterator[None]:
        """Announce a pause until the end of the block, and raise nothing of its own."""
        self._announce(seconds, kind)
        try:
            yield
        finally:
            self._announce(0.0)

    def _announce(self, seconds: float, kind: str = "") -> None:
        try:
            self.reporter.pause(max(0.0, float(seconds)) if math.isfinite(seconds) else 0.0, str(kind))
        except Exception as error:  # noqa: BLE001 - see the module
            _log.debug("a pause was not announced", exc_info=error)
