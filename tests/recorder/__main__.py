"""``python -m tests.recorder --virtual 1000``: hours of virtual gangs that are healthy, and how many verdicts they got.

``--nccl`` plays those that NCCL's RAS is asked of. Real gangs are played by ``python -m tests.hangs``.
"""

import random
from collections.abc import Callable, Iterable
from math import ceil

import click

from tests.recorder.virtual import VirtualGang
from tests.recorder.virtual_ras import RasGang
from tests.recorder.virtual_steps import SteppingGang


def play_virtual(
    hours: float, kinds: Iterable[Callable[[random.Random], VirtualGang | SteppingGang | RasGang]]
) -> bool:
    """Play virtual gangs, each for ten hours with a seed of its own; True if none got a verdict."""
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
@click.option("--virtual", required=True, type=float, help="Hours of virtual gangs that are healthy.")
@click.option("--nccl", is_flag=True, help="The virtual gangs are those that NCCL's RAS is asked of.")
def command(virtual: float, nccl: bool) -> None:
    """Play virtual gangs of PyTorch."""
    raise SystemExit(0 if play_virtual(virtual, (RasGang,) if nccl else (VirtualGang, SteppingGang)) else 1)


if __name__ == "__main__":
    command()
