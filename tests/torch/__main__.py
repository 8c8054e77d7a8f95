"""Plays hangs of real PyTorch gangs that report their steps: ``python -m tests.torch [--runs 20] [--way sleeps]``.

In each run one of four ranks comes to its next step no more. The run is right where that rank, and no other, is named
when the gang hangs, and nothing is said of a hang before. It prints a line per way: right, false, and the seconds from
the last step until the rank is seen to be behind. What is waited for is that sight: the minute until ``Hung`` is
computed, by the same function, as if the same reports were read later. Of a rank 0 that is stopped the store does not
answer any more: Muster says ``CoordinatorUnreachable`` of it, and nothing of a hang, which is right for rank 0 alone.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from muster.state.view.progress import HANG_SECONDS, Progress, steps_progress
from muster.state.view.roll import CoordinatorState
from muster.watchers.probes.torch import TorchProbe
from tests.frameworks.interpreters import python_of, reason_without
from tests.torch.gang import HANGS_AT, SIZE, STOPPED, WAYS, gang

SILENT_LOOKS = 3
LONGEST = 120.0
"""Seconds after which a run in which no rank is seen to be behind is false."""


async def play(way: str, hangs: int) -> tuple[bool, float]:
    """Whether the rank is named, and after how many seconds it was seen to be behind."""
    with tempfile.TemporaryDirectory() as folder, gang(Path(folder), hangs, way) as (address, _):
        probe = TorchProbe(address, clock=time.time, expected=SIZE)
        seen: Progress | None = None
        silent = 0
        began = time.monotonic()
        while time.monotonic() - began < LONGEST:
            answer = await probe.snapshot()
            if answer.reports is not None:
                seen = steps_progress(answer.reports, 0, answer.at, seen)
            silent = silent + 1 if answer.coordinator is CoordinatorState.SILENT else 0
            if silent == SILENT_LOOKS:
                await probe.close()
                return way == STOPPED and hangs == 0, time.monotonic() - began
            if seen is not None and (seen.hung or (seen.slowest is not None and seen.step == HANGS_AT)):
                break
            await asyncio.sleep(0.5)
        await probe.close()
        if seen is None or seen.hung:
            return False, LONGEST
        still = [rank.report for rank in seen.ranks.values()]
        later = steps_progress(still, 0, seen.moved_at + max(HANG_SECONDS, seen.patience), seen)
        assert later is not None
        return later.hung and later.slowest == hangs, seen.read_at - seen.moved_at


async def main(arguments: Sequence[str]) -> int:
    """Play, and print. 1 where a run was false."""
    parser = argparse.ArgumentParser(prog="python -m tests.torch")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--way", choices=WAYS, action="append")
    options = parser.parse_args(arguments)
    if python_of("torch") is None:
        print(reason_without("torch"))
        return 1
    wrong = 0
    for way in options.way or WAYS:
        played = [await play(way, random.Random(f"{way} {number}").randrange(SIZE)) for number in range(options.runs)]
        right = sum(named for named, _ in played)
        wrong += len(played) - right
        seconds = max(taken for _, taken in played)
        print(f"{way}: {right} right, {len(played) - right} false; behind after at most {seconds:.1f} s", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
