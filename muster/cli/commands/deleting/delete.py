"""``muster delete``: delete experiments."""

import time

import click

from muster.api.errors import MusterError
from muster.api.values.printable import printable
from muster.cli.commands.deleting.deletion import delete_all, deletion_options, need_answer
from muster.cli.completion import experiment_names
from muster.cli.exits import FAILED
from muster.cli.options import ClusterChoice, cluster_options, output_option
from muster.cli.terminal.colours import plain, say
from muster.cli.terminal.patience import patient
from muster.client import Client, Snapshot
from muster.client.explaining.times import since


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
        asked = delete_all(client, found, _question(found), yes=yes, dry_run=dry_run, output=output)
        return await asked and complete

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
