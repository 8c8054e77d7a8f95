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
from muster.cli.commands.contexts import Wanted, ask_all, choices, conclude, contexts_option, listed
from muster.cli.options import ClusterChoice, cluster_options, json_text, output_option, show
from muster.cli.terminal.colours import data, say
from muster.cli.terminal.patience import patient
from muster.cli.terminal.style import TERMINAL
from muster.cli.terminal.table import Table
from muster.client import Client, Snapshot
from muster.client.explaining.times import clock_left, since

HEADINGS = ("NAME", "PHASE", "REASON", "READY", "RESTARTS", "DEADLINE", "AGE", "MESSAGE")
WIDE = ("OPERATOR", "ACCELERATORS", "EPOCH", "STEP")
"""Columns before the message with ``-o wide``."""
TABLES = (None, "wide")
"""The outputs that are tables. Only they have watched runs: the names of the others are handed to other commands."""
SUBMITTED = "Submitted"
"""Phase that is shown for an experiment that musterd has not processed yet."""
PHASES = (SUBMITTED, *(phase.value for phase in Phase))

F = TypeVar("F", bound=Callable[..., Any])


def listing_options(command: F) -> F:
    """Return the options of a list: ``--watch``, ``--all-namespaces``, ``--phase``."""
    for option in reversed(
        (
            click.option("-w", "--watch", is_flag=True, help="Print every change, until interrupted."),
            click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="Experiments of every namespace."),
            phase_option(PHASES, "Only experiments in this phase; may be given often."),
        )
    ):
        command = option(command)
    return command


def phase_option(phases: Sequence[str], text: str) -> Callable[[F], F]:
    """Return the option ``--phase``, in any case of letters."""
    return click.option("--phase", "phases", type=click.Choice(phases, case_sensitive=False), multiple=True, help=text)


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
    if contexts:
        answers = asyncio.run(ask_all(choices(chosen, contexts), Wanted(everywhere, kind, output in TABLES)))
        found = [seen for each in answers if each.found for seen in each.found.experiments if in_phase(seen, phases)]
        _print(found, everywhere, phases, output, kind, clustered=True)
        conclude(answers)
        return
    run_list(chosen, watch=watch, everywhere=everywhere, phases=phases, output=output, kind=kind)


def run_list(
    chosen: ClusterChoice,
    *,
    watch: bool,
    everywhere: bool,
    phases: Collection[str],
    output: str | None,
    kind: str = "",
) -> None:
    """Print the experiments of a namespace or of all, once or at every change."""

    async def run() -> None:
        async with chosen.client() as client:
            if watch:
                await watch_experiments(client, chosen, f"{kind}/" if kind else None, everywhere, phases, output)
                return
            asked = listed(client, chosen, Wanted(everywhere, kind, output in TABLES))
            found = await patient(asked, "listing experiments")
            _print([seen for seen in found if in_phase(seen, phases)], everywhere, phases, output, kind)

    asyncio.run(run())


def in_phase(seen: Snapshot, phases: Collection[str]) -> bool:
    """Return whether the experiment is in one of the phases; none given means all."""
    return not phases or (seen.phase or SUBMITTED) in phases


def held(seen: Snapshot) -> dict[str, int]:
    """Return the accelerators that its pods hold, as far as the status has them, by resource."""
    return USUAL.of(tuple((printable(each.resource), each.count) for each in seen.status.devices))


def row(
    seen: Snapshot, now: float, *, namespaced: bool, wide: bool = False, clustered: bool = False
) -> tuple[str, ...]:
    """Return the cells of one experiment."""
    cells: tuple[str, ...] = (
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
    cells += (printable(seen.message),)
    return (*place_of(seen, namespaced=namespaced, clustered=clustered), *cells)


def place_of(seen: Snapshot, *, namespaced: bool, clustered: bool) -> tuple[str, ...]:
    """Return where it is: the cells before those of the experiment."""
    return ((printable(seen.context),) if clustered else ()) + ((printable(seen.namespace),) if namespaced else ())


def placed(headings: tuple[str, ...], *, namespaced: bool, clustered: bool) -> tuple[str, ...]:
    """Return the headings with those of ``place_of``."""
    return (("CONTEXT",) if clustered else ()) + (("NAMESPACE",) if namespaced else ()) + headings


def show_objects(found: Sequence[Snapshot], output: str, *, clustered: bool) -> None:
    """Print names, or the objects as a List; of several clusters each with the context that it was read through."""
    if output == "name":
        data(*(printable(f"{seen.context}/{seen.name}" if clustered else seen.name) for seen in found))
    else:
        items = [{"context": seen.context, **seen.raw} if seen.context else seen.raw for seen in found]
        show({"apiVersion": "v1", "kind": "List", "items": items}, output)


def _table(everywhere: bool, output: str | None, *, clustered: bool = False) -> Table:
    headings = (*HEADINGS[:-1], *WIDE, HEADINGS[-1]) if output == "wide" else HEADINGS
    return Table(placed(headings, namespaced=everywhere, clustered=clustered))


def _print(
    found: Sequence[Snapshot],
    everywhere: bool,
    phases: Collection[str],
    output: str | None,
    kind: str,
    *,
    clustered: bool = False,
) -> None:
    if output not in TABLES:
        show_objects(found, output, clustered=clustered)
    elif not found:
        which = f" in phase {', '.join(phases)}" if phases else ""
        say(
            f"no {f'{kind} objects' if kind else 'experiments'}{which}"
            + ("" if everywhere else " in this namespace; -A looks in all")
        )
    else:
        now = time.time()
        wide = output == "wide"
        rows = (row(each, now, namespaced=everywhere, wide=wide, clustered=clustered) for each in found)
        data(*_table(everywhere, output, clustered=clustered).lines(rows, headings=True))


async def watch_experiments(
    client: Client,
    chosen: ClusterChoice,
    name: str | None,
    everywhere: bool,
    phases: Collection[str],
    output: str | None,
) -> None:
    """Print each experiment, then every change, without an end."""
    table, first = _table(everywhere, output), True
    shown: set[str] = set()
    changes = client.watch(name, namespace=chosen.namespace, everywhere=everywhere)
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
            cells = row(seen, time.time(), namespaced=everywhere, wide=output == "wide")
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
