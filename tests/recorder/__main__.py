"""``python -m tests.recorder --runs 20``: plays hangs of real PyTorch processes and prints how many were named rightly.

Each run is one gang of three processes that report nothing, one rank of which sleeps, waits for a lock, is stopped, or
loops in C with the interpreter's lock. The rank is another one in each run, also rank 0, which has the store: stopped,
that is another cause, and so it is left out there. ``--program huggingface`` plays the Trainer of transformers, whose
data ends to come in one rank. ``--healthy`` plays gangs that never come to a halt.
"""

import asyncio
import tempfile
from pathlib import Path

import click

from tests.frameworks.interpreters import CURRENT_TORCH, reason_without
from tests.hangs.played import SIZE, Verdict, summed_up
from tests.recorder.gang import PROGRAMS, SAYS, right, run


def victim_of(how: str, number: int) -> int:
    """The rank that comes to a halt in the run of that number."""
    return 1 + number % (SIZE - 1) if how == "stop" else number % SIZE


async def play(program: str, how: str, number: int, limit: asyncio.Semaphore, *, patience: float) -> Verdict:
    """One run, when there is room for it."""
    async with limit:
        with tempfile.TemporaryDirectory() as folder:
            return await run(Path(folder), how, victim_of(how, number), program=program, patience=patience)


async def main(program: str, runs: int, beside: int, kinds: tuple[str, ...], healthy: float) -> bool:
    """Play all runs; True if all were right."""
    limit, patience = asyncio.Semaphore(beside), healthy or 240.0

    async def situation(how: str) -> bool:
        found = await asyncio.gather(*(play(program, how, each, limit, patience=patience) for each in range(runs)))
        judge = None if healthy else lambda number, said: right(program, how, victim_of(how, number), said)
        return summed_up(f"{program}, recorder {how:6}", found, judge)

    return all(await asyncio.gather(*map(situation, ("never",) if healthy else kinds)))


@click.command()
@click.option("--runs", default=1, show_default=True, help="Runs of each situation.")
@click.option("--beside", default=3, show_default=True, help="Gangs at the same time.")
@click.option("--program", default="torch", show_default=True, type=click.Choice(sorted(PROGRAMS)))
@click.option("--kind", "kinds", multiple=True, type=click.Choice(sorted(SAYS)), help="Situations; all without it.")
@click.option("--healthy", default=0.0, help="Seconds for which gangs run that never come to a halt.")
def command(program: str, runs: int, beside: int, kinds: tuple[str, ...], healthy: float) -> None:
    """Play hangs of real PyTorch processes."""
    if reason := reason_without("transformers" if program == "huggingface" else CURRENT_TORCH):
        raise click.ClickException(reason)
    raise SystemExit(0 if asyncio.run(main(program, runs, beside, kinds or tuple(SAYS), healthy)) else 1)


if __name__ == "__main__":
    command()
