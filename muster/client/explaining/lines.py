"""Text of ``muster explain``: the history of an experiment, what it waits for, and what was known of an epoch."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from muster.api.causes import EpochEvidence, StackThen
from muster.api.conditions import Condition
from muster.api.gang import MAX_MEMBERS, RollCall
from muster.api.status import STORY_LINES, ExperimentStatus
from muster.api.values.durations import count_of
from muster.api.values.printable import printable, uncoloured
from muster.api.values.rank_ranges import from_ranges, in_words, of_ranks
from muster.api.values.timestamps import whole_time
from muster.client.explaining.explanation import Explanation
from muster.client.explaining.style import BAD, NO_TIME, PLAIN, Style, arrivals, of_day, since
from muster.client.explaining.tree import tree
from muster.client.logs.last_lines import MOST_FAILED, LastLine, Tracebacks
from muster.rollcall.document import FindingReport
from muster.state.facts.sentences import of_last_failure
from muster.state.summary.history import KEPT_FIRST

ROWS = 10
"""Rows that are shown; those that are left out logged last."""
RANGES = 40
"""Characters of the ranks of a row."""

GAP = 10.0
"""Seconds between two lines of the same kind that put them into rows of their own: a rank may have stopped."""

_NUMBER = re.compile(r"\d+(\.\d+)?")


def rows(found: Sequence[LastLine], now: float, ended: float | None = None) -> list[str]:
    """Return ``rank 2 (and 0, 3-7 alike)  2s to 5s ago  step 120 loss 0.31``: others differ in numbers alone.

    The line is that of the rank that is named; ranks with the very same line are ``ranks 0-3``. Ranks that have been
    silent for clearly longer than the others of their row have a row of their own. The longest silent ones come first.

    Of an experiment that has ended, ages are those at its end: ``5s before the end``.
    """
    groups = [
        apart
        for _, same in groupby(sorted(found, key=_kind), key=_kind)
        for apart in _apart(sorted(same, key=lambda line: line.at or 0.0))
    ]
    groups.sort(key=lambda same: (same[0].at or 0.0, same[0].rank))
    cells = [(_ranks(same), _when(same, now, ended), _what(same[0])) for same in groups[:ROWS]]
    widths = [max((len(row[column]) for row in cells), default=0) for column in (0, 1)]
    shown = [f"{ranks:<{widths[0]}}  {when:<{widths[1]}}  {what}" for ranks, when, what in cells]
    rest = sum(map(len, groups[ROWS:]))
    return [*shown, f"and {count_of(rest, 'more rank')}, which logged later"] if rest else shown


def _apart(same: Sequence[LastLine]) -> list[list[LastLine]]:
    """Return lines by time, parted where none was logged for more than ``GAP``."""
    parted = [[same[0]]]
    for line in same[1:]:
        if (line.at or 0.0) - (parted[-1][-1].at or 0.0) > GAP:
            parted.append([])
        parted[-1].append(line)
    return parted


def _kind(line: LastLine) -> tuple[str, str, int]:
    return _NUMBER.sub("#", line.text), _NUMBER.sub("#", line.unread), -1 if line.exit_code is None else line.exit_code


def _ranks(same: Sequence[LastLine]) -> str:
    first = same[0]
    if any((line.text, line.unread) != (first.text, first.unread) for line in same):
        return f"rank {first.rank} (and {in_words(sorted(line.rank for line in same[1:]), RANGES)} alike)"
    return of_ranks(sorted(line.rank for line in same), RANGES)


def _when(same: Sequence[LastLine], now: float, ended: float | None) -> str:
    then, word = (now, "ago") if ended is None else (ended, "before the end")
    oldest, newest = since(same[0].at, then), since(same[-1].at, then)
    if not oldest:
        return "-"
    return f"{oldest} {word}" if oldest == newest else f"{newest} to {oldest} {word}"


def _what(line: LastLine) -> str:
    ended = "" if line.exit_code is None else f"(exit code {line.exit_code})  "
    if line.unread:
        return f"{ended}the log cannot be read: {printable(line.unread)}"
    return ended + (printable(uncoloured(line.text)) if line.at is not None else "nothing was logged")


def explained(found: Explanation, now: float) -> str:
    """Return the explanation as a text for a file, and below it that of each epoch whose evidence is kept."""
    printed = list(lines(found, now))
    for row in found.experiment.status.evidence:
        printed += ["", *of_epoch(row, found.experiment.status)]
    return "\n".join(printed) + "\n"


def lines(found: Explanation, now: float, style: Style = PLAIN) -> Iterator[str]:
    """Yield the explanation for people."""
    status = found.experiment.status
    roll = found.roll_call(now)
    yield from tree(found, now, roll, style)
    diagnosed = (line for each in (roll.findings if roll else ()) for line in of_finding(each))
    yield from part("Ranks that make no progress, and why:", diagnosed)
    yield from part("Last line of each rank:", rows(found.last_lines, now, status.finished_at))
    tracebacks = (printable(_tracebacks(each, now)) for each in found.tracebacks)
    yield from part(
        f"Tracebacks of {MOST_FAILED} ranks at most that still run: it may be a loop in a container:", tracebacks
    )
    if status.coordinator:
        yield from ("", f"Coordinator: {printable(status.coordinator)}")
    if status.roll is not None:
        yield of_roll(status.roll)
    if failure := printable(of_last_failure(status)):
        yield from ("", f"{failure[:1].upper()}{failure[1:]}")
    yield from part("What happened:", _happened(found, style))
    if status.evidence:
        yield from ("", f"Earlier:     {which(status)} (--epoch N)")
    yield from part("Conditions:", (_condition(each, now) for each in status.conditions))


def _condition(condition: Condition, now: float) -> str:
    ago, own = since(condition.since or None, now), since(condition.reason_at, now)
    reason = f"{condition.reason}{f' for {own}' if own else ''}"
    why = printable(": ".join(filter(None, (reason, condition.message))))
    age = f" for {ago}" if ago else ""
    return f"{printable(condition.type)} {condition.status_text}{age}" + (f"  ({why})" if why else "")


def _tracebacks(found: Tracebacks, now: float) -> str:
    """Return ``rank 0 printed 22 tracebacks in 4m; the last one 40s ago: ValueError: x, raised at train.py:7``."""
    within, ago = since(found.first_at, found.last_at or now), since(found.last_at, now)
    printed = f"rank {found.rank} printed {found.count} tracebacks" + (f" in {within}" if within else "")
    raised = f", raised at {found.raised_at}" if found.raised_at else ""
    return f"{printed}; the last one{f' {ago} ago' if ago else ''}: {found.exception}{raised}"


def of_finding(found: FindingReport, style: Style = PLAIN) -> Iterator[str]:
    """Yield a finding with its evidence and the next step."""
    yield f"{style.paint(printable(found.sentence), BAD)}  ({printable(found.cause)})"
    yield f"  seen: {printable(found.evidence)}"
    yield f"  next: {printable(found.next_step)}"


def _happened(found: Explanation, style: Style) -> Iterator[str]:
    """Yield the story of the status. JobSets and JAXJobs have none, only Events."""
    story = found.experiment.status.story
    for number, line in enumerate(story):
        if number == KEPT_FIRST and len(story) == STORY_LINES:
            yield f"{NO_TIME}  a status keeps {STORY_LINES} lines: some between these may be dropped"
        turn = printable(f"{line.reason}: {line.message}")
        yield f"{of_day(line.at or None, style.zone)}  epoch {line.epoch}  {turn}"
    if story:
        return
    for event in found.events:
        times = f"  ({event.count} times)" if event.count > 1 else ""
        yield f"{of_day(event.at, style.zone)}  {printable(f'{event.reason}: {event.message}')}{times}"
    if not found.events:
        waits = found.experiment.phase in ("", "Pending")
        yield "nothing was recorded yet" if waits else "no Event of it can be read"


def which(status: ExperimentStatus) -> str:
    """Return ``epochs 2 and 3 ended without success and are kept; epoch 4 is the latest``."""
    numbers = [str(row.epoch) for row in status.evidence]
    latest = f"epoch {status.epoch_begun} is the latest"
    if not numbers:
        return f"no epoch is kept that ended without success; {latest}"
    named = " and ".join(filter(None, (", ".join(numbers[:-1]), numbers[-1])))
    many = len(numbers) > 1
    return f"{'epochs' if many else 'epoch'} {named} ended without success and {'are' if many else 'is'} kept; {latest}"


def kept(status: ExperimentStatus, epoch: int) -> EpochEvidence | None:
    """Return the evidence of that epoch."""
    return next((row for row in reversed(status.evidence) if row.epoch == epoch), None)


def of_epoch(
    row: EpochEvidence, status: ExperimentStatus, last_lines: Sequence[str] = (), style: Style = PLAIN
) -> Iterator[str]:
    """Yield the evidence for people; ``last_lines`` are rows of the logs of its pods that are kept."""
    lasted = since(row.began_at, row.at)
    yield f"Epoch {row.epoch}: {printable(row.phase)} until {whole_time(row.at)}" + (
        f", {lasted} after it began" if lasted else ""
    )
    yield f"Then:        {printable(row.next)}" + (f", {printable(row.reason)}" if row.reason else "")
    yield from _named("Because:", row.how)
    yield from _named("Waited for:", row.waited_for)
    if row.stuck:
        yield from _named("Stuck:", f"{row.stuck} for {since(row.stuck_at, row.at)}: {row.stuck_by}")
    yield from _named("Known:", row.known)
    if row.roll is not None:
        yield of_roll(row.roll)
    yield from _named("Steps:", row.steps)
    yield from _named("Collectives:", row.collectives)
    yield from _named("Places:", row.places)
    findings = ((f"{printable(each.sentence)}  ({printable(each.cause)})", each.evidence) for each in row.findings)
    found = (line for each, seen in findings for line in (each, *_named("  seen:", seen, 0)))
    yield from part("Ranks that made no progress, and why:", found)
    stacks = (f"{_who(each)}: {printable(each.calls) or 'other stacks, or none'}" for each in row.stacks)
    yield from part("Stacks, the innermost call first:", stacks)
    yield from part("Last line of each rank whose pod is kept:", last_lines)
    story = (
        f"{of_day(line.at or None, style.zone)}  {printable(f'{line.reason}: {line.message}')}"
        for line in status.story
        if line.epoch == row.epoch
    )
    yield from part("What happened:", story)


def part(title: str, below: Iterable[str]) -> Iterator[str]:
    """Yield an empty line, the title, and the lines below it; nothing without these."""
    if shown := [f"  {line}" for line in below]:
        yield from ("", title, *shown)


def of_roll(roll: RollCall) -> str:
    """Return ``Roll call:   3/4 arrived; missing 2``."""
    return f"Roll call:   {arrivals(roll.arrived, roll.expected, roll.missing)}"


def _who(stack: StackThen) -> str:
    """Return ``rank 37``, ``511 ranks (0-36, 38-511)``; the lowest of them where they are many."""
    if stack.count < 2:
        return f"rank {stack.rank}"
    named = sum(1 for _ in from_ranges(stack.ranks, MAX_MEMBERS))
    return f"{stack.count} ranks ({stack.ranks.replace(',', ', ')}{', …' if named < stack.count else ''})"


def _named(what: str, text: str, width: int = 12) -> Iterator[str]:
    if text:
        yield f"{what:<{width}} {printable(text)}"
