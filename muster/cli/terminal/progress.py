"""One line for each change of an experiment."""

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass

from muster.api.values.printable import printable
from muster.cli.terminal.colours import say
from muster.cli.terminal.style import TERMINAL
from muster.client import Client, Snapshot, Vanished
from muster.client.explaining.style import of_day, restarts


@dataclass(slots=True)
class ChangePrinter:
    """Prints each change once. ``_printed`` is the last line without its time."""

    _printed: str = ""
    says_end: bool = True
    """Print the message of the end, too."""

    def print(self, seen: Snapshot) -> None:
        """Print a line if phase, reason or message changed."""
        line = summary(seen, message=self.says_end or not seen.finished)
        if line != self._printed:
            self._printed = line
            say(f"{of_day(time.time())} {line}")


def summary(seen: Snapshot, *, message: bool = True) -> str:
    """Return phase, readiness, restarts and message on one line."""
    status = seen.status
    parts = (
        TERMINAL.phase(seen.phase or "Submitted"),
        status.readiness if status.size else "",
        restarts(status.restarts_begun),
        TERMINAL.stuck(seen.stuck.reason) if seen.stuck else "",
    )
    words = (seen.message or seen.reason) if message else ""
    return " ".join(filter(None, parts)) + (f": {printable(words)}" if words else "")


async def watch_to_end(client: Client, name: str, namespace: str, show: Callable[[Snapshot], None]) -> Snapshot:
    """Show every change until the experiment has finished. Raises ``Vanished`` if it is deleted."""
    async with contextlib.aclosing(client.watch(name, namespace=namespace)) as changes:
        async for change in changes:
            if change.kind == "DELETED":
                raise Vanished(f"experiment {namespace}/{name} was deleted while it ran")
            show(change.experiment)
            if change.experiment.finished:
                return change.experiment
    raise AssertionError("unreachable: a watch never ends by itself")
