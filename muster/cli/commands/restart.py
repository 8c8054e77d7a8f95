"""``muster restart``: start the gang of an experiment again."""

import click

from muster.api.values.printable import printable
from muster.cli.asker import asker
from muster.cli.completion import experiment_names
from muster.cli.exits import FAILED
from muster.cli.options import ClusterChoice, cluster_options, output_option, show
from muster.cli.terminal.colours import data, say


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
        seen = chosen.ask(lambda client: client.rerun(name), f"submitting {name} again")
    else:
        seen = chosen.ask(lambda client: client.restart(name, by=asker()), f"restarting {name}")
    if output is not None:
        show(seen.raw, output)
    elif rerun or not seen.finished:
        data(printable(seen.name))
    if rerun:
        say(printable(f"submitted {seen.namespace}/{seen.name} with the spec of {name}"))
    elif seen.finished:
        say(printable(f"{seen.name} has ended ({seen.phase}): muster restart {seen.name} --rerun submits it again"))
        raise click.exceptions.Exit(FAILED)
    elif seen.phase == "Suspended":
        say(printable(f"{seen.name} is suspended: there is nothing to restart"))
    else:
        say(printable(f"restarting {seen.name}: epoch {seen.status.epoch + 1} begins when its pods have ended"))
