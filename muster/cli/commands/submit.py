"""``muster submit``: create an experiment on a cluster."""

from dataclasses import replace

import click

from muster.cli.doctor.attention import unattended
from muster.cli.exits import status_of
from muster.cli.manifests import print_warnings, read_manifest
from muster.cli.options import ClusterChoice, cluster_options, local_home, output_option, show
from muster.cli.terminal.colours import data, say
from muster.cli.terminal.patience import patient
from muster.cli.terminal.progress import ChangePrinter, watch_to_end
from muster.client import Client, Snapshot
from muster.client.submitting import name_for
from muster.kinds.manifests.load import object_of


@click.command(
    epilog="\b\nExamples:\n  muster submit manifest.yaml\n  muster submit manifest.yaml --wait && echo done\n"
    "  NAME=$(muster submit manifest.yaml)\n  muster submit manifest.yaml --dry-run -o yaml\n"
)
@click.argument("file")
@click.option("--name", default=None, help="Name of the experiment; made from the manifest by default.")
@click.option(
    "--assist/--no-assist",
    default=None,
    help="Set spec.assist. [on for the local cluster]",
)
@click.option("--wait", is_flag=True, help="Wait for its end, and exit with its outcome.")
@click.option("--dry-run", is_flag=True, help="Print the object that would be created, and create nothing.")
@output_option("name")
@cluster_options
def submit(
    chosen: ClusterChoice,
    file: str,
    name: str | None,
    assist: bool | None,
    wait: bool,
    dry_run: bool,
    output: str | None,
) -> None:
    """Create an experiment from FILE (- is standard input) and print its name.

    FILE is an AIchorManifest, an Experiment, or an object of another controller. Of these a JAXJob, and a JobSet that
    Muster manages, are created as they are; the others are converted. Of several documents, or of a List, exactly one
    may be such a manifest, and the others, which are not created, are named.

    With --wait the exit status is its outcome: 0 succeeded, 1 failed, 3 ended by a deadline.
    """
    manifest = read_manifest(file)
    filename = manifest.file
    print_warnings(manifest.loaded.warnings)
    if dry_run:
        loaded = manifest.assisted(assist, default=False).loaded
        space, chosen_name = chosen.namespace or loaded.namespace or "default", name or name_for(loaded, filename)
        document = object_of(loaded, name=chosen_name, namespace=space)
        if not (chosen.namespace or loaded.namespace):  # it is that of the context, which no cluster was asked for
            del document["metadata"]["namespace"]
        if output == "name":
            data(chosen_name)
        else:
            show(document, output or "yaml")
        return

    async def run(client: Client) -> Snapshot:
        loaded = manifest.assisted(assist, default=local_home(client) is not None).loaded
        submitting = client.submit(loaded, name=name, namespace=chosen.namespace, filename=filename)
        seen = await patient(submitting, "submitting")
        if output in ("json", "yaml"):
            show(seen.raw, output)
        else:
            data(seen.name)
        await unattended(client.resources, seen)
        if wait:
            return await watch_to_end(client, seen.name, seen.namespace, ChangePrinter().print)
        where = replace(chosen, namespace=None if seen.namespace == client.namespace else seen.namespace).flags
        say(f"submitted {seen.namespace}/{seen.name}; next: muster get {seen.name}{where} -w")
        return seen

    seen = replace(chosen, namespace=None).run(run)  # a manifest states its namespace before a context does
    if wait:
        raise click.exceptions.Exit(status_of(seen.outcome))
