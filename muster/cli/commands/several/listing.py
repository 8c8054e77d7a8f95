"""``muster list``: experiments in a table. ``muster get`` without a name is the same command."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, TypeVar

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
        if found or output not in TABLES or all(each.found for each in answers):
            _print(found, places(everywhere, contexts), phases, output, kind)
        conclude(answers)

    asyncio.run(run())


def in_phase(seen: Snapshot, phases: Collection[str]) -> bool:
    """Return whether the experiment is in one of the phases; none given means all."""
    return not phases or (seen.phase or SUBMITTED) in phases


def held(seen: Snapshot) -> dict[str, int]:
    """Return the accelerators that its pods hold, as far as the status has them, by resource."""
    return USUAL.of(tuple((printable(each.resource), each.count) for each in seen.status.devices))


Cells = Mapping[str, Callable[[Snapshot, float], str]]
CELLS: Final[Cells] = {
    "CONTEXT": lambda seen, _: printable(seen.context),
    NAMESPACE: lambda seen, _: printable(seen.namespace),
    "NAME": lambda seen, _: printable(seen.name),
    "PHASE": lambda seen, _: TERMINAL.phase(seen.phase or SUBMITTED),
    "REASON": lambda seen, _: printable(seen.reason),
    "READY": lambda seen, _: "" if seen.phase == "Failed" else seen.status.readiness,
    "ROLL": lambda seen, _: f"{seen.status.roll.arrived}/{seen.status.size}" if seen.status.roll else "",
    "RESTARTS": lambda seen, _: str(seen.status.restarts_begun),
    "DEADLINE": clock_left,
    "AGE": lambda seen, now: since(seen.created, now),
    "FOR": lambda seen, now: since(seen.status.phase_at or seen.created, now),
    "OPERATOR": lambda seen, _: printable(seen.operator),
    "ACCELERATORS": lambda seen, _: words(held(seen)),
    "EPOCH": lambda seen, _: str(seen.status.epoch_begun),
    "STEP": lambda seen, _: str(seen.status.steps.step) if seen.status.steps else "",
    "MESSAGE": lambda seen, _: printable(seen.message),
}
"""The cell of an experiment at a wall second, by the heading of its column; empty where it has none."""


def row(seen: Snapshot, now: float, headings: Sequence[str], of: Cells = CELLS) -> tuple[str, ...]:
    """Return the cells of one experiment below these headings; an empty one but the last is a dash."""
    *cells, last = (of[heading](seen, now) for heading in headings)
    return (*(cell or "-" for cell in cells), last)


def places(everywhere: bool, contexts: str = "") -> tuple[str, ...]:
    """Return the headings before that of the name, for experiments of all namespaces or of several clusters."""
    return (("CONTEXT",) if contexts else ()) + ((NAMESPACE,) if everywhere else ())


def show_objects(found: Sequence[Snapshot], output: str) -> None:
    """Print names, or the objects as a List; of several clusters each with the context that it was read through."""
    if output == "name":
        data(*(printable(f"{seen.context}/{seen.name}" if seen.context else seen.name) for seen in found))
    else:
        items = [{"context": seen.context, **seen.raw} if seen.context else seen.raw for seen in found]
        show({"apiVersion": "v1", "kind": "List", "items": items}, output)


def headings_of(where: Sequence[str], output: str | None) -> tuple[str, ...]:
    """Return the headings of a list, those of the place of an experiment first."""
    return (*where, *HEADINGS[:-1], *(WIDE if output == "wide" else ()), HEADINGS[-1])


def _print(
    found: Sequence[Snapshot], where: Sequence[str], phases: Collection[str], output: str | None, kind: str
) -> None:
    if output not in TABLES:
        show_objects(found, output)
    elif not found:
        what = f"runs of kind {kind}, which Muster runs or can watch over," if kind else "experiments"
        which = f" in phase {', '.join(phases)}" if phases else ""
        say(f"no {what}{which}{'' if NAMESPACE in where else ' in this namespace; -A looks in all'}")
    else:
        headings = headings_of(where, output)
        data(*Table(headings).lines((row(each, time.time(), headings) for each in found), headings=True))


async def watch_experiments(
    client: Client, name: str | None, everywhere: bool, phases: Collection[str], output: str | None
) -> None:
    """Print each experiment, then every change, without an end."""
    headings = headings_of(places(everywhere), output)
    table, first = Table(headings), True
    shown: set[str] = set()
    async with contextlib.aclosing(client.watch(name, everywhere=everywhere)) as stream:
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
            cells = row(seen, time.time(), headings)
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
