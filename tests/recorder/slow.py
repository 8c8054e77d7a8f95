"""``python -m tests.recorder.slow``: a gang of real PyTorch processes that all get on, one slower than the others.

It prints who is said to come last, and after how many seconds: seven to nine minutes, so no test plays it.
"""

import asyncio
import tempfile
import time
from pathlib import Path

import click

from tests.hangs.rows import Channel, Shown, torch
from tests.hangs.world import Gang, world

SAYS = "comes last"


async def said_of(folder: Path, seconds: float, victim: int, *, patience: float) -> str:
    """What is said of such a gang: as soon as a rank comes last, or when it was looked at for so many seconds."""

    def said(gang: Gang) -> bool:
        return gang.seen is not None and SAYS in gang.seen.message

    row = torch(Channel.ASSIST, "slow", Shown.NOTHING, "slow.py", victims=(victim,))
    async with world(folder, [row], minute=seconds) as made:
        await made.start()
        (gang,) = made.gangs.values()
        await made.until(said, [gang], patience)
        return gang.seen.message if gang.seen is not None and said(gang) else ""


@click.command()
@click.option("--seconds", default=0.2, show_default=True, help="By which the rank is slower in each step; 0: none is.")
@click.option("--rank", default=1, show_default=True, help="The rank.", type=click.IntRange(0, 2))
@click.option("--patience", default=900.0, show_default=True, help="Seconds after which it is given up.")
def command(seconds: float, rank: int, patience: float) -> None:
    """Play it, and exit with 0 if that rank is named, or none where none is slower."""
    if reason := torch(Channel.ASSIST, "slow", Shown.NOTHING, "slow.py").missing:
        raise click.ClickException(reason)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        said = asyncio.run(said_of(Path(folder), seconds, rank, patience=patience))
    click.echo(f"after {time.monotonic() - began:.0f} s: {said or 'nothing is said'}")
    right = f"rank {rank} {SAYS}" in said if seconds else not said
    raise SystemExit(0 if right else 1)


if __name__ == "__main__":
    command()
