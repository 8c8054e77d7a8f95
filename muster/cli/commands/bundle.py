"""``muster bundle``: what is known of an experiment, as an archive for someone who has no access to the cluster."""

import sys
import time
from pathlib import Path

import click

from muster.cli.options import ClusterChoice, cluster_options, experiment_names
from muster.cli.terminal.colours import say
from muster.client.explaining.bundle import bundle as made


@click.command(
    epilog="\b\nExamples:\n  muster bundle train-x7k2p > train.tar.gz\n  muster bundle train-x7k2p -o train.tar.gz\n"
)
@click.argument("name", shell_complete=experiment_names)
@click.option("-o", "--output", "file", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
@cluster_options
def bundle(chosen: ClusterChoice, name: str, file: Path | None) -> None:
    """Write a tar.gz with all that is known of NAME: status, story, findings, evidence of epochs, pods, last log lines.

    It has no Secret, no value of the environment, no command, argument, annotation or volume. What programs printed is
    in it: values that the pods show, and what looks like a credential, are replaced there.
    """
    if file is None and is_terminal():
        raise click.UsageError("the archive is binary: redirect standard output to a file, or write -o FILE")
    found = chosen.ask(lambda client: client.explain(name, last_lines=True), f"reading {name}")
    archive = made(found, time.time())
    if file is None:
        sys.stdout.buffer.write(archive)
        return
    file.write_bytes(archive)
    say(f"{file}: {len(archive):,} bytes")


def is_terminal() -> bool:
    """Return whether standard output is a terminal."""
    return sys.stdout.isatty()
