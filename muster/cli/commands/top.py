"""``muster top``: the experiments by what hurts most, live on a terminal."""

import asyncio
import contextlib
import sys
import time
from collections.abc import Iterable, Sequence

import click
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from muster.api.values.printable import printable
from muster.cli.commands.listing import SUBMITTED
from muster.cli.options import ClusterChoice, cluster_options, output_option, show
from muster.cli.terminal.colours import BAD, colourful, data, phase_word
from muster.cli.terminal.keys import quit_key
from muster.cli.terminal.patience import patient
from muster.cli.terminal.progress import clock_left, since
from muster.cli.terminal.table import Table
from muster.client import Client, Snapshot
from muster.state.summary.hurt import NOTHING, TITLES, Hurt, place, seen_in

HEADINGS = ("NAME", "HURTS", "PHASE", "FOR", "ROLL", "RESTARTS", "DEADLINE", "WAITS FOR")
FRAMES_PER_SECOND = 1
READ_ANEW = 5.0
"""Seconds between two reads of the objects of another kind."""
ROUGH = frozenset({Hurt.HUNG, Hurt.STUCK, Hurt.FAILED})
"""What is shown in red."""


@click.command(
    epilog="\b\nExamples:\n  muster top\n  muster top -A\n  muster top -A --all\n  muster top --kind rayjob\n"
    "  muster top -A -o json | jq '.items[0]'\n"
)
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="Experiments of every namespace.")
@click.option("--all", "over", is_flag=True, help="Those that are over, too. One that failed is shown for a day.")
@click.option(
    "--kind", default="", help="Objects of another kind, as jobset or pods. An unknown one is answered with all."
)
@output_option("name")
@cluster_options
def top(chosen: ClusterChoice, everywhere: bool, over: bool, kind: str, output: str | None) -> None:
    """Show experiments by what hurts most: hung, stuck, ranks missing, restarting, a deadline near, failed, queued.

    On a terminal the table is drawn anew whenever something changes, until q (exit status 0) or Ctrl-C (130).
    Elsewhere, or with -o, it is printed once.

    With --kind it shows the objects of another kind, those that Muster only watches over, too. On a terminal they are
    read every 5 s.
    """

    async def run() -> None:
        async with chosen.client() as client:
            if output is None and sys.stdout.isatty():
                await follow(client, chosen, everywhere=everywhere, over=over, kind=kind)
                return
            listed = client.list(namespace=chosen.namespace, everywhere=everywhere, kind=kind)
            found = worst_first(await patient(listed, "listing experiments"), time.time(), over=over)
            if output == "name":
                for seen in found:
                    data(printable(seen.name))
            elif output is not None:
                show({"apiVersion": "v1", "kind": "List", "items": [seen.raw for seen in found]}, output)
            else:
                for line in lines(found, time.time(), everywhere=everywhere):
                    data(line)

    asyncio.run(run())


def worst_first(found: Iterable[Snapshot], now: float, *, over: bool) -> list[Snapshot]:
    """The experiments that need a look, then the others; of equal ones the longest in its phase comes first."""
    shown = [seen for seen in found if over or not _over(seen, now)]
    return sorted(shown, key=lambda s: (_place(s, now), s.status.phase_at, s.namespace, s.name))


def _place(seen: Snapshot, now: float) -> int:
    return place(seen.status, seen_in(seen.status, now), now)


def _over(seen: Snapshot, now: float) -> bool:
    """Nothing is to be looked at any more: it has ended, and has not failed since yesterday."""
    return seen.finished and _place(seen, now) >= NOTHING


def lines(found: Sequence[Snapshot], now: float, *, everywhere: bool) -> list[str]:
    """A line on how many there are, and the table."""
    troubled = sum(1 for seen in found if _place(seen, now) < NOTHING)
    count = f"{len(found)} experiment{'' if len(found) == 1 else 's'}, {troubled or 'none'} with a problem"
    if not found:
        return [f"no experiments{'' if everywhere else ' in this namespace; -A looks in all'}"]
    table = Table(("NAMESPACE", *HEADINGS) if everywhere else HEADINGS)
    return [count, *table.lines((_row(seen, now, everywhere) for seen in found), headings=True)]


def _row(seen: Snapshot, now: float, namespaced: bool) -> tuple[str, ...]:
    status, found = seen.status, seen_in(seen.status, now)
    words = ", ".join(TITLES[each] for each in found)
    cells = (
        printable(seen.name),
        click.style(words, fg=BAD) if ROUGH & set(found) else words or "-",
        phase_word(seen.phase or SUBMITTED),
        since(status.phase_at or seen.created, now) or "-",
        f"{status.roll.arrived}/{status.size}" if status.roll is not None else "-",
        str(status.restarts_begun),
        clock_left(seen, now) or "-",
        printable(seen.message or seen.reason),
    )
    return (printable(seen.namespace), *cells) if namespaced else cells


class Screen:
    """The table on a terminal, as many rows as it has lines."""

    def __init__(self, console: Console, *, everywhere: bool, over: bool) -> None:
        self._console = console
        self._everywhere = everywhere
        self._over = over
        self.seen: dict[str, Snapshot] = {}
        """By uid, or by namespace and name."""

    def __rich__(self) -> Group:
        """The table as it is now; rich asks for it at every frame."""
        now = time.time()
        found = worst_first(self.seen.values(), now, over=self._over)
        shown = lines(found, now, everywhere=self._everywhere)
        room = max(3, self._console.size.height - 1)
        if len(shown) > room:
            shown = [*shown[: room - 1], f"and {len(shown) - room + 1} more"]
        return Group(*(Text.from_ansi(line, no_wrap=True, overflow="ellipsis") for line in shown))


async def follow(client: Client, chosen: ClusterChoice, *, everywhere: bool, over: bool, kind: str) -> None:
    """Draw the table until q is typed, or until interrupted."""
    console = Console(highlight=False, markup=False, no_color=not colourful(sys.stdout))
    screen = Screen(console, everywhere=everywhere, over=over)
    with (
        quit_key() as quitting,
        Live(screen, console=console, refresh_per_second=FRAMES_PER_SECOND, transient=False),
    ):
        seeing = (
            _read_anew(client, chosen, screen, kind, everywhere) if kind else _watch(client, chosen, screen, everywhere)
        )
        tasks = (asyncio.create_task(seeing, name="seeing"), asyncio.create_task(quitting.wait(), name="quitting"))
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _watch(client: Client, chosen: ClusterChoice, screen: Screen, everywhere: bool) -> None:
    """Keep the experiments of the screen up to date."""
    async with contextlib.aclosing(client.watch(namespace=chosen.namespace, everywhere=everywhere)) as stream:
        async for change in stream:
            if change.kind == "DELETED":
                screen.seen.pop(change.experiment.uid, None)
            else:
                screen.seen[change.experiment.uid] = change.experiment


async def _read_anew(client: Client, chosen: ClusterChoice, screen: Screen, kind: str, everywhere: bool) -> None:
    """Keep the objects of another kind up to date. How a run stands follows from object and pods: no watch has both."""
    while True:
        found = await client.list(namespace=chosen.namespace, everywhere=everywhere, kind=kind)
        screen.seen = {f"{seen.namespace}/{seen.name}": seen for seen in found}
        await asyncio.sleep(READ_ANEW)
