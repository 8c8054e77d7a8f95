"""``muster wait``: wait for a condition of an experiment."""

from typing import Final

import click

from muster.api.values.printable import printable
from muster.cli.completion import experiment_names
from muster.cli.exits import DEADLINE, FAILED, status_of
from muster.cli.options import SPAN, ClusterChoice, Parsed, cluster_options, output_option, show
from muster.cli.terminal.colours import data, plain, say
from muster.cli.terminal.progress import summary
from muster.client import NoSuchExperiment, Until, WaitTimeout

GOAL: Final = Parsed("condition", Until.parse)


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

    try:
        seen = chosen.run(lambda client: client.wait(name, goal, timeout=timeout))
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
        raise click.exceptions.Exit(status_of(seen))
    if goal.hopeless(seen):
        raise click.exceptions.Exit(FAILED)
