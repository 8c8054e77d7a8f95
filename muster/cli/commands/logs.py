"""``muster logs``: the log of a gang."""

import contextlib
from collections.abc import Callable
from datetime import datetime
from typing import Final

import click
import msgspec

from muster.api.values.printable import printable
from muster.cli.exits import FAILED
from muster.cli.options import ClusterChoice, Parsed, cluster_options, experiment_names, json_text, span
from muster.cli.terminal.colours import data, say
from muster.cli.terminal.patience import patient
from muster.cli.terminal.style import log_line, rank_prefix
from muster.client import Client, LogLine, LogNote, Snapshot
from muster.client.logs.gang_log import AT_ONCE
from muster.kube.unstructured import mapping

LONGEST_GROUP = 20
"""Characters of a group's name that are shown before each line."""


def since_when(value: str) -> float | datetime:
    """Return the seconds of a duration back from now, or an RFC 3339 time."""
    if "T" in value:
        with contextlib.suppress(ValueError):
            if (moment := datetime.fromisoformat(value)).tzinfo is not None:
                return moment
        raise ValueError(f"{value!r} is no time with a time zone, such as 2026-01-31T08:00:00Z")
    if not (seconds := span(value)):
        raise ValueError("give a time above zero; --tail 0 --follow shows new lines only")
    return seconds


SINCE: Final = Parsed("duration|time", since_when)


@click.command(
    epilog="\b\nExamples:\n  muster logs train-x7k2p\n  muster logs train-x7k2p --rank 0 -f\n"
    "  muster logs train-x7k2p -f --tail 5 --timestamps\n  muster logs train-x7k2p --since 10m\n"
    "  muster logs train-x7k2p --rank 2 --previous\n  muster logs train-x7k2p -o json | jq 'select(.rank == 3).text'\n"
)
@click.argument("name", shell_complete=experiment_names)
@click.option("--rank", "ranks", type=click.IntRange(0), multiple=True, help="Only this rank; may be given often.")
@click.option("-f", "--follow", is_flag=True, help="Continue over restarts until the experiment has finished.")
@click.option(
    "-p",
    "--previous",
    is_flag=True,
    help="The attempt or epoch before this one, as far as its pods are kept.",
)
@click.option("--epoch", type=click.IntRange(0), default=None, help="This epoch, as far as its pods are kept.")
@click.option("--tail", type=click.IntRange(0), default=None, help="Only that many of the latest lines of each rank.")
@click.option("--since", type=SINCE, default=None, help="Only lines of this last time (90, 5m, 2h), or after a time.")
@click.option("--timestamps", is_flag=True, help="Print the time of each line, by the clock of its node.")
@click.option(
    "--at-once", type=click.IntRange(1, 1000), default=AT_ONCE, help=f"Logs that are read at once. [{AT_ONCE}]"
)
@click.option("-o", "--output", type=click.Choice(["json"]), default=None, help="One JSON object per line.")
@cluster_options
def logs(
    chosen: ClusterChoice,
    name: str,
    ranks: tuple[int, ...],
    follow: bool,
    previous: bool,
    epoch: int | None,
    tail: int | None,
    since: float | datetime | None,
    timestamps: bool,
    at_once: int,
    output: str | None,
) -> None:
    """Print the log of NAME: the lines of all ranks by time, each after its rank (of one --rank as they are).

    With --follow, what was written before is merged by time, and new lines follow as they arrive; the lowest 50 of the
    chosen ranks are followed. Ranks that are not read are named on standard error, with the reason. A file or a pipe
    gets the lines as they are; on a terminal, and in a job of a CI service (CI=true), control characters are replaced.
    Exit status: 0, or 1 where there is no such log or a log could not be read.
    """
    if follow and (previous or epoch is not None):
        raise click.UsageError("an epoch that has ended cannot be followed: use either --follow or --previous, --epoch")
    if previous and epoch is not None:
        raise click.UsageError("--previous and --epoch each name an epoch: use one of them")
    failed = []

    def noted(note: LogNote) -> None:
        say(printable(f"muster: {note}"))
        if note.failed:
            failed.append(note)

    async def run(client: Client) -> None:
        seen = await patient(client.get(name), f"reading {name}")
        prefix = _prefix_of(seen) if len(ranks) != 1 else None
        lines = client.logs(
            name,
            ranks,
            follow=follow,
            previous=previous,
            epoch=epoch,
            tail=tail,
            since=since,
            at_once=at_once,
            noted=noted,
        )
        async with contextlib.aclosing(lines) as stream:
            line = await patient(anext(stream, None), "waiting for the first line")
            if line is None:
                say("no line was logged" if since is None else "no line was logged in that time")
            while line is not None:
                if output is not None:
                    data(json_text(msgspec.structs.asdict(line), indent=-1))
                else:
                    text = f"{line.time or '-'} {line.text}" if timestamps else line.text
                    data(log_line(text, prefix(line) if prefix else ""))
                line = await anext(stream, None)

    chosen.run(run)
    if failed:
        raise click.exceptions.Exit(FAILED)


def _prefix_of(seen: Snapshot) -> Callable[[LogLine], str]:
    """Return what makes ``worker rank  3 | `` of a line; the group only if there are several. Columns are aligned."""
    groups = mapping(mapping(seen.raw.get("spec")).get("types"))
    longest = min(max((len(printable(str(group))) for group in groups), default=0), LONGEST_GROUP)
    digits = len(str(max(0, seen.status.size - 1)))

    def prefix(line: LogLine) -> str:
        group = f"{printable(line.group, LONGEST_GROUP):<{longest}} " if len(groups) > 1 else ""
        return f"{group}{rank_prefix(line.rank, digits)}"

    return prefix
