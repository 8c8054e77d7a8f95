"""One plain line per change of an experiment: what somebody who waits wants to read."""

import contextlib
import time
from dataclasses import dataclass

import click

from muster.api.printing import printable
from muster.cli.spans import left, of_day
from muster.cli.voice import BAD, phase_word, say
from muster.client import Client, Snapshot, Vanished


@dataclass(slots=True)
class Teller:
    """Tells each change once. ``_told`` is the last line without its time."""

    _told: str = ""

    def tell(self, seen: Snapshot) -> None:
        """Print a line if phase, reason or message changed."""
        line = summary(seen)
        if line != self._told:
            self._told = line
            say(f"{of_day(time.time())} {line}")


def summary(seen: Snapshot) -> str:
    """Phase, readiness, restarts and message on one line."""
    status = seen.status
    parts = [phase_word(seen.phase or "Submitted")]
    if status.ready:
        parts.append(status.ready)
    if status.restarts:
        parts.append(f"{status.restarts} restart{'s' if status.restarts > 1 else ''}")
    if (stuck := seen.condition("Stuck")) is not None and stuck.status == "True":
        parts.append(click.style(f"stuck ({stuck.reason})", fg=BAD))
    message = seen.message or seen.reason
    return " ".join(parts) + (f": {printable(message)}" if message else "")


async def watch_to_end(client: Client, name: str, namespace: str | None = None) -> Snapshot:
    """Tell every change until the experiment has finished. Raises ``Vanished`` if it is deleted."""
    teller = Teller()
    async with contextlib.aclosing(client.watch(name, namespace=namespace)) as changes:
        async for change in changes:
            if change.kind == "DELETED":
                raise Vanished(f"experiment {change.experiment.namespace}/{name} was deleted while it ran")
            teller.tell(change.experiment)
            if change.experiment.finished:
                return change.experiment
    raise AssertionError("unreachable: a watch never ends by itself")


def clock_left(seen: Snapshot, now: float) -> str:
    """What is left until the deadline; nothing once the experiment has finished."""
    return "" if seen.finished else left(seen.deadline, now)
