"""``muster nodes``: which nodes failed runs over hours and days, the worst first."""

import asyncio
import time
from collections import Counter
from pathlib import Path

import click
from msgspec import to_builtins

from muster.api.errors import MusterError, NotFound
from muster.api.values.durations import count_of
from muster.api.values.printable import printable
from muster.cli.commands.incidents.several import asked, nodes_of, source_options, table
from muster.cli.commands.incidents.sources import from_page, local_page
from muster.cli.options import ClusterChoice, cluster_options, output_option, show
from muster.cli.terminal.colours import data, say
from muster.cli.terminal.patience import patient
from muster.cli.terminal.table import Table
from muster.client.explaining.style import since
from muster.kube.resources import ResourceClient, core
from muster.kube.unstructured import mapping, moment, text
from muster.rollcall.document import NodeListing, NodeReport
from muster.rollcall.make import node_listing
from muster.state.facts.nodes.history import KEY, History
from muster.state.facts.nodes.suspects import suspects
from muster.watchers.nodes import CONTROL_PLANE

STORED = "muster-system/musterd-nodes"
HEADINGS = ("NODE", "RUNS", "NAMESPACES", "LAST", "CAUSES")
NOTHING = (
    "no ConfigMap {}: musterd writes it with --node-history (settings.nodeHistory of the chart) when a node has failed "
    "a run; --stored names another one, and --page asks musterd itself"
)
OF_ONE = ("LAST", "RUN", "TIMES", "FIRST", "CAUSE")


@click.command(
    epilog="\b\nExamples:\n  muster nodes\n  muster nodes gpu-017\n"
    "  muster nodes --page http://localhost:8080 --token-file token\n"
    "  muster nodes -o json | jq -r '.nodes[] | select(.suspect != \"\") | .node'\n"
)
@click.argument("node", default="")
@source_options
@click.option(
    "--stored",
    default=STORED,
    show_default=True,
    metavar="NAMESPACE/NAME",
    help="The ConfigMap where musterd stores it.",
)
@output_option()
@cluster_options
def nodes(
    chosen: ClusterChoice,
    node: str,
    page: str,
    contexts: str,
    token_file: Path | None,
    stored: str,
    output: str | None,
) -> None:
    """List the nodes that failed runs, the worst first; with NODE, the runs that failed there.

    A node that is suspect has a line of its own, with the reason and what is proposed. Muster itself does nothing to a
    node. A failure of a program is listed only where runs of several namespaces have such a failure on the node.

    With --page it is what that musterd knows now. On the local cluster its musterd is asked by itself. Elsewhere it is
    read from the ConfigMap, which musterd writes with --node-history, once a minute at most.

    With several pages, or with --contexts, the list has a column for the shard or the cluster. A node that failed runs
    of several shards has one line; what makes it suspect is of the runs of one shard.
    """

    async def ask(choice: ClusterChoice, url: str, token: str) -> NodeListing:
        if url:
            return await from_page(NodeListing, url, token)
        async with choice.client() as client:
            if local := local_page(client):
                return await from_page(NodeListing, local)
            return await patient(_from_stored(client.resources, stored), "reading the history of nodes")

    answers, now = asyncio.run(asked(chosen, page, contexts, token_file, ask)), time.time()
    found = [each for each in nodes_of(answers) if node in ("", each.report.node)]
    hidden = sum(each.hidden for _, each in answers.listings())
    dropped = sum(each.dropped for _, each in answers.listings())
    if output is not None:
        listing = NodeListing(hidden=hidden, dropped=dropped, looked=answers.complete, shard=answers.shard)
        show({**to_builtins(listing), "nodes": answers.documents(found)}, output)
        answers.conclude()
        return
    for place, own in answers.listings():  # a suspect is one by the runs of one shard
        for each in own.nodes:
            if each.suspect and node in ("", each.node):
                data(printable(f"{place and f'{place}: '}suspect: {each.suspect}: {each.advice}"))
    if found and (answers.places or not node):
        data(*table(answers.places, HEADINGS, ((one.places, _row(one.report, now)) for one in found)))
    for one in found if node else ():
        data(*_of_one(one.report, now))
    if not found and answers.complete:
        say(f"no failure is listed that {printable(node) or 'a node'} may have caused")
    if hidden:
        more = f"{count_of(hidden, 'more node')} {'is' if hidden == 1 else 'are'}"
        say(f"{'up to ' if answers.places else ''}{more} not shown")
    if dropped:
        older = f"{count_of(dropped, 'older failure')} {'was' if dropped == 1 else 'were'}"
        say(f"{older} dropped: a musterd keeps at most 32 runs of a node, and 4,000 in all")
    answers.conclude()


def _row(one: NodeReport, now: float) -> tuple[str, ...]:
    causes = Counter(each.cause for each in one.failures)
    return (
        printable(one.node),
        str(len(one.failures)),
        str(len({each.namespace for each in one.failures})),
        (since(moment(one.failures[0].last), now) if one.failures else "") or "-",
        printable(", ".join(f"{cause} {number}" for cause, number in causes.most_common())),
    )


def _of_one(one: NodeReport, now: float) -> list[str]:
    rows = (
        (
            since(moment(each.last), now) or "-",
            printable(f"{each.namespace}/{each.run}"),
            str(each.times),
            since(moment(each.first), now) or "-",
            printable(each.cause),
        )
        for each in one.failures
    )
    return Table(OF_ONE).lines(rows, headings=True)


async def _from_stored(resources: ResourceClient, stored: str) -> NodeListing:
    """Return what the leader has written. Raises ``MusterError``."""
    namespace, slash, name = stored.partition("/")
    if not slash:
        raise MusterError(f"--stored {printable(stored)} is no NAMESPACE/NAME, such as {STORED}")
    try:
        found = await resources.get(core(namespace, "configmaps", name))
    except NotFound:
        raise MusterError(NOTHING.format(printable(stored))) from None
    history, now = History(), time.time()
    try:
        history.take_in(text(mapping(found.get("data")), KEY).encode(), now)
    except ValueError as error:
        raise MusterError(f"ConfigMap {printable(stored)}: {KEY}: {printable(str(error))}") from error
    suspect = suspects(history, now)
    roles = {each.node: await _is_control_plane(resources, each.node) for each in suspect}
    return node_listing(history.failures(), suspect, now, roles.get, dropped=history.dropped, looked=True)


async def _is_control_plane(resources: ResourceClient, node: str) -> bool | None:
    """Return whether it is of the control plane, by the labels of the node; None where they cannot be read."""
    try:
        found = await resources.get(core(None, "nodes", node))
    except MusterError:
        return None
    return not CONTROL_PLANE.isdisjoint(mapping(mapping(found.get("metadata")).get("labels")))
