"""Evidence of an epoch's end in its logs: the rank of the traceback, and how long before its end a rank printed last.

The traceback of a rank that has lost another one is not the cause, and is not shown as if it were.
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from muster.api.causes import Cause
from muster.api.last_words.lines import is_noise
from muster.api.values.humanize import age
from muster.api.values.printable import printable
from muster.api.values.rank_ranges import to_ranges
from muster.cli.processes.tracebacks import Tracebacks

RUNS_ON: Final = 10.0
"""Seconds after which a rank that has printed a traceback, and nothing since, is reported to run on."""
STATE_DUMP: Final = "[state-dump]"
"""Begins each of some thirty lines that raylet prints when a node of Ray is lost."""
NAMED: Final = 60
"""Characters of the ranks that have raised the same."""
_ABORTED: Final = 134


class Printed(NamedTuple):
    """A line of a log. ``at`` is its time in wall seconds by the clock of the node, where it is known."""

    text: str
    shown: bool
    at: float | None = None


def of_end(cause: Cause | None, tracebacks: Tracebacks, last: Mapping[int, Printed], survivor_text: str) -> list[str]:
    """Return the lines to print after a failure. ``last`` has the last line of each rank."""
    failed = -1 if cause is None else cause.rank
    if own := tracebacks.of(failed):
        return _titled(f"the traceback of rank {failed}{_and_more(tracebacks, failed)} was:", own)
    rank, lines = tracebacks.first()
    if cause is None or failed < 0:
        return _titled(f"the traceback of rank {rank}{_and_more(tracebacks, rank)} was:", lines)
    said = []
    if (line := last.get(failed)) is not None and not is_noise(line.text):
        end = "its end" if cause.exit_code else "the end of the gang"
        before = "" if line.at is None or not cause.at else f", {age(max(0.0, cause.at - line.at))} before {end}"
        said.append(f"the last line of rank {failed}{before}: {printable(line.text)}")
    if not lines:
        return said
    if survivor_text and re.search(survivor_text, lines[-1]):
        why = f"gave up waiting for rank {failed}" if cause.evidence else f"failed because rank {failed} was gone"
        return [*said, printable(f"rank {rank} {why}: {lines[-1]}")]
    return [*said, *_titled(f"rank {failed} is the cause, and printed no traceback; rank {rank} did:", lines)]


def exception_before(cause: Cause | None, tracebacks: Tracebacks) -> str:
    """Return the exception that a rank had raised before it was aborted while it waited for the others."""
    if cause is None or cause.exit_code not in (None, _ABORTED) or not (own := tracebacks.of(cause.rank)):
        return ""
    return f"rank {cause.rank} had raised {printable(own[-1])}"


def runs_on(rank: int, exception: str, *, assisted: bool) -> str:
    """Return the line about a rank whose process has not ended after a traceback."""
    ends = "" if assisted else "; --assist ends it then"
    raised = printable(exception).partition(":")[0]
    return (
        f"rank {rank} has raised {raised} and has neither ended nor printed anything for {age(RUNS_ON)}: "
        f"unless the program caught it, it waits for the others{ends}"
    )


def _and_more(tracebacks: Tracebacks, rank: int) -> str:
    others = tracebacks.same_as(rank)
    if not others:
        return ""
    ranks = f"rank{'s' if len(others) > 1 else ''}: {to_ranges(others, NAMED).replace(',', ', ')}"
    return f" (its last line is the same in {len(others)} more {ranks})"


def _titled(title: str, lines: list[str]) -> list[str]:
    return [title, *(f"  {printable(line)}" for line in lines)] if lines else []
