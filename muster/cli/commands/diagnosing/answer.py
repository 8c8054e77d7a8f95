"""The lines of ``muster diagnose``: who is missing and why, what each rank does, and what musterd knows of the run."""

from collections.abc import Coroutine, Iterator, Mapping, MutableMapping, Sequence
from typing import Any

import msgspec

from muster.api.errors import ApiError, Forbidden
from muster.api.values.durations import age
from muster.api.values.printable import printable
from muster.cli.commands.explain import findings_of
from muster.cli.commands.stacks import document
from muster.cli.commands.stacks import lines as stack_lines
from muster.cli.options import show
from muster.cli.terminal.colours import data
from muster.cli.terminal.patience import patient
from muster.cli.terminal.style import TERMINAL
from muster.client.explaining.lines import of_finding
from muster.client.explaining.style import DIM, Style, arrivals, restarts
from muster.client.snapshot import EventSummary
from muster.client.stacks.frames import RankStacks, unread
from muster.kube.instrumented import lacks
from muster.rollcall.document import Detail
from muster.state.facts.causes.cause import MissingCause
from muster.state.facts.causes.table import BY_NAME, Causes
from muster.state.view.roll import CoordinatorState

YOUNG = 60.0
"""Seconds after the last start of a member in which a rank that has not arrived may be on its way."""
ON_THEIR_WAY: tuple[MissingCause, ...] = (
    Causes.TERMINATING,
    Causes.QUEUED,
    Causes.HELD_BACK,
    Causes.INIT_CONTAINER,
    Causes.SCHEDULING,
    Causes.NOT_CREATED,
    Causes.STARTING,
    Causes.AWAITS_COORDINATOR,
)
"""Causes of members in whose start or end nothing is wrong."""
SOON: tuple[MissingCause, ...] = (
    Causes.NOT_ARRIVED,
    Causes.COORDINATOR_NOT_SERVING,
    Causes.UNSCHEDULABLE,
    Causes.SANDBOX,
)
"""Causes that a young run has for a moment."""


def trouble(roll: Detail, youngest: float) -> bool:
    """Return whether something is wrong with the run; its last member started ``youngest`` seconds ago."""
    if roll.phase == "Failed" or roll.stuck or (roll.progress is not None and roll.progress.hung):
        return True
    causes = [BY_NAME.get(found.cause) for found in roll.findings]
    return any(each not in ON_THEIR_WAY and (each not in SOON or youngest >= YOUNG) for each in causes)


def lines(roll: Detail, unknown: Mapping[str, str], style: Style) -> Iterator[str]:
    """Yield the roll call for people."""
    facts = [printable(roll.kind), f"epoch {roll.epoch}", restarts(roll.restarts), f"{roll.ready}/{roll.size} ready"]
    facts.append(style.stuck(roll.stuck) if roll.stuck else "")
    yield style.head(f"{roll.namespace}/{roll.name}", roll.phase, facts)
    if roll.message:
        yield f"│ {printable(roll.message)}"
    if roll.arrived is not None and roll.coordinator is not None and roll.coordinator.state == CoordinatorState.SERVING:
        yield f"│ roll call: {arrivals(roll.arrived, roll.size, (each.rank for each in roll.missing_ranks))}"
    if roll.progress is not None:
        yield f"│ {printable(roll.progress.sentence)}"
    if roll.hint:
        yield f"│ {printable(roll.hint)}"
    for found in roll.findings:
        yield from ("", *of_finding(found, style))
    if roll.cause is not None:
        yield from ("", f"Last failure: {printable(roll.cause.sentence)}")
    if roll.time is not None and roll.time.seconds:
        spent = ", ".join(f"{bucket} {age(seconds)}" for bucket, seconds in roll.time.seconds.items())
        yield from ("", printable(f"Time: {spent}"))
    if not roll.findings and not roll.stuck and roll.phase == "Running":
        yield from ("", "Nothing is found that keeps it.")
    if unknown:
        yield from ("", *(style.paint(f"not known: {printable(why)}", DIM) for why in unknown.values()))


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
