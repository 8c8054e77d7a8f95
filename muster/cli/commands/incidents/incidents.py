"""``muster incidents``: what keeps several runs at once, the largest first."""

import asyncio
import time
from pathlib import Path

import click

from muster.cli.commands.contexts import contexts_option
from muster.cli.commands.incidents.lines import table
from muster.cli.commands.incidents.several import conclude, document, incidents_of, of_contexts, of_pages, pages_of
from muster.cli.commands.incidents.sources import from_events, from_page, local_page
from muster.cli.exits import INCIDENT
from muster.cli.options import ClusterChoice, cluster_options, output_option, read_token, show
from muster.cli.terminal.colours import data, say
from muster.cli.terminal.patience import patient
from muster.rollcall.document import IncidentListing

FROM_EVENTS = (
    "read from the Events of runs that are Stuck: one whose Event has expired (an hour, by default) is left out; "
    "--page asks musterd itself"
)


@click.command(
    epilog="\b\nExamples:\n  muster incidents -A\n  muster incidents --page http://localhost:8080 --token-file token\n"
    "  muster incidents -A --contexts eu,us\n"
    "  muster incidents --page https://a.example,https://b.example --token-file token\n"
    "  muster incidents -A -o json | jq -r '.incidents[0].runs[]'\n"
    "  muster incidents -A --exit-code || echo 'something blocks several runs'\n"
)
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="Runs of every namespace.")
@click.option(
    "--page",
    default="",
    metavar="URL[,URL]",
    help="Ask the leading musterd, by its page; several are the shards of one cluster.",
)
@contexts_option
@click.option("--token-file", type=click.Path(path_type=Path), default=None, help="A token of the cluster, for --page.")
@click.option("--exit-code", "coded", is_flag=True, help="Exit with status 6 where there is an incident.")
@output_option()
@cluster_options
def incidents(
    chosen: ClusterChoice,
    everywhere: bool,
    page: str,
    contexts: str,
    token_file: Path | None,
    coded: bool,
    output: str | None,
) -> None:
    """List the incidents: runs that are Stuck because of one subject, as a node, a registry or a webhook.

    Each has a line: the subject, the runs, the accelerators that they hold, since when, and what to do.

    With --page they are what that musterd knows now, of all runs that you may see, or of those in the namespace of -n.
    On the local cluster its musterd is asked by itself. Elsewhere they are read from the Events of runs, in the
    namespace or, with -A, in all.

    With several pages, or with --contexts, the list has a column for the shard or the cluster. A subject that
    blocks runs of several shards has one line.
    """
    if token_file is not None and not page:
        raise click.UsageError("--token-file goes with --page")
    pages = pages_of(page, contexts)
    if contexts or len(pages) > 1:
        _several(chosen, pages, contexts, token_file, everywhere, coded, output)
        return
    found, by_events = asyncio.run(_found(chosen, page, token_file, everywhere=everywhere))
    if output is not None:
        show(found, output)
    elif found.incidents:
        for line in table(found.incidents, time.time()):
            data(line)
    else:
        say("no incidents" if everywhere or page else "no incidents in this namespace; -A looks in all")
    if found.hidden:
        say(f"{found.hidden} more are not shown to anyone: at most 4 of one namespace alone are, and 32 in all")
    if by_events:
        say(FROM_EVENTS)
    if coded and found.incidents:
        raise click.exceptions.Exit(INCIDENT)


def _several(
    chosen: ClusterChoice,
    pages: list[str],
    contexts: str,
    token_file: Path | None,
    everywhere: bool,
    coded: bool,
    output: str | None,
) -> None:
    """Print one list of the incidents of several shards, or of several clusters."""

    async def of_page(page: str) -> IncidentListing:
        return (await _found(chosen, page, token_file, everywhere=everywhere))[0]

    async def of_cluster(choice: ClusterChoice) -> IncidentListing:
        return (await _found(choice, "", None, everywhere=everywhere))[0]

    asked = of_contexts(chosen, contexts, of_cluster) if contexts else of_pages(pages, of_page)
    answers = asyncio.run(asked)
    found = incidents_of(answers, merged=not contexts)
    if output is not None:
        show({"incidents": [document(each, clustered=bool(contexts)) for each in found]}, output)
    elif found:
        places = ("CONTEXT" if contexts else "SHARD", [", ".join(each.places) for each in found])
        for line in table([each.report for each in found], time.time(), places):
            data(line)
    elif not any(each.problem for each in answers):
        say("no incidents")
    conclude(answers, "context" if contexts else "page")
    if coded and found:
        raise click.exceptions.Exit(INCIDENT)


async def _found(
    chosen: ClusterChoice, page: str, token_file: Path | None, *, everywhere: bool
) -> tuple[IncidentListing, bool]:
    """Return what there is, and whether it is read from Events."""
    if page:
        token = read_token(token_file) if token_file is not None else ""
        asked = await patient(from_page(page, token), "asking musterd")
        return _within(asked, None if everywhere else chosen.namespace), False
    async with chosen.client() as client:
        namespace = None if everywhere else chosen.namespace or client.namespace
        if local := local_page(chosen, client):
            return _within(await patient(from_page(local), "asking musterd"), namespace), False
        listed = await patient(client.list(namespace=namespace, everywhere=everywhere), "listing experiments")
        watched = await patient(client.list_stuck(namespace=namespace, everywhere=everywhere), "listing watched runs")
        read = await patient(from_events(client, [*listed, *watched], namespace), "reading Events")
        return IncidentListing(incidents=read, hidden=0, looked=True), True


def _within(found: IncidentListing, namespace: str | None) -> IncidentListing:
    """Return the incidents that a run of the namespace is part of."""
    if namespace is None:
        return found
    kept = [each for each in found.incidents if any(run.startswith(f"{namespace}/") for run in each.runs)]
    return IncidentListing(incidents=kept, hidden=found.hidden, looked=found.looked)
