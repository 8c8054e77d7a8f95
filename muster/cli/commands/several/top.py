"""``muster top``: the experiments, the most urgent problem first, live on a terminal."""

import asyncio
import contextlib
import os
import sys
import termios
import time
import tty
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

import click
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from muster.api.values.durations import count_of
from muster.api.values.printable import printable
from muster.cli.commands.contexts import (
    PATIENCE,
    ClusterAnswer,
    Listed,
    Wanted,
    answer,
    ask,
    ask_all,
    choices,
    conclude,
    contexts_option,
    listed,
    problems,
)
from muster.cli.commands.incidents.sources import lines_above
from muster.cli.commands.several.listing import (
    CELLS,
    NAMESPACE,
    everywhere_option,
    held,
    places,
    row,
    show_objects,
)
from muster.cli.options import ClusterChoice, cluster_options, output_option
from muster.cli.terminal.colours import colourful, data
from muster.cli.terminal.patience import first_of
from muster.cli.terminal.table import Table, fitted
from muster.client import Snapshot
from muster.client.explaining.style import BAD
from muster.kube.cancellation import cancelling
from muster.state.summary.hurt import IDLE, NOTHING, TITLES, Hurt, place, seen_in
from muster.state.summary.quiet import of_steps

HEADINGS = ("NAME", "PROBLEM", "PHASE", "FOR", "ROLL", "ACCELERATORS", "RESTARTS", "DEADLINE", "WAITS FOR")
SPARE = ("DEADLINE", "ROLL", "RESTARTS", "ACCELERATORS")
"""Columns that a narrow screen drops, in this order: PROBLEM names a near deadline, and WAITS FOR the roll."""
ROUGH = frozenset({Hurt.HUNG, Hurt.STUCK, Hurt.FAILED})
"""Problems that are shown in red."""
FRAMES_PER_SECOND = 1
READ_ANEW = 5.0
"""Seconds between two reads of the objects of another kind."""


@click.command(
    epilog="\b\nExamples:\n  muster top\n  muster top -A\n  muster top -A --all\n  muster top --kind rayjob\n"
    "  muster top -A --contexts eu,us\n"
    "  muster top -A -o json | jq '.items[0]'\n"
)
@everywhere_option
@click.option("--all", "over", is_flag=True, help="Those that are over, too. One that failed is shown for a day.")
@click.option("--kind", default="", help="Objects of another kind, as jobset or pods.")
@contexts_option
@output_option("name")
@cluster_options
def top(chosen: ClusterChoice, everywhere: bool, over: bool, kind: str, contexts: str, output: str | None) -> None:
    """Show experiments by urgency: hung, stuck, ranks missing, restarting, a deadline near, failed, queued.

    On a terminal the table is drawn again whenever something changes, until q (exit status 0) or Ctrl-C (130).
    Elsewhere, or with -o, it is printed once.

    Incidents that the Events of experiments name are above the table, with their context if several clusters are
    shown.

    Runs of other controllers whose Event Stuck is not older than an hour are in the table, too, and not in the other
    outputs.

    With --kind it shows the objects of another kind, those that Muster only watches over, too. On a terminal they, and
    those of several clusters, are read every 5 s.
    """
    where = places(everywhere, contexts)
    table = output is None

    async def run() -> None:
        wanted = Wanted(everywhere, kind, stuck=table, incidents=lines_above if table else None)
        if table and sys.stdout.isatty():
            await _follow(chosen, contexts, wanted, where, over=over)
            return
        answers = await ask_all(chosen, contexts, wanted)
        now, answered = time.time(), [each.found for each in answers if each.found]
        known = [seen for each in answered for seen in each.experiments]
        found = worst_first(known, now, over=over)
        if output is not None:
            show_objects(found, output)
        else:
            data(*(line for each in answered for line in each.incidents))
            if found or len(answered) == len(answers):
                data(*lines(found, now, where, kind=kind, ended=len(known) - len(found)))
        conclude(answers)

    asyncio.run(run())


