"""``muster lint``: what is wrong with manifests, without a cluster."""

import click

from muster.api.manifest.problems import ManifestError, Problem
from muster.cli.exits import INVALID
from muster.cli.manifests import read_manifest
from muster.cli.notes import notes_on
from muster.cli.options import output_option, show
from muster.cli.terminal.colours import BAD, BUSY, data, plain, say


@click.command(
    epilog="\b\nExamples:\n  muster lint manifest.yaml\n  muster lint experiments/*.yaml\n  generate | muster lint -\n"
)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=str))
@output_option()
@click.pass_context
def lint(ctx: click.Context, files: tuple[str, ...], output: str | None) -> None:
    """Check manifests: print everything that is wrong with every FILE (- is standard input).

    Each line reads `file:line:col: field.path: what is wrong, what to do`. Exits with 2 if any file cannot be used.
    A manifest that this release does not run is such a file: the experiment would end as InvalidSpec. Warnings alone
    exit with 0.
    Notes on standard error say what is in order and yet worth knowing.
    """
    found: list[tuple[str, Problem]] = []
    notes: list[str] = []
    for file in files:
        problems, more = _check(file)
        found += problems
        notes += more
    if output is not None:
        show([{"severity": severity, **_fields(problem)} for severity, problem in found], output)
    else:
        for severity, problem in found:
            word = click.style(severity, fg=BAD if severity == "error" else BUSY)
            where, separator, what = _split(problem)
            data(f"{where}{separator}{word}: {what}" if severity == "warning" else str(problem))
        for note in notes:
            say(f"note: {plain(note)}")
    bad = {problem.file for severity, problem in found if severity == "error"}
    if bad:
        say(f"{len(bad)} of {len(files)} files cannot be used")
        ctx.exit(INVALID)
    if output is None:
        say(f"{len(files)} {'file is' if len(files) == 1 else 'files are'} in order")


def _check(file: str) -> tuple[list[tuple[str, Problem]], list[str]]:
    """Problems with their severity, and notes on what is in order."""
    try:
        manifest = read_manifest(file)
    except ManifestError as error:
        return [("error", problem) for problem in error.problems], []
    warnings = [("warning", problem) for problem in manifest.loaded.warnings]
    try:
        return warnings, [*map(str, manifest.loaded.notes), *notes_on(manifest)]
    except ManifestError as error:
        return [*warnings, *(("error", problem) for problem in error.problems)], []


def _split(problem: Problem) -> tuple[str, str, str]:
    where = f"{problem.file}:{problem.line}:{problem.column}" if problem.line else problem.file
    return where, ": ", str(problem).removeprefix(f"{where}: ")


def _fields(problem: Problem) -> dict[str, object]:
    return {name: getattr(problem, name) for name in ("file", "line", "column", "field", "message", "hint")}
