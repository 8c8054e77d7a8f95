"""``muster lint``: what is wrong with manifests, without a cluster, and what one lacks for them where it is asked."""

from collections.abc import Sequence
from dataclasses import asdict

import click

from muster.api.manifest.problems import ManifestError, Problem
from muster.api.values.durations import count_of
from muster.cli.exits import INVALID
from muster.cli.manifests import Manifest, notes_on, read_manifest
from muster.cli.options import ClusterChoice, cluster_options, output_option, show
from muster.cli.terminal.colours import data, plain, say
from muster.client.explaining.style import BAD, BUSY


@click.command(
    epilog="\b\nExamples:\n  muster lint manifest.yaml\n  muster lint experiments/*.yaml\n  generate | muster lint -\n"
    "  muster lint --cluster -n team manifest.yaml\n"
)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=str))
@click.option("--cluster", is_flag=True, help="Ask the cluster, too: kinds, queues and priority classes that it lacks.")
@output_option()
@cluster_options
def lint(chosen: ClusterChoice, files: tuple[str, ...], output: str | None, cluster: bool) -> None:
    """Check manifests: print everything that is wrong with every FILE (- is standard input).

    Each line reads `file:line:col: field.path: what is wrong, what to do`. Exits with 2 if any file is invalid.
    A manifest that this release does not run is such a file: the experiment would end as InvalidSpec. Warnings alone
    exit with 0.
    Notes on standard error name what is valid and still worth knowing.

    With --cluster, --kubeconfig or --context the cluster is asked, too: what it lacks for a FILE is a warning.
    """
    if files.count("-") > 1:
        raise click.UsageError("standard input can be read once: write - once")
    found: list[tuple[str, Problem]] = []
    notes: list[str] = []
    good: list[Manifest] = []
    for file in files:
        try:
            manifest = read_manifest(file)
            found += [("warning", problem) for problem in manifest.loaded.warnings]
            notes += [f"note: {each}" for each in (*manifest.loaded.notes, *notes_on(manifest))]
            good.append(manifest)
        except ManifestError as error:
            found += [("error", problem) for problem in error.problems]
            notes += error.advice.splitlines()
    if cluster or chosen.kubeconfig is not None or chosen.context is not None:
        import asyncio

        found += asyncio.run(_ask(chosen, good))
    if output is not None:
        show([{"severity": severity, **asdict(problem)} for severity, problem in found], output)
    else:
        for severity, problem in found:
            word = click.style(severity, fg=BAD if severity == "error" else BUSY)
            data(f"{problem.where}: {word}: {problem.what}" if severity == "warning" else str(problem))
        say(*map(plain, notes))
    bad = {problem.file for severity, problem in found if severity == "error"}
    if bad:
        say(f"{len(bad)} of {len(files)} files {'is' if len(bad) == 1 else 'are'} invalid")
        raise click.exceptions.Exit(INVALID)
    if output is None:
        say(f"{count_of(len(files), 'file')} OK")


async def _ask(chosen: ClusterChoice, manifests: Sequence[Manifest]) -> list[tuple[str, Problem]]:
    """Return what the cluster lacks. Raises ``MusterError`` where there is none, or it does not answer."""
    from muster.cli.cluster_needs import lacking
    from muster.cli.doctor.server import Asker

    found = []
    async with chosen.client() as client:
        asker = Asker(client.transport)
        for manifest in manifests:
            namespace = chosen.namespace or manifest.loaded.namespace or client.namespace
            sentences = [each async for each in lacking(manifest, asker, namespace)]
            found += [("warning", Problem(manifest.file, 0, 0, "", sentence)) for sentence in sentences]
    return found
