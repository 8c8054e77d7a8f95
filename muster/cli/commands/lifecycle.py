"""``muster wait``, ``muster restart`` and ``muster cancel``: wait for an experiment, restart its gang, or end it."""

from collections.abc import Awaitable, Callable
from typing import Final

import click

from muster.api.values.printable import printable
from muster.cli.doctor.attention import unattended
from muster.cli.exits import DEADLINE, FAILED, status_of
from muster.cli.options import (
    SPAN,
    ClusterChoice,
    Parsed,
    asker,
    cluster_options,
    experiment_names,
    output_option,
    show,
)
from muster.cli.terminal.colours import data, plain, say
from muster.cli.terminal.progress import summary
from muster.client import Client, NoSuchExperiment, Snapshot, Until, WaitTimeout

GOAL: Final = Parsed("condition", Until.parse)


def _asked(chosen: ClusterChoice, request: Callable[[Client], Awaitable[Snapshot]], what: str) -> Snapshot:
    """Return the answer to a request; that no musterd follows it is printed."""

    async def ask(client: Client) -> Snapshot:
        seen = await request(client)
        await unattended(client.resources, seen)
        return seen

    return chosen.ask(ask, what)


@click.command(
    epilog="\b\nExamples:\n  muster wait train-x7k2p\n  muster wait train-x7k2p --for=Assembled --timeout 5m\n"
    "  muster wait train-x7k2p --for=Stuck=False\n  muster wait train-x7k2p --for=Running\n"
    "  muster wait train-x7k2p --for=delete\n"
)
@click.argument("name", shell_complete=experiment_names)
@click.option(
    "--for", "goal", type=GOAL, default="Finished", help="Condition, Condition=False, phase, or delete. [Finished]"
)
@click.option("--timeout", type=SPAN, default=None, help="Give up after this time: 90, 5m, 1h 30m.")
@output_option()
@cluster_options
def wait(chosen: ClusterChoice, name: str, goal: Until, timeout: float | None, output: str | None) -> None:
    """Wait until a condition of NAME is true, by default until it has finished.

    Exit status: for the end it is the outcome (0 succeeded, 1 failed, 3 a deadline of its own). For anything else it
    is 0 when it came, 1 when the experiment finished or was deleted without it. For both it is 3 when --timeout passed
    first, and 1 where there is no such experiment; waiting for its deletion then exits with 0.
    """
    say(printable(f"waiting for {'the deletion' if goal.deleted else goal} of {name}"))

    async def run(client: Client) -> Snapshot:
        now = await client.get(name)
        if not (goal.deleted or goal.met(now)):
            await unattended(client.resources, now)
        return await client.wait(name, goal, timeout=timeout)

    try:
        seen = chosen.run(run)
    except WaitTimeout as error:
        say(plain(f"muster: {error}"))
        raise click.exceptions.Exit(DEADLINE) from None
    except NoSuchExperiment:
        if not goal.deleted:
            raise
        say(printable(f"{name} does not exist"))
        return
    if output is not None:
        show(seen.raw, output)
    else:
        data(f"{printable(seen.name)} {'deleted' if goal.deleted else summary(seen)}")
    if goal == Until():
        raise click.exceptions.Exit(status_of(seen.outcome))
    if goal.hopeless(seen):
        raise click.exceptions.Exit(FAILED)


@click.command(
    epilog="\b\nExamples:\n  muster restart train-x7k2p\n  muster restart train-x7k2p --rerun\n"
    "  muster restart train-x7k2p -o json\n"
)
@click.argument("name", shell_complete=experiment_names)
@click.option("--rerun", is_flag=True, help="Submit the spec of NAME again, under a new name.")
@output_option()
@cluster_options
def restart(chosen: ClusterChoice, name: str, output: str | None, rerun: bool) -> None:
    """Restart the gang of NAME: its pods end, and the next epoch begins at once.

    It is charged to no budget, and `muster explain` names who asked. While it waits for a back-off, that ends. An
    experiment that has ended does not run again: --rerun submits its spec once more, under a new name, and prints it.
    """
    if rerun:
        seen = _asked(chosen, lambda client: client.rerun(name), f"submitting {name} again")
    else:
        seen = _asked(chosen, lambda client: client.restart(name, by=asker()), f"restarting {name}")
    if output is not None:
        show(seen.raw, output)
    elif rerun or not seen.finished:
        data(printable(seen.name))
    if rerun:
        say(printable(f"submitted {seen.namespace}/{seen.name} with the spec of {name}"))
    elif seen.finished:
        rerun_it = f"muster restart {seen.name}{chosen.flags} --rerun"
        say(printable(f"{seen.name} has ended ({seen.phase}): {rerun_it} submits it again"))
        raise click.exceptions.Exit(FAILED)
    elif seen.phase in ("", "Suspended", "Queued"):
        say(printable(f"{seen.name} is {seen.phase.lower() or 'not processed yet'}: there is nothing to restart"))
    elif seen.phase == "Restarting":
        say(printable(f"{seen.name} restarts already: epoch {seen.status.epoch} begins when its pods have ended"))
    else:
        say(printable(f"restarting {seen.name}: epoch {seen.status.epoch + 1} begins when its pods have ended"))


@click.command(epilog="\b\nExamples:\n  muster cancel train-x7k2p\n  muster cancel train-x7k2p -o json\n")
@click.argument("name", shell_complete=experiment_names)
@output_option()
@cluster_options
def cancel(chosen: ClusterChoice, name: str, output: str | None) -> None:
    """End NAME: its pods get SIGTERM and their grace period, and it fails as cancelled. The object stays."""
    seen = _asked(chosen, lambda client: client.cancel(name, by=asker()), f"cancelling {name}")
    if output is not None:
        show(seen.raw, output)
    elif seen.finished:
        say(f"{seen.name} has finished already: {printable(seen.phase)}")
    else:
        data(seen.name)
        say(printable(f"cancelling {seen.name}; muster wait {seen.name}{chosen.flags} waits for its end"))
