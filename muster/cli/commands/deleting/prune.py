"""``muster prune``: delete experiments that ended long ago."""

import time
from collections.abc import Collection, Sequence

import click

from muster.api.values.printable import printable
from muster.cli.commands.deleting.deletion import delete_all, deletion_options, need_answer
from muster.cli.commands.several.listing import everywhere_option, phase_option, place_of, places
from muster.cli.exits import FAILED
from muster.cli.options import SPAN, ClusterChoice, cluster_options, output_option
from muster.cli.terminal.colours import say
from muster.cli.terminal.patience import patient
from muster.cli.terminal.style import TERMINAL
from muster.cli.terminal.table import Table
from muster.client import Client, Snapshot
from muster.client.explaining.times import since

SHOWN = 20
"""Experiments that the question lists one by one."""


@click.command(
    epilog="\b\nExamples:\n  muster prune --older-than 7d --dry-run\n"
    "  muster prune --older-than '2w 3d' --phase Failed\n"
    "  muster prune --older-than 30d -A --yes -o json\n"
)
@click.option("--older-than", type=SPAN, required=True, help="Time since the end: 90 (seconds), 12h, 7d, 2w.")
@phase_option(("Succeeded", "Failed"), "Only experiments that ended so; may be given often.")
@everywhere_option
@deletion_options
@output_option("name")
@cluster_options
def prune(
    chosen: ClusterChoice,
    older_than: float,
    phases: tuple[str, ...],
    everywhere: bool,
    yes: bool,
    dry_run: bool,
    output: str | None,
) -> None:
    """Delete the experiments that ended longer ago than --older-than, with their pods and logs.

    It never deletes an experiment that has not finished, one that another manager runs (spec.managedBy), or one that
    is created later under the same name. Exit status: 0 all of them are deleted (or none is old enough), 1 one could
    not be deleted or the answer was no, 2 it could not ask.
    """
    need_answer(yes, dry_run)

    async def run(client: Client) -> bool:
        every = await patient(client.list(everywhere=everywhere), "listing experiments")
        now = time.time()
        found = old_ones(every, now - older_than, phases)
        if not found and output in (None, "name"):
            say(f"no experiment ended so long ago{'' if everywhere else ' in this namespace; -A looks in all'}")
            return True
        if found:
            _describe(found, now, everywhere)
        number = f"{len(found)} experiment{'' if len(found) == 1 else 's'}"
        question = f"Delete {number}, with pods and logs?"
        return await delete_all(client, found, question, yes=yes, dry_run=dry_run, output=output, qualified=everywhere)

    if not chosen.run(run):
        raise click.exceptions.Exit(FAILED)


def old_ones(every: Sequence[Snapshot], before: float, phases: Collection[str]) -> list[Snapshot]:
    """Return the experiments that finished before a time (wall seconds), the oldest first.

    One that states no end, is being deleted already, or is run by another manager (``spec.managedBy``), is none of
    them: the other manager deletes what it has copied here.
    """
    found = [
        (seen.status.finished_at, seen)
        for seen in every
        if seen.finished and (not phases or seen.phase in phases) and not seen.deleting and not seen.managed_by
    ]
    old = [(at, seen) for at, seen in found if at and at <= before]
    return [seen for _, seen in sorted(old, key=lambda pair: (pair[0], pair[1].namespace, pair[1].name))]


def _describe(found: Sequence[Snapshot], now: float, everywhere: bool) -> None:
    """Print what would be deleted on standard error: standard output has the names of deleted experiments."""
    where = places(everywhere)
    rows = [
        (
            *place_of(seen, where),
            printable(seen.name),
            TERMINAL.phase(seen.phase),
            f"{since(seen.status.finished_at, now)} ago",
            printable(seen.message or seen.reason, 80),
        )
        for seen in found[:SHOWN]
    ]
    say(*Table((*where, "NAME", "PHASE", "ENDED", "MESSAGE")).lines(rows, headings=True))
    if len(found) > SHOWN:
        say(f"and {len(found) - SHOWN} more")
