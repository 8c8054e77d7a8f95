"""One line for each change of an experiment, and times as people read them: ages, time left, time of day."""

import contextlib
import time
from dataclasses import dataclass
from datetime import UTC, datetime

import click

from muster.api.values.humanize import age
from muster.api.values.printable import printable
from muster.cli.terminal.colours import BAD, phase_word, say
from muster.client import Client, Snapshot, Vanished

NO_TIME = "--:--:--"


@dataclass(slots=True)
class ChangePrinter:
    """Prints each change once. ``_printed`` is the last line without its time."""

    _printed: str = ""

    def print(self, seen: Snapshot) -> None:
        """Print a line if phase, reason or message changed."""
        line = summary(seen)
        if line != self._printed:
            self._printed = line
            say(f"{of_day(time.time())} {line}")


def summary(seen: Snapshot) -> str:
    """Phase, readiness, restarts and message on one line."""
    status = seen.status
    parts = [phase_word(seen.phase or "Submitted")]
    if status.size:
        parts.append(status.readiness)
    if restarts := status.restarts_begun:
        parts.append(f"{restarts} restart{'s' if restarts > 1 else ''}")
    if (stuck := seen.condition("Stuck")) is not None and stuck.status:
        parts.append(click.style(f"stuck ({printable(stuck.reason or '')})", fg=BAD))
    message = seen.message or seen.reason
    return " ".join(parts) + (f": {printable(message)}" if message else "")


async def watch_to_end(client: Client, name: str, namespace: str | None = None) -> Snapshot:
    """Print every change until the experiment has finished. Raises ``Vanished`` if it is deleted."""
    printer = ChangePrinter()
    async with contextlib.aclosing(client.watch(name, namespace=namespace)) as changes:
        async for change in changes:
            if change.kind == "DELETED":
                raise Vanished(f"experiment {change.experiment.namespace}/{name} was deleted while it ran")
            printer.print(change.experiment)
            if change.experiment.finished:
                return change.experiment
    raise AssertionError("unreachable: a watch never ends by itself")


def clock_left(seen: Snapshot, now: float) -> str:
    """What is left until the deadline; nothing once the experiment has finished."""
    return "" if seen.finished else left(seen.deadline, now)


def since(then: float | None, now: float) -> str:
    """How long ago ``then`` was; empty where it is not known."""
    return "" if then is None else age(max(0.0, now - then))


def left(then: float | None, now: float) -> str:
    """How long it is until ``then``; empty where there is no such time, ``0s`` once it has passed."""
    return "" if then is None else age(max(0.0, then - now))


def of_day(then: float | None) -> str:
    """The time of day of ``then`` in this machine's time zone, or dashes."""
    if then is None:
        return NO_TIME
    try:
        return datetime.fromtimestamp(then, UTC).astimezone().strftime("%H:%M:%S")
    except (ValueError, OverflowError):  # beyond the year 9999 in this zone
        return NO_TIME
