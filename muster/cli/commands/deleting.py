"""``muster delete`` and ``muster prune``: delete experiments by name, or those that ended long ago.

Both ask before, and delete by uid.
"""

import asyncio
import signal
import sys
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import click

from muster.api.errors import Conflict, MusterError
from muster.api.values.durations import count_of
from muster.api.values.printable import printable
from muster.cli.commands.several.listing import everywhere_option, phase_option, places, row
from muster.cli.exits import FAILED
from muster.cli.options import SPAN, ClusterChoice, all_of, cluster_options, experiment_names, output_option, show
from muster.cli.terminal.colours import data, plain, say
from muster.cli.terminal.patience import patient
from muster.cli.terminal.table import Table
from muster.client import Client, NoSuchExperiment, Snapshot
from muster.client.explaining.style import since

AT_ONCE = 16
"""Requests under way at the same time."""
FAILURES_SHOWN = 10
"""Refusals that are printed one by one."""


@dataclass(frozen=True, slots=True)
class Deletion:
    """Result of the deletion of one experiment. ``why`` is the reason if it was not deleted."""

    namespace: str
    name: str
    uid: str
    deleted: bool
    why: str = ""


deletion_options = all_of(
    click.option("-y", "--yes", is_flag=True, help="Do not ask; needed where standard input is no terminal."),
    click.option("--dry-run", is_flag=True, help="Ask the API server whether it would, and delete nothing."),
)


def need_answer(yes: bool, dry_run: bool) -> None:
    """Refuse to destroy anything where the question cannot be asked and was not answered beforehand."""
    if not yes and not dry_run and not _asks():
        raise click.UsageError("this is no terminal to ask on: add --yes, or look first with --dry-run")


def _asks() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _confirmed(question: str) -> bool:
    """Return whether the answer is yes. Ctrl-C and Ctrl-D end the command."""
    # asyncio answers the first SIGINT by cancelling its task, which cannot happen while the answer is read here
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return click.confirm(printable(question), err=True)
    except click.Abort:
        say("\nnothing was deleted")
        raise
    finally:
        signal.signal(signal.SIGINT, before)


async def delete_all(
    client: Client,
    found: Sequence[Snapshot],
    question: str,
    *,
    yes: bool,
    dry_run: bool,
    output: str | None,
    qualified: bool = False,
) -> bool:
    """Ask, delete these experiments, print each, and report what could not be deleted; return True if all were deleted.

    ``qualified`` prints names as ``namespace/name``.
    """
    if found and not dry_run and not yes and not _confirmed(question):
        say("nothing was deleted")
        return False
    came: list[Deletion] = []
    limit = asyncio.Semaphore(AT_ONCE)

    async def one(seen: Snapshot) -> Deletion:
        async with limit:
            return await _delete(client, seen, dry_run)

    async def every() -> None:
        for deleting in asyncio.as_completed([one(seen) for seen in found]):
            result = await deleting
            came.append(result)
            if result.deleted and output in (None, "name"):
                data(printable(f"{result.namespace}/{result.name}" if qualified else result.name))

    await patient(every(), "deleting experiments", lambda: f"{len(came)} of {len(found)}")
    if output in ("json", "yaml"):
        show({"dryRun": dry_run, "experiments": came}, output)
    failed = [result for result in came if not result.deleted]
    for result in failed[:FAILURES_SHOWN]:
        say(plain(f"muster: {result.namespace}/{result.name} was not deleted: {result.why}"))
    if len(failed) > FAILURES_SHOWN:
        say(f"muster: and {len(failed) - FAILURES_SHOWN} more; -o json has every reason")
    if dry_run:
        say("nothing was deleted: this was a dry run")
    return not failed


async def _delete(client: Client, seen: Snapshot, dry_run: bool) -> Deletion:
    """Delete the experiment that was seen, and no other one of its name."""
    why = ""
    try:
        await client.delete(seen.name, uid=seen.uid, namespace=seen.namespace, dry_run=dry_run)
    except NoSuchExperiment:
        pass  # deleted meanwhile
    except Conflict:
        why = "another experiment of that name has been created since"
    except MusterError as error:
        why = str(error)
    return Deletion(seen.namespace, seen.name, seen.uid, not why, why)


@click.command(
    epilog="\b\nExamples:\n  muster delete train-x7k2p\n  muster delete train-x7k2p eval-b2c4d --yes\n"
    "  muster delete train-x7k2p --dry-run\n  muster list --phase Failed -o name | xargs muster delete --yes\n"
)
@click.argument("names", metavar="NAME...", nargs=-1, required=True, shell_complete=experiment_names)
@deletion_options
@output_option("name")
@cluster_options
def delete(chosen: ClusterChoice, names: tuple[str, ...], yes: bool, dry_run: bool, output: str | None) -> None:
    """Delete every NAME, with its pods and their logs. `muster cancel` ends an experiment and keeps both.

    An experiment that is created under that name after the question is not deleted. Exit status: 0 all are
    deleted, 1 one of them does not exist or could not be deleted or the answer was no, 2 it could not ask.
    """
    need_answer(yes, dry_run)

    async def run(client: Client) -> bool:
        found, complete = await patient(_find(client, names), "reading experiments")
        if not found:
            return False
        return await delete_all(client, found, _question(found), yes=yes, dry_run=dry_run, output=output) and complete

    if not chosen.run(run):
        raise click.exceptions.Exit(FAILED)


async def _find(client: Client, names: tuple[str, ...]) -> tuple[list[Snapshot], bool]:
    """Return the experiments of these names, and whether there is one of each."""
    found, complete = [], True
    for name in dict.fromkeys(names):
        try:
            found.append(await client.get(name))
        except MusterError as error:
            say(plain(f"muster: {error}"))
            complete = False
    return found, complete


def _question(found: list[Snapshot]) -> str:
    now = time.time()
    described = [f"{seen.namespace}/{seen.name} ({', '.join(filter(None, _facts(seen, now)))})" for seen in found[:5]]
    more = f" and {len(found) - 5} more" if len(found) > 5 else ""
    running = " Programs that still run get SIGTERM." if any(not seen.finished for seen in found) else ""
    return printable(f"Delete {', '.join(described)}{more}, with pods and logs?{running}")


def _facts(seen: Snapshot, now: float) -> tuple[str, ...]:
    age = since(seen.created, now)
    return seen.phase or "Submitted", seen.status.readiness and f"{seen.status.readiness} ready", age and f"{age} old"


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
        question = f"Delete {count_of(len(found), 'experiment')}, with pods and logs?"
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
    which = (*places(everywhere), "NAME", "PHASE")
    rows = [
        (
            *row(seen, now, which),
            f"{since(seen.status.finished_at, now)} ago",
            printable(seen.message or seen.reason, 80),
        )
        for seen in found[:SHOWN]
    ]
    say(*Table((*which, "ENDED", "MESSAGE")).lines(rows, headings=True))
    if len(found) > SHOWN:
        say(f"and {len(found) - SHOWN} more")