def worst_first(found: Iterable[Snapshot], now: float, *, over: bool) -> list[Snapshot]:
    """Return the experiments that need a look, then the others; of equal ones that whose idle accelerators are most.

    Then the longest in its phase comes first.
    """

    def order(seen: Snapshot) -> tuple[int, int, float, str, str]:
        hurts = seen_in(seen.status, now)
        idle = sum(held(seen).values()) if not IDLE.isdisjoint(hurts) else 0
        return place(seen.status, hurts, now), -idle, seen.status.phase_at, seen.namespace, seen.name

    return sorted((seen for seen in found if over or not _over(seen, now)), key=order)


def _place(seen: Snapshot, now: float) -> int:
    return place(seen.status, seen_in(seen.status, now), now)


def _over(seen: Snapshot, now: float) -> bool:
    """Return whether no look is due: it has ended, and has not failed since yesterday."""
    return seen.finished and _place(seen, now) >= NOTHING


def lines(
    found: Sequence[Snapshot],
    now: float,
    where: Sequence[str] = (),
    *,
    kind: str = "",
    ended: int = 0,
    columns: int | None = None,
    room: int | None = None,
) -> list[str]:
    """Return a line with the number of experiments, or of runs of a ``kind``, and their table, the worst first.

    It begins with the columns of ``where``, and has all its columns, or those that a screen of ``columns`` has room
    for, and all rows or the first ``room``. ``ended`` is the number of those that are left out because they are over.
    """
    troubled = bisect_left(found, NOTHING, key=lambda seen: _place(seen, now))
    what, of_kind = ("run", f" of kind {kind}") if kind else ("experiment", "")
    count = f"{count_of(len(found), what)}{of_kind}, {troubled or 'none'} with a problem"
    if not found and ended:
        return [f"no {what}{of_kind} is under way; {ended} over, which --all shows"]
    if not found:
        return [f"no {what}s{of_kind}{'' if NAMESPACE in where else ' in this namespace; -A looks in all'}"]
    headings: Sequence[str] = (*where, *HEADINGS)
    rows: Sequence[Sequence[str]] = [row(seen, now, headings, TOP) for seen in found[:room]]
    if columns is not None:
        headings, rows = fitted(headings, rows, SPARE, columns)
    return [count, *Table(headings).lines(rows, headings=True)]


def _problem(seen: Snapshot, now: float) -> str:
    found = seen_in(seen.status, now)
    hurt = ", ".join(TITLES[each] for each in found)
    return click.style(hurt, fg=BAD) if ROUGH & set(found) else hurt


def _waits_for(seen: Snapshot, now: float) -> str:
    return printable("; ".join(filter(None, (of_steps(seen.status, now), seen.message or seen.reason))))


TOP: Final = {**CELLS, "PROBLEM": _problem, "WAITS FOR": _waits_for}


class Screen:
    """The table on a terminal: as many rows as it has lines, and the columns that leave the message legible."""

    def __init__(self, console: Console, where: Sequence[str], *, over: bool, kind: str = "") -> None:
        self._console = console
        self._where = where
        self._over = over
        self._kind = kind
        self.seen: dict[str, Snapshot] = {}
        """Experiments of a watch, by uid."""
        self.answers: dict[str, ClusterAnswer[Listed]] = {}
        """Answers of several clusters, by context; beside a watch that of its cluster, with runs that are Stuck."""

    def take(self, name: str, came: ClusterAnswer[Listed]) -> None:
        """Keep an answer. The last one of a cluster stays while it is silent."""
        if came.problem and (before := self.answers.get(name)) and before.found:
            came = replace(before, problem=f"{came.problem}; its last answer is shown")
        self.answers[name] = came

    def __rich__(self) -> Group:
        """Return the table as it is now; rich asks for it at every frame."""
        now, size = time.time(), self._console.size
        answered = [each.found for each in self.answers.values() if each.found]
        known = [*self.seen.values(), *(seen for each in answered for seen in each.experiments)]
        found = worst_first(known, now, over=self._over)
        room = max(3, size.height - 1)
        table = ["no answer yet"]
        if found or (answered and len(answered) == len(self.answers)):
            ended = len(known) - len(found)
            table = lines(found, now, self._where, kind=self._kind, ended=ended, columns=size.width, room=room)
        shown = [
            *(click.style(line, fg=BAD) for line in problems(self.answers.values())),
            *(line for each in answered for line in (*each.unknown, *each.incidents)),
            *table,
        ]
        hidden = max(0, len(found) - room)  # of the table, which has no more rows than there is room for
        if (most := len(shown) + hidden) > room:
            shown = [*shown[: room - 1], f"and {most - room + 1} more"]
        return Group(*(Text.from_ansi(line, no_wrap=True, overflow="ellipsis") for line in shown))


