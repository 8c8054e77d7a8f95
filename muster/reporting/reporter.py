"""The reporter of a process: keeps the newest report, and writes it from a thread. It never waits and never raises.

A call of ``report`` keeps the newest step, and a thread writes it to the channel that is there, at the channel's own
pace (``muster.api.progress``). So a call costs about a microsecond, whatever the other end does, and a step or a scalar
that is an array still being computed is waited for in the thread and never in the training loop.

Where there is no channel yet a call does nothing. What cannot be reported is left out: a scalar that is no finite
number, the ninth scalar, a step that is no whole number. The first step that is left out is logged.

Only the standard library is imported, and a framework is found where the program has imported it.
"""

import atexit
import contextlib
import json
import logging
import math
import operator
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from muster.api.progress import MAX_SCALAR_NAME, MAX_SCALARS, MAX_STEP, MAX_VALUE, RESTORE, SAVE
from muster.assist.mounted import place_watch
from muster.assist.mounted.sitecustomize import MARK, answer_a_signal, guarded

FIRST_REPORTS = 3
LAST_CHANCE = 1.0
"""Seconds for which the end of the program waits until the last step is written."""

_log = logging.getLogger("muster")


class Place(Protocol):
    """Where the reports of this process go now."""

    @property
    def interval(self) -> float:
        """The seconds between two reports."""
        ...

    def write(self, latest: "Latest") -> None:
        """Write this report over the one before. May raise anything; it is called from the reporter's thread."""
        ...


Find = Callable[[], Place | None]
"""A channel: finds its place, or None where the program has not opened it. It is cheap and opens nothing itself."""


class Latest(NamedTuple):
    """The newest call of ``report``, with what the calls so far have shown."""

    step: Any
    scalars: dict[str, Any]
    calls: int
    at: float
    longest: float
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
    paused: float = 0.0
    """Seconds of the pauses that are over: for saving a checkpoint, for restoring one, and all."""

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


class Reporter:
    """Keeps the newest report of this process, and writes it from a thread that starts with the first one."""

    def __init__(self, channels: Sequence[Find]) -> None:
        """The first of the channels that is there at a report is taken, and kept."""
        self.channels = channels
        self._find: Find | None = None
        self._latest: Latest | None = None
        self._thread: threading.Thread | None = None
        self._over = threading.Event()
        self._warned = False

    def take(self, step: Any, scalars: dict[str, Any]) -> None:
        """Keep this report. Where there is no channel yet, nothing will be written, and nothing is kept."""
        self._keep(step, scalars)

    def _keep(self, step: Any, scalars: dict[str, Any], pause: float | None = None, kind: str = "") -> None:
        """Keep a report, or an announcement: of a ``pause``, and with 0 of its end.

        The time of a pause that was announced is no interval: after a checkpoint of ten minutes a hang is said as soon
        as before it.
        """
        if self._thread is None:
            self._find = next((find for find in self.channels if find() is not None), None)
            if self._find is None:
                return
        now, last = time.monotonic(), self._latest
        if last is None:
            self._latest = Latest(step, scalars, 1, now, 0.0, first=step, begin=(now,))
        else:
            took = now - last.at
            paused = took if last.pause else 0.0
            work = now - last.paused - paused
            more = pause is None and len(last.begin) < FIRST_REPORTS
            self._latest = Latest(
                step,
                scalars,
                last.calls + 1,
                now,
                max(last.longest, took - last.pause),
                pause or 0.0,
                kind if pause else "",
                last.first,
                (*last.begin, work) if more else last.begin,
                last.saved + (paused if last.kind == SAVE else 0.0),
                last.restored + (paused if last.kind == RESTORE else 0.0),
                last.paused + paused,
            )
        if self._thread is None:
            self._thread = threading.Thread(target=self._write, name="muster report", daemon=True)
            atexit.register(self.close)  # runs before jax's own hook, which closes the client
            self._thread.start()
            if MARK not in sys.modules:
                guarded(answer_a_signal)  # a gang that reports can hang, and is asked for its stacks then
            if place_watch.JAX in sys.modules:
                guarded(place_watch.watch, threading.get_ident())

    def pause(self, seconds: float, kind: str = "") -> None:
        """Repeat the newest report with an announced pause of so many seconds; 0: it is over."""
        last = self._latest
        if last is not None:
            self._keep(last.step, last.scalars, seconds, kind)

    def close(self) -> None:
        """Write the newest report if that is possible at once, and end the thread."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(LAST_CHANCE)

    def _write(self) -> None:
        written: Latest | None = None
        pause, over = 1.0, False
        while not over:
            place = self._place()
            pause = place.interval if place is not None else pause
            written = self._write_newest(place, written)
            over = self._over.wait(pause)
        self._write_newest(self._place(), written)

    def _place(self) -> Place | None:
        try:
            return self._find() if self._find is not None else None
        except Exception as error:  # noqa: BLE001 - a report is worth less than the training it is about
            self._warn(error)
            return None

    def _write_newest(self, place: Place | None, written: Latest | None) -> Latest | None:
        """Write the newest report if it is not the one that was written last; return the one that is now."""
        latest = self._latest
        if latest is None or latest is written or place is None:
            return written
        try:
            place.write(latest)
        except Exception as error:  # noqa: BLE001 - a report is worth less than the training it is about
            self._warn(error)
        return latest

    def _warn(self, error: Exception) -> None:
        if not self._warned and not self._over.is_set():
            self._warned = True
            _log.warning("a step is not reported (%s); this is logged once", error)


def value_of(latest: Latest, **more: int) -> str:
    """The value that the daemon reads, with ``more`` in it. Raises where the step is no whole number from 0 on."""
    value: dict[str, Any] = {
        "step": _whole(latest.step),
        "calls": latest.calls,
        "at": round(latest.at, 3),
        "longest": round(latest.longest, 3),
        **more,
    }
    spent = {
        "pause": latest.pause,
        "kind": latest.kind[:MAX_SCALAR_NAME],
        "saved": round(latest.saved, 3),
        "restored": round(latest.restored, 3),
        "paused": round(latest.paused, 3),
    }
    value |= {name: each for name, each in spent.items() if each}
    with contextlib.suppress(Exception):
        value["first"] = _whole(latest.first)
    if latest.begun is not None:
        value["begun"] = round(latest.begun, 3)
    scalars = finite(latest.scalars)
    text = json.dumps({**value, "scalars": scalars} if scalars else value, separators=(",", ":"))
    return text if len(text) <= MAX_VALUE else json.dumps(value, separators=(",", ":"))


def _whole(step: Any) -> int:
    whole = step if type(step) is int else operator.index(step)
    if not 0 <= whole <= MAX_STEP:
        raise ValueError(f"a step is between 0 and {MAX_STEP}")
    return whole


def finite(scalars: dict[str, Any]) -> dict[str, float]:
    """The scalars that can be reported, as numbers."""
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
