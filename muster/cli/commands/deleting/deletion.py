"""Parts of ``muster delete`` and ``muster prune``: the question before, and the deletion of experiments by uid."""

import asyncio
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import click

from muster.api.errors import Conflict, Forbidden, MusterError
from muster.api.values.printable import printable
from muster.cli.options import all_of, show
from muster.cli.terminal.colours import data, plain, say
from muster.cli.terminal.patience import patient
from muster.client import Client, NoSuchExperiment, Snapshot

AT_ONCE = 16
"""Requests under way at the same time."""
SHOWN = 10
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
    for result in failed[:SHOWN]:
        say(plain(f"muster: {result.namespace}/{result.name} was not deleted: {result.why}"))
    if len(failed) > SHOWN:
        say(f"muster: and {len(failed) - SHOWN} more; -o json has every reason")
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
    except Forbidden as error:
        why = f"{error.message}; `muster doctor` lists your rights"
    except MusterError as error:
        why = str(error)
    return Deletion(seen.namespace, seen.name, seen.uid, not why, why)
