"""Facts of an epoch at its end, as lines, and the epochs whose facts a status has."""

from collections.abc import Iterable, Iterator, Sequence

from muster.api.causes import EpochEvidence, StackThen
from muster.api.gang import MAX_MEMBERS, RollCall
from muster.api.status import ExperimentStatus
from muster.api.values.printable import printable
from muster.api.values.rank_ranges import from_ranges
from muster.api.values.timestamps import whole_time
from muster.client.explaining.style import PLAIN, Style, arrivals, of_day, since


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


def lines(
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


def part(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield an empty line, the title, and the lines below it; nothing without lines."""
    if shown := [f"  {line}" for line in lines]:
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
