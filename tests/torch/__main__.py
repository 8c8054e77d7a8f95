"""``python -m tests.torch --runs 20``: plays hangs of real PyTorch gangs that report their steps.

In each run one of four ranks comes to its next step no more, another one in each. The run is right where that rank, and
no other, is named when the gang hangs, and nothing is said of a hang before. The seconds are those from the last step
until then. Of a rank 0 that is stopped the store does not answer any more: Muster says ``CoordinatorUnreachable`` of
it, and nothing of a hang, which is right for rank 0 alone.
"""

import asyncio
import os
import tempfile
import time
from pathlib import Path

import click

from muster.state.view.progress import Progress, sentence, steps_progress
from muster.state.view.roll import CoordinatorState
from muster.watchers.probes.torch import TorchProbe
from tests.frameworks.interpreters import python_of, reason_without
from tests.hangs.played import Verdict, summed_up
from tests.torch.gang import HANGS_AT, SIZE, STOPPED, WAYS, gang

SILENT_LOOKS = 3
SILENT = "the store does not answer"
LOOK = 0.5
LONGEST = 240.0
"""Seconds after which a run in which the gang is not seen to hang is false. Processes take two minutes to start where a
machine is busy."""


def victim_of(number: int) -> int:
    """The rank that comes to its next step no more in the run of that number."""
    return number % SIZE


def right(way: str, victim: int, said: Verdict) -> bool:
    """That rank is named; of a store that is stopped, none."""
    if way == STOPPED and victim == 0:
        return (said.named, said.sentence) == ((), SILENT)
    return said.named == (victim,)


async def play(way: str, number: int, limit: asyncio.Semaphore) -> Verdict:
    """One run, when there is room for it."""
    async with limit:
        with (
            tempfile.TemporaryDirectory() as folder,
            gang(Path(folder), victim_of(number), way) as (address, _),
        ):
            probe = TorchProbe(address, clock=time.time, expected=SIZE)
            try:
                return await watch(probe)
            finally:
                await probe.close()


async def watch(probe: TorchProbe) -> Verdict:
    """Look until the gang hangs, and say what is said of it."""
    seen: Progress | None = None
    silent, longest = 0, 0.0
    began = looked = time.monotonic()

    def verdict(named: tuple[int, ...], said: str, seconds: float) -> Verdict:
        return Verdict(named, said, seconds, str(seen), os.getloadavg()[0], longest)

    while time.monotonic() - began < LONGEST:
        longest, looked = max(longest, time.monotonic() - looked), time.monotonic()
        answer = await probe.snapshot()
        if answer.reports is not None:
            seen = steps_progress(answer.reports, 0, answer.at, seen)
        silent = silent + 1 if answer.coordinator is CoordinatorState.SILENT else 0
        if silent == SILENT_LOOKS:
            return verdict((), SILENT, time.monotonic() - began)
        if seen is not None and seen.hung:
            named = (seen.slowest,) if seen.slowest is not None and seen.step == HANGS_AT else ()
            return verdict(named, sentence(seen, answer.at), seen.read_at - seen.moved_at)
        await asyncio.sleep(LOOK)
    return verdict((), "", LONGEST)


async def main(runs: int, beside: int, ways: tuple[str, ...]) -> bool:
    """Play all runs; True if all were right."""
    limit = asyncio.Semaphore(beside)

    async def situation(way: str) -> bool:
        found = await asyncio.gather(*(play(way, number, limit) for number in range(runs)))
        return summed_up(f"torch, report {way:7}", found, lambda number, said: right(way, victim_of(number), said))

    return all(await asyncio.gather(*map(situation, ways)))


@click.command()
@click.option("--runs", default=1, show_default=True, help="Runs of each situation.")
@click.option("--beside", default=3, show_default=True, help="Gangs at the same time.")
@click.option("--kind", "ways", multiple=True, type=click.Choice(WAYS), help="Situations; all without it.")
def command(runs: int, beside: int, ways: tuple[str, ...]) -> None:
    """Play hangs of real PyTorch processes that report their steps."""
    if python_of("torch") is None:
        raise click.ClickException(reason_without("torch"))
    raise SystemExit(0 if asyncio.run(main(runs, beside, ways or WAYS)) else 1)


if __name__ == "__main__":
    command()
