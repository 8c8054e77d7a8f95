"""``report(step, loss=...)``: says how far this process has come. It never waits and never raises.

The call keeps the newest step, and a thread writes it into the key-value store of jax's coordination service at its own
pace: once a second in a gang of up to 200 processes, more rarely in a larger one (``muster.api.progress``). Muster
reads the store from outside of the job. So a call costs about a microsecond, whatever process 0 does, and a step or a
scalar that is an array still being computed is waited for in the thread and never in the training loop.

Where jax.distributed was not initialized a call does nothing. What cannot be reported is left out: a scalar that is no
finite number, the ninth scalar, a step that is no whole number. The first step that is left out is logged.

Only the standard library is imported, and jax is found where the program has imported it.
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
from collections.abc import Iterator
from typing import Any, NamedTuple

from muster.api.progress import KEYS, MAX_SCALAR_NAME, MAX_SCALARS, MAX_STEP, MAX_VALUE, report_interval
from muster.assist.mounted.sitecustomize import MARK, answer_a_signal, guarded

JAX = "jax._src.distributed"
"""The module of jax that holds the client of the coordination service; the same from jax 0.4.35 to 0.12."""
LAST_CHANCE = 1.0
"""Seconds for which the end of the program waits until the last step is written."""

_log = logging.getLogger("muster.jax")


class Latest(NamedTuple):
    """The newest call of ``report``, with what the calls so far have shown."""

    step: Any
    scalars: dict[str, Any]
    calls: int
    at: float
    longest: float
    pause: float = 0.0
    """Seconds of the pause that has begun with this report."""


class Reporter:
    """Keeps the newest report of this process, and writes it from a thread that starts with the first one."""

    def __init__(self) -> None:
        self._latest: Latest | None = None
        self._thread: threading.Thread | None = None
        self._over = threading.Event()
        self._warned = False

    def take(self, step: Any, scalars: dict[str, Any], pause: float = 0.0) -> None:
        """Keep this report. Where there is no client yet, nothing will be written, and nothing is kept.

        The time of a pause that was announced is no interval: after a checkpoint of ten minutes a hang is said as soon
        as before it.
        """
        if self._thread is None and _state() is None:
            return
        now, last = time.monotonic(), self._latest
        if last is None:
            self._latest = Latest(step, scalars, 1, now, 0.0, pause)
        else:
            took = now - last.at - last.pause
            self._latest = Latest(step, scalars, last.calls + 1, now, max(last.longest, took), pause)
        if self._thread is None:
            self._thread = threading.Thread(target=self._write, name="muster report", daemon=True)
            atexit.register(self.close)  # runs before jax's own hook, which closes the client
            self._thread.start()
            if MARK not in sys.modules:
                guarded(answer_a_signal)  # a gang that reports can hang, and is asked for its stacks then

    def pause(self, seconds: float) -> None:
        """Repeat the newest report with an announced pause of so many seconds; 0: it is over."""
        last = self._latest
        if last is not None:
            self.take(last.step, last.scalars, seconds)

    def close(self) -> None:
        """Write the newest report if that is possible at once, and end the thread."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(LAST_CHANCE)

    def _write(self) -> None:
        written: Latest | None = None
        over = False
        while not over:
            written = self._write_newest(written)
            over = self._over.wait(report_interval(getattr(_state(), "num_processes", None) or 1))
        self._write_newest(written)

    def _write_newest(self, written: Latest | None) -> Latest | None:
        """Write the newest report if it is not the one that was written last; return the one that is now."""
        latest, state = self._latest, _state()
        if latest is None or latest is written or state is None:
            return written
        try:
            client, rank = state.client, state.process_id
            client.key_value_set(f"{KEYS}/{rank}", value_of(latest), allow_overwrite=True)
        except Exception as error:  # noqa: BLE001 - a report is worth less than the training it is about
            if not self._warned and not self._over.is_set():
                self._warned = True
                _log.warning("a step is not reported (%s); this is logged once", error)
        return latest


def _state() -> Any:
    """The state of ``jax.distributed``; None where it is not initialized, or jax is not imported."""
    state = getattr(sys.modules.get(JAX), "global_state", None)
    return state if getattr(state, "client", None) is not None else None


def value_of(latest: Latest) -> str:
    """The value that the daemon reads. Raises where the step is no whole number that is 0 or more."""
    step = latest.step
    whole = step if type(step) is int else operator.index(step)
    if not 0 <= whole <= MAX_STEP:
        raise ValueError(f"a step is between 0 and {MAX_STEP}")
    value = {
        "step": whole,
        "calls": latest.calls,
        "at": round(latest.at, 3),
        "longest": round(latest.longest, 3),
    }
    if latest.pause:
        value["pause"] = latest.pause
    scalars = _finite(latest.scalars)
    text = json.dumps({**value, "scalars": scalars} if scalars else value, separators=(",", ":"))
    return text if len(text) <= MAX_VALUE else json.dumps(value, separators=(",", ":"))


def _finite(scalars: dict[str, Any]) -> dict[str, float]:
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


_reporter = Reporter()


def report(step: Any, /, **scalars: Any) -> None:
    """Say that this process has come to that step, a whole number; ``scalars`` are up to eight numbers beside it.

    Call it in each step, in every process. Muster shows steps per second and the slowest rank, and calls the gang hung
    when no process has reported for a minute, or for five times its longest pause. For a longer one there is ``pause``;
    and reports of the same step count too, so a long evaluation may call this as well.
    """
    try:
        _reporter.take(step, scalars)
    except Exception as error:  # noqa: BLE001 - see the module
        _log.debug("a report was dropped", exc_info=error)


@contextlib.contextmanager
def pause(seconds: float) -> Iterator[None]:
    """Announce that no step is reported for a while: for so many seconds no hang is said.

    ``with pause(600): save_checkpoint()`` in each process that makes the checkpoint. The end of the block ends the
    pause, also with an exception. What takes longer than announced is called hung, so give the time that it takes on a
    bad day. It needs a ``report`` before it. Like that one it never waits, and never raises for a reason of its own.
    """
    _announce(seconds)
    try:
        yield
    finally:
        _announce(0.0)


def _announce(seconds: float) -> None:
    try:
        _reporter.pause(max(0.0, float(seconds)) if math.isfinite(seconds) else 0.0)
    except Exception as error:  # noqa: BLE001 - see the module
        _log.debug("a pause was not announced", exc_info=error)
