"""``muster init``: a commented manifest to start from."""

import shlex
from pathlib import Path

import click

from muster.api.errors import MusterError
from muster.api.manifest.operators import operators
from muster.cli.program import OperatorName
from muster.cli.terminal.colours import data, say


@click.command(
    epilog="\b\nExamples:\n  muster init\n  muster init --operator pytorch train.yaml\n"
    "  muster init - | muster lint -\n"
)
@click.argument("file", default="manifest.yaml")
@click.option(
    "--operator",
    type=OperatorName(of_manifests=True),
    default="jax",
    help="The framework that runs the experiment. [jax]",
)
def init(file: str, operator: str) -> None:
    """Write a commented manifest to FILE, by default manifest.yaml (- is standard output).

    A file that exists is not overwritten.
    """
    text = starter(operator)
    if not file:
        raise click.UsageError("the name of FILE is empty: name one, or - for standard output")
    if file == "-":
        data(text.rstrip("\n"))
        return
    try:
        with Path(file).open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise MusterError(f"{file} exists already; name another file, or - for standard output") from None
    except OSError as error:
        raise MusterError(f"{file} cannot be written: {error.strerror}") from error
    say(f"wrote {file}; set image and command in it, then: muster lint {shlex.quote(file)}")


def starter(operator: str) -> str:
    """Return the manifest for an operator."""
    return operators()[operator].starter()
