"""``python -m tests.hangs --table`` and ``--healthy``: gangs of real processes that hang, and that are only slow.

One cluster and one musterd have all gangs of a run; they come to their ways at the same time. Printed of each row are
what shows the hang (of places, steps, recorder and mismatch the rank has to be named; a rank that computes or polls is
no verdict, and ``muster get`` has to report it), the verdict, after how many seconds, and whether it was right. The
healthy may get no verdict. The exit status is 1 where a row was wrong.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Sequence
from math import ceil
from pathlib import Path

import click

from tests.hangs.hang_rows import HANGS
from tests.hangs.healthy_rows import HEALTHY
from tests.hangs.judged import Judged, judge
from tests.hangs.rows import Row, Shown
from tests.hangs.world import MINUTE, is_done, is_over, was_said, world

PATIENCE = 900.0
"""Seconds after the halt in which a hang has to be reported."""
ASKED = 60.0
"""Seconds for which a verdict has to stay after stacks were asked for."""
HEALTHY_MINUTES, AFTER = 20.0, 60.0
"""Minutes in which the healthy have to be over with their ways, and seconds for which they are looked at then."""

NAMES = [row.name for row in (*HANGS, *HEALTHY)]


def _load() -> str:
    return "/".join(f"{each:.1f}" for each in os.getloadavg())


async def play(folder: Path, rows: Sequence[Row], run: int, minute: float, patience: float) -> list[Judged]:
    """One run of these rows."""
    began, load = time.monotonic(), _load()
    async with world(folder, rows, run, minute) as made:
        await made.start()
        gangs = list(made.gangs.values())
        if rows[0].shown is Shown.NOTHING:
            await made.until(is_done, gangs, HEALTHY_MINUTES * minute)
            await asyncio.sleep(AFTER)
        else:
            await made.until(was_said, gangs, patience)
            await made.ask()
            await made.until(is_over, [gang for gang in gangs if gang.row.again], ASKED)
            await asyncio.sleep(ASKED)
            await made.settle(ASKED)
        found = [judge(gang) for gang in gangs]
    for each in found:
        click.echo(each.line)
    wrong = sum(not each.right for each in found)
    seconds = time.monotonic() - began
    click.echo(f"run {run + 1}: {len(found) - wrong} right, {wrong} wrong; {seconds:.0f} s, load {load} to {_load()}")
    return found


async def main(rows: Sequence[Row], runs: int, minute: float, patience: float, keep: Path | None) -> bool:
    """Play all runs, one after another; True if all were right."""
    right = True
    for run in range(runs):
        with tempfile.TemporaryDirectory(prefix="hangs-") as made:
            folder = Path(made) if keep is None else keep / str(run)
            folder.mkdir(parents=True, exist_ok=True)
            for number, part in enumerate(parts(rows)):
                (folder / str(number)).mkdir(parents=True)
                found = await play(folder / str(number), part, run, minute, patience)
                right = right and all(each.right for each in found)
    return right


def parts(rows: Sequence[Row]) -> list[list[Row]]:
    """The rows in as few parts as half of this machine's memory takes; one is played after another."""
    room = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2e9
    number = ceil(sum(row.size * row.memory for row in rows) / room)
    return [list(rows[each::number]) for each in range(number)]


def chosen(rows: Sequence[Row], kinds: Sequence[str]) -> list[Row]:
    """The rows of these names, or all; those that cannot be played here are named with what installs them."""
    wanted = [row for row in rows if not kinds or row.name in kinds]
    for row in wanted:
        if row.missing:
            click.echo(f"left out {row.name}: {row.missing}")
    return [row for row in wanted if not row.missing]


@click.command()
@click.option("--table", is_flag=True, help="Play the hangs.")
@click.option("--healthy", is_flag=True, help="Play the gangs that are only slow.")
@click.option("--runs", default=1, show_default=True, help="Runs, one after another, each of another rank.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(NAMES), help="Rows; all without it.")
@click.option("--minute", default=MINUTE, show_default=True, help="Seconds for which a minute of a pause lasts.")
@click.option("--patience", default=PATIENCE, show_default=True, help="Seconds after the halt until a row is wrong.")
@click.option("--keep", type=click.Path(path_type=Path), help="The folder in which the state of each run is kept.")
def command(
    table: bool, healthy: bool, runs: int, kinds: tuple[str, ...], minute: float, patience: float, keep: Path | None
) -> None:
    """Play the table of hangs, or of healthy gangs that are slow."""
    if table is healthy:
        raise click.UsageError("say --table or --healthy")
    rows = chosen(HANGS if table else HEALTHY, kinds)
    if not rows:
        raise click.ClickException("no row can be played here")
    raise SystemExit(0 if asyncio.run(main(rows, runs, minute, patience, keep)) else 1)


if __name__ == "__main__":
    command()
