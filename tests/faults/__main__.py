"""``python -m tests.faults [--runs N] [--only PLAN] [--jobs N]``: plays plans and ends with ``plans N, violations M``.

Exit status 1 if a plan is violated; each violation is printed with the command that replays its plan.
"""

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.faults.plans import PLAYED, Plan, catalogue, parse
from tests.faults.play import environment
from tests.faults.score import Session
from tests.simulation.command import say


def choose(plans: list[Plan], count: int) -> list[Plan]:
    """At most that many plans, spread evenly."""
    if count >= len(plans):
        return plans
    return [plans[number * len(plans) // count] for number in range(count)]


async def run(arguments: argparse.Namespace, folder: Path) -> int:
    """Play the plans that the command line asks for; returns the exit status."""
    began = time.monotonic()
    async with environment(folder) as here:
        session = Session(here, arguments.jobs, say)
        if arguments.only:
            await session.all([parse(text) for text in arguments.only])
        else:
            found: list[Plan] = []
            for clean in await session.clean(*map(Plan, PLAYED)):
                requests = [each.name for each in clean.proxy.forwarded]
                found += catalogue(clean.plan, requests, clean.proxy.lines)
            await session.all(choose(found, arguments.runs))
    say(", ".join(f"{kind} {count}" for kind, count in sorted(session.kinds.items())))
    say(f"plans {session.plans}, violations {session.violations}  ({time.monotonic() - began:.0f} s)")
    return 1 if session.violations else 0


def main() -> int:
    """Parse the command line, and delete the logs if nothing is violated."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description="Real musterds behind a fault proxy.")
    parser.add_argument(
        "--runs", type=int, default=240, metavar="N", help="number of plans, spread evenly over all (about 500)"
    )
    parser.add_argument("--only", action="append", metavar="PLAN", help="this plan (may be repeated)")
    parser.add_argument("--jobs", type=int, default=12, metavar="N", help="plans that run at the same time")
    chosen = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="muster-faults-"))
    status = asyncio.run(run(chosen, folder))
    if status == 0:
        shutil.rmtree(folder)
    return status


if __name__ == "__main__":
    sys.exit(main())
