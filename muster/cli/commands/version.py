"""``muster version``."""

import platform
from importlib.metadata import version as installed

import click

from muster.api.names import API_VERSION
from muster.cli.options import output_option, show
from muster.cli.terminal.colours import data

DISTRIBUTION = "musterd"


@click.command()
@output_option()
def version(output: str | None) -> None:
    """Print the version of this command and of the API it speaks."""
    known = {"version": installed(DISTRIBUTION), "api": API_VERSION, "python": platform.python_version()}
    if output is not None:
        show(known, output)
    else:
        data(f"muster {known['version']} ({known['api']}, Python {known['python']})")
