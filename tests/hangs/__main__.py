"""``python -m tests.hangs --runs 20``: plays hangs of real jax processes and prints how many were named rightly.

Each run is one gang of three processes, with assist alone or with reports alone, and one rank sleeps, waits for a
lock, is stopped, loops in C with the interpreter's lock, or computes in C without it. The rank is another one in each
run, never rank 0: a coordinator that is stopped is another cause. ``--healthy`` plays gangs that never come to a halt.
"""

import asyncio
import tempfile
from pathlib import Path

import click

from tests.hangs.gang import SAYS, right, run
from tests.hangs.played import SIZE, Verdict, summed_up


def victim_of(number: int) -> int:
    """The rank that comes to a halt in the run of that number."""
    return 1 + number % (SIZE - 1)


async def play(how: str, number: int, limit: asyncio.Semaphore, *, reports: bool, patience: float) -> Verdict:
    """One run, when there is room for it."""
    async with limit:
        with tempfile.TemporaryDirectory() as folder:
            return await run(Path(folder), how, victim_of(number), reports=reports, patience=patience)


async def main(runs: int, beside: int, kinds: tuple[str, ...], healthy: float) -> bool:
    """Play all runs; True if all were right."""
    limit, patience = asyncio.Semaphore(beside), healthy or 180.0
    situations = [(how, reports) for reports in (False, True) for how in (("never",) if healthy else kinds)]

    async def situation(how: str, *, reports: bool) -> bool:
        found = await asyncio.gather(
            *(play(how, number, limit, reports=reports, patience=patience) for number in range(runs))
        )
        title = f"jax, {'report' if reports else 'assist'} {how:8}"
        return summed_up(title, found, None if healthy else lambda number, said: right(how, victim_of(number), said))

    return all(await asyncio.gather(*(situation(how, reports=reports) for how, reports in situations)))


@click.command()
@click.option("--runs", default=1, show_default=True, help="Runs of each situation.")
@click.option("--beside", default=4, show_default=True, help="Gangs at the same time.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(sorted(SAYS)), help="Situations; all without it.")
@click.option("--healthy", default=0.0, help="Seconds for which gangs run that never come to a halt.")
def command(runs: int, beside: int, kinds: tuple[str, ...], healthy: float) -> None:
    """Play hangs of real jax processes."""
    raise SystemExit(0 if asyncio.run(main(runs, beside, kinds or tuple(SAYS), healthy)) else 1)


if __name__ == "__main__":
    command()
