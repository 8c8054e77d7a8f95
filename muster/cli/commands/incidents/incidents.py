"""``muster incidents``: what keeps several runs at once, the largest first."""

import asyncio
import time
from pathlib import Path

import click
from msgspec import to_builtins
from msgspec.structs import replace

from muster.cli.commands.contexts import Wanted, listed
from muster.cli.commands.incidents.several import asked, incidents_of, source_options, table
from muster.cli.commands.incidents.sources import HEADINGS, from_events, from_page, local_page, row
from muster.cli.exits import INCIDENT
from muster.cli.options import ClusterChoice, cluster_options, output_option, show
from muster.cli.terminal.colours import data, say
from muster.cli.terminal.patience import patient
from muster.rollcall.document import IncidentListing

FROM_EVENTS = (
    "read from the Events of runs that are Stuck: one whose Event has expired (an hour, by default) is left out; "
    "--page asks musterd itself"
)
HIDDEN = "{}{} more are not shown: a musterd shows at most 4 of one namespace alone, and 32 in all"


@click.command(
    epilog="\b\nExamples:\n  muster incidents -A\n  muster incidents --page http://localhost:8080 --token-file token\n"
    "  muster incidents -A --contexts eu,us\n"
    "  muster incidents --page https://a.example,https://b.example --token-file token\n"
    "  muster incidents -A -o json | jq -r '.incidents[0].runs[]'\n"
    "  muster incidents -A --exit-code || echo 'something blocks several runs'\n"
)
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="Runs of every namespace.")
@source_options
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
    by_events = False

    async def ask(choice: ClusterChoice, url: str, token: str) -> IncidentListing:
        nonlocal by_events
        if url:
            return _within(await from_page(IncidentListing, url, token), None if everywhere else choice.namespace)
        async with choice.client() as client:
            namespace = None if everywhere else client.namespace
            if local := local_page(client):
                return _within(await from_page(IncidentListing, local), namespace)
            found = await patient(listed(client, Wanted(everywhere, stuck=True)), "listing experiments")
            read = await patient(from_events(client, found.experiments, namespace), "reading Events")
        say(*found.unknown)
        by_events = True
        return IncidentListing(incidents=read, hidden=0, looked=True)

    answers = asyncio.run(asked(chosen, page, contexts, token_file, ask))
    found, now = incidents_of(answers), time.time()
    hidden = sum(each.hidden for _, each in answers.listings())
    if output is not None:
        listing = IncidentListing(incidents=[], hidden=hidden, looked=answers.complete, shard=answers.shard)
        show({**to_builtins(listing), "incidents": answers.documents(found)}, output)
    elif found:
        data(*table(answers.places, HEADINGS, ((one.places, row(one.report, now)) for one in found)))
    elif answers.complete:
        say("no incidents" if everywhere or page else "no incidents in this namespace; -A looks in all")
    if hidden:
        say(HIDDEN.format("up to " if answers.places else "", hidden))
    if by_events:
        say(FROM_EVENTS)
    answers.conclude()
    if coded and found:
        raise click.exceptions.Exit(INCIDENT)


def _within(found: IncidentListing, namespace: str | None) -> IncidentListing:
    """Return the incidents that a run of the namespace is part of."""
    if namespace is None:
        return found
    kept = [each for each in found.incidents if any(run.startswith(f"{namespace}/") for run in each.runs)]
    return replace(found, incidents=kept)