async def _follow(chosen: ClusterChoice, contexts: str, wanted: Wanted, where: Sequence[str], *, over: bool) -> None:
    """Draw the table until q is typed, or until interrupted."""
    console = Console(highlight=False, markup=False, no_color=not colourful(sys.stdout))
    screen = Screen(console, where, over=over, kind=wanted.kind)
    if contexts:
        keeping = _read_all(choices(chosen, contexts), wanted, screen)
    else:
        keeping = (_read_anew if wanted.kind else _watch)(chosen, wanted, screen)
    with (
        quit_key() as quitting,
        Live(screen, console=console, refresh_per_second=FRAMES_PER_SECOND, transient=False),
    ):
        await first_of(see=keeping, quit=quitting.wait())


async def _watch(chosen: ClusterChoice, wanted: Wanted, screen: Screen) -> None:
    """Keep the experiments of the screen up to date. Every 5 s read the watched runs and the incidents from Events."""

    async def read() -> Listed:
        unknown: list[str] = []
        stuck = await client.list_stuck(everywhere=everywhere, unknown=unknown)
        namespace = None if everywhere else client.namespace
        return Listed(stuck, await lines_above(client, [*screen.seen.values(), *stuck], namespace), unknown)

    async def read_incidents() -> None:
        with contextlib.suppress(TimeoutError):  # without an experiment there is no first change
            await asyncio.wait_for(begun.wait(), READ_ANEW)
        while True:
            screen.take("", await answer("", read(), PATIENCE))
            await asyncio.sleep(READ_ANEW)

    everywhere, begun = wanted.everywhere, asyncio.Event()
    async with chosen.client() as client, contextlib.aclosing(client.watch(everywhere=everywhere)) as stream:
        reading = asyncio.create_task(read_incidents(), name="reading incidents")
        async with cancelling(reading):
            async for change in stream:
                if change.kind == "DELETED":
                    screen.seen.pop(change.experiment.uid, None)
                else:
                    screen.seen[change.experiment.uid] = change.experiment
                begun.set()


async def _read_anew(chosen: ClusterChoice, wanted: Wanted, screen: Screen) -> None:
    """Keep the objects of another kind up to date. A run's state follows from object and pods: no watch has both."""
    async with chosen.client() as client:
        while True:
            screen.answers[""] = ClusterAnswer("", await listed(client, wanted))
            await asyncio.sleep(READ_ANEW)


async def _read_all(clusters: dict[str, ClusterChoice], wanted: Wanted, screen: Screen) -> None:
    """Keep the answer of each cluster up to date, each in its own time."""

    async def read(name: str, choice: ClusterChoice) -> None:
        while True:
            screen.take(name, await ask(name, choice, wanted))
            await asyncio.sleep(READ_ANEW)

    async with asyncio.TaskGroup() as group:
        for name, choice in clusters.items():
            group.create_task(read(name, choice), name=f"context {name}")


QUIT = b"qQ"


@contextmanager
def quit_key() -> Iterator[asyncio.Event]:
    """Yield an event that is set when q is typed; without a terminal for input it never is.

    The terminal passes each key on at once, and shows none, until the block ends: then it is as it was. Ctrl-C remains
    a signal.
    """
    typed = asyncio.Event()
    if not sys.stdin.isatty():
        yield typed
        return
    stream, loop = sys.stdin.fileno(), asyncio.get_running_loop()

    def read() -> None:
        keys = os.read(stream, 64)
        if not keys:
            loop.remove_reader(stream)
        if set(keys) & set(QUIT):
            typed.set()

    before = termios.tcgetattr(stream)
    tty.setcbreak(stream, termios.TCSANOW)
    loop.add_reader(stream, read)
    try:
        yield typed
    finally:
        loop.remove_reader(stream)
        termios.tcsetattr(stream, termios.TCSADRAIN, before)
