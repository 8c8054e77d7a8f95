"""``python -m tests.recorder --runs 20``: plays hangs of real PyTorch processes and prints how many were named rightly.

Each run is one gang of three processes that report nothing, and one rank sleeps, waits for a lock, is stopped, or
loops in C with the interpreter's lock. The rank is another one in each run, also rank 0, which has the store: stopped,
that is another cause, and so it is left out there. ``--program huggingface`` plays the Trainer of transformers, whose
data ends to come in one rank. ``--healthy`` plays gangs that never come to a halt, ``--virtual 1000`` so many hours of
virtual ones, with ``--nccl`` of those that NCCL's RAS is asked of.
"""

import asyncio
import random
import tempfile
from collections.abc import Callable, Iterable
from math import ceil
from pathlib import Path

import click

from tests.frameworks.interpreters import CURRENT_TORCH, reason_without
from tests.hangs.played import SIZE, Verdict, summed_up
from tests.recorder.gang import PROGRAMS, SAYS, right, run
from tests.recorder.virtual import VirtualGang
from tests.recorder.virtual_ras import RasGang
from tests.recorder.virtual_steps import SteppingGang


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


def play_virtual(
    hours: float, kinds: Iterable[Callable[[random.Random], VirtualGang | SteppingGang | RasGang]]
) -> bool:
    """Play virtual gangs, each for ten hours with a seed of its own; True if nothing was said of any."""
    looks = verdicts = 0
    for seed in range(ceil(hours / 10)):
        for gang in [make(random.Random(seed)) for make in kinds]:
            gang.play(10)
            looks, verdicts = looks + gang.looks, verdicts + bool(gang.verdicts)
            for at, said in gang.verdicts[:1]:
                click.echo(f"seed {seed} at {at:.0f} s: {said}")
    click.echo(f"virtual healthy gangs: {hours:g} hours, {looks:,} looks, verdicts of {verdicts} gangs")
    return not verdicts


@click.command()
@click.option("--runs", default=1, show_default=True, help="Runs of each situation.")
@click.option("--beside", default=3, show_default=True, help="Gangs at the same time.")
@click.option("--program", default="torch", show_default=True, type=click.Choice(sorted(PROGRAMS)))
@click.option("--kind", "kinds", multiple=True, type=click.Choice(sorted(SAYS)), help="Situations; all without it.")
@click.option("--virtual", default=0.0, help="Hours of virtual gangs that are healthy; nothing else is played then.")
@click.option("--nccl", is_flag=True, help="The virtual gangs are those that NCCL's RAS is asked of.")
@click.option("--healthy", default=0.0, help="Seconds for which gangs run that never come to a halt.")
def command(
    program: str, runs: int, beside: int, kinds: tuple[str, ...], healthy: float, virtual: float, nccl: bool
) -> None:
    """Play hangs of real PyTorch processes."""
    if virtual:
        raise SystemExit(0 if play_virtual(virtual, (RasGang,) if nccl else (VirtualGang, SteppingGang)) else 1)
    if reason := reason_without("transformers" if program == "huggingface" else CURRENT_TORCH):
        raise click.ClickException(reason)
    raise SystemExit(0 if asyncio.run(main(program, runs, beside, kinds or tuple(SAYS), healthy)) else 1)


if __name__ == "__main__":
    command()
