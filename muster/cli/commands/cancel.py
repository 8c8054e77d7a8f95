"""``muster cancel``: end an experiment."""

import click

from muster.api.values.printable import printable
from muster.cli.asker import asker
from muster.cli.completion import experiment_names
from muster.cli.options import ClusterChoice, cluster_options, output_option, show
from muster.cli.terminal.colours import data, say


@click.command(epilog="\b\nExamples:\n  muster cancel train-x7k2p\n  muster cancel train-x7k2p -o json\n")
@click.argument("name", shell_complete=experiment_names)
@output_option()
@cluster_options
def cancel(chosen: ClusterChoice, name: str, output: str | None) -> None:
    """End NAME: its pods get SIGTERM and their grace period, and it fails as cancelled. The object stays."""
    seen = chosen.ask(lambda client: client.cancel(name, by=asker()), f"cancelling {name}")
    if output is not None:
        show(seen.raw, output)
    elif seen.finished:
        say(f"{seen.name} has finished already: {printable(seen.phase)}")
    else:
        data(seen.name)
        say(f"cancelling {seen.name}; muster wait {seen.name} waits for its end")
