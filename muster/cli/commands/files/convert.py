"""``muster convert``: a manifest of any kind as an Experiment, and what it could not carry over."""

from collections.abc import Iterator

import click
import yaml

from muster.api.manifest.problems import Problem
from muster.cli.exits import LOSSY
from muster.cli.manifests import read_text
from muster.cli.options import show, yaml_text
from muster.cli.terminal.colours import data, plain, say
from muster.kinds.manifests.conversion import Conversion
from muster.kinds.manifests.conversion import convert as convert_manifest


class _Dumper(yaml.SafeDumper):
    """Writes a text of several lines as a block, as people do."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    block = "\n" in value and all(line.isprintable() and line == line.rstrip() for line in value.split("\n"))
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if block else None)


_Dumper.add_representer(str, _text)


@click.command(
    epilog="\b\nExamples:\n  muster convert jobset.yaml > experiment.yaml\n"
    "  muster convert --strict rayjob.yaml | muster submit -\n  muster convert jaxjob.yaml -o json | jq .spec.types\n"
)
@click.argument("file")
@click.option("--strict", is_flag=True, help="Exit with 4 where something could not be carried over.")
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", help="Format. [yaml]")
def convert(file: str, output: str, *, strict: bool) -> None:
    """Print the Experiment that FILE (- is standard input) becomes.

    FILE is an AIchorManifest, JobSet, JAXJob, PyTorchJob, XGBoostJob, RayJob, RayCluster or TrainJob. What the
    Experiment could not take over is named field by field, with line and column, on standard error and as comments:
    `lost` is something that FILE states and the Experiment does not, `note` a difference worth knowing.

    Exit status: 0 converted; 2 FILE cannot become an Experiment, and why; 4 with --strict, something is lost.
    """
    text, name = read_text(file)
    found = convert_manifest(text, filename=name)
    if output == "json":
        show(found.document, output)
    else:
        data(*(f"# {line}" for line in _heading(found, name)))
        data(yaml_text(found.document, _Dumper))
    say(*(f"lost: {plain(str(loss))}" for loss in found.losses))
    say(*(f"note: {plain(str(note))}" for note in found.notes))
    if found.losses and strict:
        raise click.exceptions.Exit(LOSSY)


def _heading(found: Conversion, file: str) -> Iterator[str]:
    """Yield what a reader of the Experiment has to know of its origin."""
    yield plain(f"Made by muster convert from the {found.kind} in {file}.")
    if found.losses:
        yield "Not carried over:"
        yield from (f"  {_line(loss)}" for loss in found.losses)
    if found.notes:
        yield "Differences:"
        yield from (f"  {_line(note)}" for note in found.notes)


def _line(problem: Problem) -> str:
    what = f"{problem.message}, {problem.hint}" if problem.hint else problem.message
    return plain(f"{problem.line}:{problem.column}: {problem.field}: {what.removeprefix('not carried over: ')}")
