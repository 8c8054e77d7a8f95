"""Prints the answer of a diagnosis: the roll call, what each rank does, and what musterd knows of the run."""

from collections.abc import Coroutine, Mapping, MutableMapping, Sequence
from typing import Any

import msgspec

from muster.api.errors import ApiError, Forbidden
from muster.api.values.printable import printable
from muster.cli.commands.diagnosing.lines import lines
from muster.cli.commands.explain import findings_of
from muster.cli.commands.stacks import document
from muster.cli.commands.stacks import lines as stack_lines
from muster.cli.options import show
from muster.cli.terminal.colours import data
from muster.cli.terminal.patience import patient
from muster.cli.terminal.style import TERMINAL
from muster.client.events import EventSummary
from muster.client.stacks.frames import RankStacks, unread
from muster.kube.instrumented import lacks
from muster.rollcall.document import Detail


async def read_stacks(
    reading: Coroutine[Any, Any, list[RankStacks]], unknown: MutableMapping[str, str]
) -> list[RankStacks]:
    """Return what each rank does; where it may not be read, write into ``unknown`` why."""
    try:
        return await patient(reading, "asking the ranks for their stacks")
    except Forbidden as error:
        what = lacks(error, "get and create of pods/exec")
    except ApiError as error:
        what = str(error)
    unknown["stacks"] = f"{what}: what each rank does is not known"
    return []


def print_answer(
    roll: Detail,
    unknown: Mapping[str, str],
    output: str | None,
    *,
    bad: bool,
    ranks: Sequence[RankStacks] | None = None,
    event: EventSummary | None = None,
) -> None:
    """Print the roll call for people or as data, with the stacks that were asked for and a musterd's last Event."""
    if output is not None:
        found = msgspec.to_builtins(roll)
        found["findings"] = findings_of(roll)
        note = None if event is None else {"reason": printable(event.reason), "message": printable(event.message)}
        more = {} if ranks is None else {"stacks": document(ranks)}
        show({**found, "unknown": dict(unknown), "trouble": bad, "musterd": note, **more}, output)
        return
    data(*lines(roll, unknown, TERMINAL))
    if event is not None:
        data("", printable(f"A musterd watches over it, too. Its last Event: {event.reason}: {event.message}"))
    if ranks:
        data("", *stack_lines(ranks), *(printable(each.sentence) for each in unread(ranks)))
