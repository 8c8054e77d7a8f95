"""Text of ``muster explain``: the history of an experiment, and what it waits for."""

from collections.abc import Iterator

from muster.api.conditions import Condition
from muster.api.values.printable import printable
from muster.client.explaining.epoch import lines as of_epoch
from muster.client.explaining.epoch import of_roll, part, which
from muster.client.explaining.explanation import Explanation
from muster.client.explaining.last_lines import rows
from muster.client.explaining.style import BAD, PLAIN, Style
from muster.client.explaining.times import of_day, since
from muster.client.explaining.tree import tree
from muster.client.logs.tracebacks import Tracebacks
from muster.rollcall.document import FindingReport
from muster.state.facts.sentences import of_last_failure


def explained(found: Explanation, now: float) -> str:
    """Return the explanation as a text for a file, and below it that of each epoch whose evidence is kept."""
    said = list(lines(found, now))
    for row in found.experiment.status.evidence:
        said += ["", *of_epoch(row, found.experiment.status)]
    return "\n".join(said) + "\n"


def lines(found: Explanation, now: float, style: Style = PLAIN) -> Iterator[str]:
    """Yield the explanation for people."""
    status = found.experiment.status
    roll = found.roll_call(now)
    yield from tree(found, now, roll, style)
    diagnosed = (line for each in (roll.findings if roll else ()) for line in of_finding(each))
    yield from part("Ranks that make no progress, and why:", diagnosed)
    yield from part("Last line of each rank:", rows(found.last_lines, now, status.finished_at))
    tracebacks = (printable(_tracebacks(each, now)) for each in found.tracebacks)
    yield from part("Tracebacks of ranks that still run, which may be a loop in their containers:", tracebacks)
    if status.coordinator:
        yield from ("", f"Coordinator: {printable(status.coordinator)}")
    if status.roll is not None:
        yield of_roll(status.roll)
    if said := printable(of_last_failure(status)):
        yield from ("", f"{said[:1].upper()}{said[1:]}")
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
    for line in found.experiment.status.story:
        said = printable(f"{line.reason}: {line.message}")
        yield f"{of_day(line.at or None, style.zone)}  epoch {line.epoch}  {said}"
    if found.experiment.status.story:
        return
    for event in found.events:
        times = f"  ({event.count} times)" if event.count > 1 else ""
        yield f"{of_day(event.at, style.zone)}  {printable(f'{event.reason}: {event.message}')}{times}"
    if not found.events:
        waits = found.experiment.phase in ("", "Pending")
        yield "nothing was recorded yet" if waits else "no Event of it can be read"
