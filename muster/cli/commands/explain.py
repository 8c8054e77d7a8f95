"""``muster explain``: the history of an experiment, and what it waits for."""

import asyncio
import time
from collections.abc import Collection, Iterator

import click
import msgspec

from muster.api.evidence import EpochEvidence
from muster.api.values.printable import printable
from muster.api.values.rank_ranges import from_ranges
from muster.api.wire import structs as wire
from muster.cli.completion import experiment_names
from muster.cli.options import ClusterChoice, cluster_options, output_option, show
from muster.cli.terminal.colours import data
from muster.cli.terminal.epoch import kept, which
from muster.cli.terminal.epoch import lines as of_epoch
from muster.cli.terminal.last_lines import rows
from muster.cli.terminal.patience import patient
from muster.cli.terminal.progress import of_day, since
from muster.cli.terminal.tree import tree
from muster.client import Explanation
from muster.client.errors import UnknownEpoch
from muster.kube.unstructured import mapping
from muster.rollcall.document import FindingReport
from muster.state.facts.sentences import of_last_failure


@click.command(
    epilog="\b\nExamples:\n  muster explain train-x7k2p\n  muster explain train-x7k2p -o json\n"
    "  muster explain train-x7k2p --epoch 1\n"
)
@click.argument("name", shell_complete=experiment_names)
@click.option("--epoch", type=click.IntRange(0), default=None, help="An epoch that ended without success.")
@output_option()
@cluster_options
def explain(chosen: ClusterChoice, name: str, epoch: int | None, output: str | None) -> None:
    """Show what NAME waits for and which members keep it.

    Also why it restarted or ended, what each rank logged last, and what happened when.

    With --epoch it is what was known of that epoch when it ended: what it waited for, who failed, where its ranks
    stood. The last three epochs that ended without success are kept.
    """

    async def run() -> Explanation:
        async with chosen.client() as client:
            reading = client.explain(name, last_lines=True, epoch=epoch, namespace=chosen.namespace)
            return await patient(reading, f"reading {name}")

    found = asyncio.run(run())
    status, now = found.experiment.status, time.time()
    row = None if epoch is None else kept(status, epoch)
    if row is None and epoch is not None and epoch != status.epoch_begun:
        raise UnknownEpoch(f"{name}: nothing is known of epoch {epoch}: {which(status)}")
    if row is not None:
        if output is not None:
            show({"evidence": written(row), "lastLines": found.last_lines}, output)
            return
        for line in of_epoch(row, status, rows(found.last_lines, now, row.at)):
            data(line)
        return
    if output is not None:
        show(document(found, now), output)
        return
    for line in lines(found, now):
        data(line)


def written(row: EpochEvidence) -> dict[str, object]:
    """The evidence as the status has it."""
    return wire.write(EpochEvidence, row)


def document(found: Explanation, now: float) -> dict[str, object]:
    """The explanation as data."""
    seen, roll = found.experiment, found.roll_call(now)
    return {
        "namespace": seen.namespace,
        "name": seen.name,
        "waitsFor": found.waits_for,
        "outcome": seen.outcome,
        "findings": [] if roll is None else [_finding(each, roll.size) for each in roll.findings],
        "status": mapping(seen.raw.get("status")),
        "members": found.members if found.members_read else None,
        "unreadable": found.unreadable,
        "lastLines": found.last_lines,
        "events": found.events,
    }


def _finding(found: FindingReport, size: int) -> dict[str, object]:
    return {**msgspec.to_builtins(found), "ranks": list(from_ranges(found.ranks, size))}


def _diagnosis(diagnosed: Collection[FindingReport]) -> Iterator[str]:
    """Each finding with its evidence and the next step."""
    if not diagnosed:
        return
    yield ""
    yield "Why members are not at work:"
    for each in diagnosed:
        yield f"  {printable(each.sentence)}  ({each.cause})"
        yield f"    seen: {printable(each.evidence)}"
        yield f"    next: {printable(each.next_step)}"


def lines(found: Explanation, now: float) -> Iterator[str]:
    """The explanation for people."""
    status = found.experiment.status
    roll = found.roll_call(now)
    yield from tree(found, now, roll)
    yield from _diagnosis(roll.findings if roll else ())
    if found.last_lines:
        yield ""
        yield "Last line of each rank:"
        yield from (f"  {line}" for line in rows(found.last_lines, now, status.finished_at))
    if status.coordinator:
        yield ""
        yield f"Coordinator: {printable(status.coordinator)}"
    if status.roll is not None:
        missing = ", ".join(map(str, status.roll.missing))
        yield f"Roll call:   {status.roll.arrived}/{status.roll.expected} arrived" + (
            f"; missing {missing}" if missing else ""
        )
    if said := printable(of_last_failure(status)):
        yield ""
        yield f"{said[:1].upper()}{said[1:]}"
    yield ""
    yield "What happened:"
    yield from (f"  {line}" for line in _happened(found))
    if status.evidence:
        yield ""
        yield f"Earlier:     {which(status)} (--epoch N)"
    if status.conditions:
        yield ""
        yield "Conditions:"
        for condition in status.conditions:
            ago = since(condition.since or None, now)
            age = f" for {ago}" if ago else ""
            why = printable(": ".join(part for part in (condition.reason, condition.message) if part))
            yield f"  {printable(condition.type)} {condition.status_text}{age}" + (f"  ({why})" if why else "")


def _happened(found: Explanation) -> Iterator[str]:
    """The story of the status. JobSets and JAXJobs have none, only Events."""
    for line in found.experiment.status.story:
        yield f"{of_day(line.at or None)}  epoch {line.epoch}  {printable(f'{line.reason}: {line.message}')}"
    if found.experiment.status.story:
        return
    for event in found.events:
        times = f"  ({event.count} times)" if event.count > 1 else ""
        yield f"{of_day(event.at)}  {printable(f'{event.reason}: {event.message}')}{times}"
    if not found.events:
        waits = found.experiment.phase in ("", "Pending")
        yield "nothing was recorded yet" if waits else "no Event of it can be read"
