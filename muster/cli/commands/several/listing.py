"""``muster list``: experiments in a table. ``muster get`` without a name is the same command."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

import click

from muster.api.status import Phase
from muster.api.values.accelerators import USUAL, words
from muster.api.values.printable import printable
from muster.cli.commands.contexts import Wanted, ask_all, conclude, contexts_option
from muster.cli.options import ClusterChoice, all_of, cluster_options, json_text, output_option, show
from muster.cli.terminal.colours import data, say
from muster.cli.terminal.style import TERMINAL
from muster.cli.terminal.table import Table
from muster.client import Client, Snapshot
from muster.client.explaining.style import clock_left, since

HEADINGS = ("NAME", "PHASE", "REASON", "READY", "RESTARTS", "DEADLINE", "AGE", "MESSAGE")
NAMESPACE = "NAMESPACE"
WIDE = ("OPERATOR", "ACCELERATORS", "EPOCH", "STEP")
"""Columns before the message with ``-o wide``."""
TABLES = (None, "wide")
"""The outputs that are tables. Only they have watched runs: the names of the others are handed to other commands."""
SUBMITTED = "Submitted"
"""Phase that is shown for an experiment that musterd has not processed yet."""
PHASES = (SUBMITTED, *(phase.value for phase in Phase))

F = TypeVar("F", bound=Callable[..., Any])


def phase_option(phases: Sequence[str], text: str) -> Callable[[F], F]:
    """Return the option ``--phase``, in any case of letters."""
    return click.option("--phase", "phases", type=click.Choice(phases, case_sensitive=False), multiple=True, help=text)


everywhere_option = click.option(
    "-A", "--all-namespaces", "everywhere", is_flag=True, help="Experiments of every namespace."
)
listing_options = all_of(
    click.option("-w", "--watch", is_flag=True, help="Print every change, until interrupted."),
    everywhere_option,
    phase_option(PHASES, "Only experiments in this phase; may be given often."),
)


@click.command(
    "list",
    epilog="\b\nExamples:\n  muster list\n  muster list --phase Running --phase Restarting\n  muster list -A -w\n"
    "  muster list --phase Failed -o name\n  muster list --kind jaxjob\n"
    "  muster list -A --contexts eu,us\n",
)
@click.option("--kind", default="", help="Objects of another kind, as jobset or pods.")
@contexts_option
@listing_options
@output_option("name", "wide")
@cluster_options
def list_experiments(
    chosen: ClusterChoice,
    kind: str,
    contexts: str,
    watch: bool,
    everywhere: bool,
    phases: Collection[str],
    output: str | None,
) -> None:
    """List experiments. `muster get` without a NAME is the same command.

    Runs of other controllers whose Event Stuck is not older than an hour follow the experiments in the table; they are
    not in the other outputs.

    With --kind it lists the objects of another kind, which Muster runs or can watch over. Their names, such as
    jobset/train, are understood by other commands, too. A kind that is only watched over cannot be watched here.

    With --watch and --phase, an experiment that leaves the phase is printed once more, with its new phase. A watch
    ends with Ctrl-C (exit status 130) or with an error (1).
    """
    if contexts and watch:
        raise click.UsageError("--watch follows one cluster: muster top --contexts follows several")
    run_list(chosen, watch=watch, everywhere=everywhere, phases=phases, output=output, kind=kind, contexts=contexts)


def run_list(
    chosen: ClusterChoice,
    *,
    watch: bool,
    everywhere: bool,
    phases: Collection[str],
    output: str | None,
    kind: str = "",
    contexts: str = "",
) -> None:
    """Print the experiments of a namespace or of all, of one cluster or of several, once or at every change."""

    async def run() -> None:
        if watch:
            async with chosen.client() as client:
                await watch_experiments(client, f"{kind}/" if kind else None, everywhere, phases, output)
            return
        answers = await ask_all(chosen, contexts, Wanted(everywhere, kind, output in TABLES))
        found = [seen for each in answers if each.found for seen in each.found.experiments if in_phase(seen, phases)]
        _print(found, places(everywhere, contexts), phases, output, kind)
        conclude(answers)

    asyncio.run(run())


def in_phase(seen: Snapshot, phases: Collection[str]) -> bool:
    """Return whether the experiment is in one of the phases; none given means all."""
    return not phases or (seen.phase or SUBMITTED) in phases


def held(seen: Snapshot) -> dict[str, int]:
    """Return the accelerators that its pods hold, as far as the status has them, by resource."""
    return USUAL.of(tuple((printable(each.resource), each.count) for each in seen.status.devices))


def row(seen: Snapshot, now: float, where: Sequence[str] = (), *, wide: bool = False) -> tuple[str, ...]:
    """Return the cells of one experiment, below the headings of its place first."""
    cells: tuple[str, ...] = (
        *place_of(seen, where),
        printable(seen.name),
        TERMINAL.phase(seen.phase) if seen.phase else "-",
        printable(seen.reason) or "-",
        ("" if seen.phase == "Failed" else seen.status.readiness) or "-",
        str(seen.status.restarts_begun),
        clock_left(seen, now) or "-",
        since(seen.created, now) or "-",
    )
    if wide:
        step = f"{seen.status.steps.step}" if seen.status.steps is not None else "-"
        cells += (printable(seen.operator), words(held(seen)) or "-", str(seen.status.epoch_begun), step)
    return (*cells, printable(seen.message))


def places(everywhere: bool, contexts: str = "") -> tuple[str, ...]:
    """Return the headings before that of the name, for experiments of all namespaces or of several clusters."""
    return (("CONTEXT",) if contexts else ()) + ((NAMESPACE,) if everywhere else ())


def place_of(seen: Snapshot, where: Sequence[str]) -> tuple[str, ...]:
    """Return the cells below the headings of ``places``."""
    return tuple(printable(seen.namespace if heading == NAMESPACE else seen.context) for heading in where)


def show_objects(found: Sequence[Snapshot], output: str) -> None:
    """Print names, or the objects as a List; of several clusters each with the context that it was read through."""
    if output == "name":
        data(*(printable(f"{seen.context}/{seen.name}" if seen.context else seen.name) for seen in found))
    else:
        items = [{"context": seen.context, **seen.raw} if seen.context else seen.raw for seen in found]
        show({"apiVersion": "v1", "kind": "List", "items": items}, output)


def _table(where: Sequence[str], output: str | None) -> Table:
    return Table((*where, *HEADINGS[:-1], *(WIDE if output == "wide" else ()), HEADINGS[-1]))


def _print(
    found: Sequence[Snapshot], where: Sequence[str], phases: Collection[str], output: str | None, kind: str
) -> None:
    if output not in TABLES:
        show_objects(found, output)
    elif not found:
        what = f"{kind} objects" if kind else "experiments"
        which = f" in phase {', '.join(phases)}" if phases else ""
        say(f"no {what}{which}{'' if NAMESPACE in where else ' in this namespace; -A looks in all'}")
    else:
        rows = (row(each, time.time(), where, wide=output == "wide") for each in found)
        data(*_table(where, output).lines(rows, headings=True))


async def watch_experiments(
    client: Client, name: str | None, everywhere: bool, phases: Collection[str], output: str | None
) -> None:
    """Print each experiment, then every change, without an end."""
    where = places(everywhere)
    table, first = _table(where, output), True
    shown: set[str] = set()
    changes = client.watch(name, everywhere=everywhere)
    async with contextlib.aclosing(changes) as stream:
        async for change in stream:
            seen = change.experiment
            if not in_phase(seen, phases) and seen.uid not in shown:
                continue
            shown.add(seen.uid)
            if not in_phase(seen, phases) or change.kind == "DELETED":
                shown.discard(seen.uid)
            if output not in TABLES:
                _stream(seen.raw, seen.name, output)
                continue
            cells = row(seen, time.time(), where, wide=output == "wide")
            if change.kind == "DELETED":
                cells = (*cells[:-1], "deleted")
            data(*table.lines([cells], headings=first))
            first = False


def _stream(raw: dict[str, Any], name: str, output: str) -> None:
    """Print one document per change: JSON lines, or YAML documents."""
    if output == "name":
        data(printable(name))
    elif output == "json":
        data(json_text(raw, indent=-1))
    else:
        data("---")
        show(raw, output)
