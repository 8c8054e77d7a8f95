"""``muster get``: all experiments in a table, or one as a tree."""

import asyncio
import contextlib
import time
from collections.abc import Sequence
from typing import Any

import click

from muster.api.values.printable import printable
from muster.cli.options import ClusterChoice, cluster_options, json_text, output_option, show
from muster.cli.terminal.colours import data, phase_word, say
from muster.cli.terminal.progress import clock_left, since
from muster.cli.terminal.table import Table
from muster.cli.terminal.tree import tree
from muster.client import Client, Snapshot

HEADINGS = ("NAME", "PHASE", "REASON", "READY", "RESTARTS", "DEADLINE", "AGE", "MESSAGE")


@click.command(
    epilog="\b\nExamples:\n  muster get\n  muster get -A -w\n  muster get train-x7k2p\n"
    "  muster get train-x7k2p -o json | jq .status.roll\n"
)
@click.argument("name", required=False)
@click.option("-w", "--watch", is_flag=True, help="Print every change, until interrupted.")
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="Experiments of every namespace.")
@output_option("name")
@cluster_options
def get(chosen: ClusterChoice, name: str | None, watch: bool, everywhere: bool, output: str | None) -> None:
    """List experiments, or show NAME with its groups, its members and what it waits for."""
    if name is not None and everywhere:
        raise click.UsageError("a NAME is looked for in one namespace: use -n instead of -A")

    async def run() -> None:
        async with chosen.client() as client:
            if watch:
                await _watch(client, chosen, name, everywhere, output)
            elif name is not None:
                await _one(client, chosen, name, output)
            else:
                _all(await client.list(namespace=chosen.namespace, everywhere=everywhere), everywhere, output)

    asyncio.run(run())


def row(seen: Snapshot, now: float, *, namespaced: bool) -> tuple[str, ...]:
    """The cells of one experiment."""
    cells = (
        printable(seen.name),
        phase_word(seen.phase) if seen.phase else "-",
        printable(seen.reason) or "-",
        seen.status.readiness or "-",
        str(seen.status.restarts),
        clock_left(seen, now) or "-",
        since(seen.created, now) or "-",
        printable(seen.message),
    )
    return (printable(seen.namespace), *cells) if namespaced else cells


def _table(everywhere: bool) -> Table:
    return Table(("NAMESPACE", *HEADINGS) if everywhere else HEADINGS)


def _all(found: Sequence[Snapshot], everywhere: bool, output: str | None) -> None:
    if output == "name":
        for seen in found:
            data(seen.name)
    elif output is not None:
        show({"apiVersion": "v1", "kind": "List", "items": [seen.raw for seen in found]}, output)
    elif not found:
        say("no experiments" + ("" if everywhere else " in this namespace; -A looks in all"))
    else:
        now = time.time()
        for line in _table(everywhere).lines((row(s, now, namespaced=everywhere) for s in found), headings=True):
            data(line)


async def _one(client: Client, chosen: ClusterChoice, name: str, output: str | None) -> None:
    if output is None:
        explanation = await client.explain(name, namespace=chosen.namespace)
        for line in tree(explanation, time.time()):
            data(line)
        return
    seen = await client.get(name, namespace=chosen.namespace)
    if output == "name":
        data(seen.name)
    else:
        show(seen.raw, output)


async def _watch(client: Client, chosen: ClusterChoice, name: str | None, everywhere: bool, output: str | None) -> None:
    table, first = _table(everywhere), True
    changes = client.watch(name, namespace=chosen.namespace, everywhere=everywhere)
    async with contextlib.aclosing(changes) as stream:
        async for change in stream:
            seen = change.experiment
            if output is not None:
                _stream(seen.raw, seen.name, output)
                continue
            cells = row(seen, time.time(), namespaced=everywhere)
            if change.kind == "DELETED":
                cells = (*cells[:-1], "deleted")
            for line in table.lines([cells], headings=first):
                data(line)
            first = False


def _stream(raw: dict[str, Any], name: str, output: str) -> None:
    """One document per change: JSON lines, or YAML documents."""
    if output == "name":
        data(name)
    elif output == "json":
        data(json_text(raw, indent=-1))
    else:
        data("---")
        show(raw, output)
