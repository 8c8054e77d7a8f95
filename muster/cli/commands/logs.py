"""``muster logs``: the log of a gang."""

import asyncio
import contextlib
import sys

import click

from muster.api.values.printable import printable
from muster.cli.options import ClusterChoice, cluster_options
from muster.cli.terminal.colours import data


@click.command(
    epilog="\b\nExamples:\n  muster logs train-x7k2p --rank 0 -f\n  muster logs train-x7k2p --tail 5\n"
    "  muster logs train-x7k2p --rank 2 --previous\n"
)
@click.argument("name")
@click.option("--rank", "ranks", type=click.IntRange(0), multiple=True, help="Only this rank; may be given often.")
@click.option("-f", "--follow", is_flag=True, help="Continue over restarts until the experiment has finished.")
@click.option("-p", "--previous", is_flag=True, help="The epoch before this one, as far as its pods are kept.")
@click.option("--tail", type=click.IntRange(0), default=None, help="Only that many of the latest lines of each rank.")
@cluster_options
def logs(
    chosen: ClusterChoice, name: str, ranks: tuple[int, ...], follow: bool, previous: bool, tail: int | None
) -> None:
    """Print the log of NAME; with several ranks each line begins with its rank."""
    if follow and previous:
        raise click.UsageError("an epoch that has ended cannot be followed: use either --follow or --previous")

    async def run() -> None:
        async with chosen.client() as client:
            lines = client.logs(name, ranks, follow=follow, previous=previous, tail=tail, namespace=chosen.namespace)
            async with contextlib.aclosing(lines) as stream:
                async for rank, line in stream:
                    data(log_line(rank, line, prefixed=len(ranks) != 1))

    asyncio.run(run())


def log_line(rank: int, line: str, *, prefixed: bool) -> str:
    """A line of a member's log. A file or a pipe gets it unchanged.

    On a terminal it is printable; of a line that is overwritten by carriage returns (a progress bar) the last is shown.
    """
    if sys.stdout.isatty():
        line = "\t".join(map(printable, line.rstrip("\r").rpartition("\r")[2].split("\t")))
    return f"[{rank}] {line}" if prefixed else line
