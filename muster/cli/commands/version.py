"""``muster version``."""

import platform

import click

import muster
from muster.api.names import API_VERSION
from muster.cli.options import output_option, show
from muster.cli.terminal.colours import data


@click.command()
@output_option()
def version(output: str | None) -> None:
    """Print the version of this command and of the API it speaks."""
    known = {"version": muster.__version__, "api": API_VERSION, "python": platform.python_version()}
    if output is not None:
        show(known, output)
    else:
        data(f"muster {known['version']} ({known['api']}, Python {known['python']})")
