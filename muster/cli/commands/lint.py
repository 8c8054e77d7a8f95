"""``muster lint``: what is wrong with manifests, without a cluster."""

import sys
from pathlib import Path

import click

from muster.api.manifest.load import load_manifest
from muster.api.manifest.problems import ManifestError, Problem
from muster.api.manifest.yaml_reader import MAX_BYTES
from muster.cli.exits import INVALID
from muster.cli.options import output_option, show
from muster.cli.terminal.colours import BAD, BUSY, data, say

STDIN = "<stdin>"


@click.command(
    epilog="\b\nExamples:\n  muster lint manifest.yaml\n  muster lint experiments/*.yaml\n  generate | muster lint -\n"
)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=str))
@output_option()
@click.pass_context
def lint(ctx: click.Context, files: tuple[str, ...], output: str | None) -> None:
    """Check manifests: print everything that is wrong with every FILE (- is standard input).

    Each line reads `file:line:col: field.path: what is wrong, what to do`. Exits with 2 if any file cannot be used;
    warnings alone exit with 0.
    """
    found = [(severity, problem) for file in files for severity, problem in _check(file)]
    if output is not None:
        show([{"severity": severity, **_fields(problem)} for severity, problem in found], output)
    else:
        for severity, problem in found:
            word = click.style(severity, fg=BAD if severity == "error" else BUSY)
            where, separator, what = _split(problem)
            data(f"{where}{separator}{word}: {what}" if severity == "warning" else str(problem))
    bad = {problem.file for severity, problem in found if severity == "error"}
    if bad:
        say(f"{len(bad)} of {len(files)} files cannot be used")
        ctx.exit(INVALID)
    if output is None:
        say(f"{len(files)} {'file is' if len(files) == 1 else 'files are'} in order")


def read_manifest(file: str) -> tuple[str, str]:
    """The text of a manifest and its name for messages. Raises ``ManifestError`` for a file that cannot be read."""
    try:
        if file == "-":
            raw, name = sys.stdin.buffer.read(MAX_BYTES + 1), STDIN
        else:
            with Path(file).open("rb") as stream:
                raw, name = stream.read(MAX_BYTES + 1), file
    except OSError as error:
        raise ManifestError([Problem(file, 0, 0, "", f"cannot be read: {error.strerror}", "check the path")]) from error
    return raw.decode("utf-8", "surrogateescape"), name


def _check(file: str) -> list[tuple[str, Problem]]:
    try:
        text, name = read_manifest(file)
        loaded = load_manifest(text, filename=name)
    except ManifestError as error:
        return [("error", problem) for problem in error.problems]
    return [("warning", problem) for problem in loaded.warnings]


def _split(problem: Problem) -> tuple[str, str, str]:
    where = f"{problem.file}:{problem.line}:{problem.column}" if problem.line else problem.file
    return where, ": ", str(problem).removeprefix(f"{where}: ")


def _fields(problem: Problem) -> dict[str, object]:
    return {name: getattr(problem, name) for name in ("file", "line", "column", "field", "message", "hint")}
