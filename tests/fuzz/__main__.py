"""``python -m tests.fuzz [--cases N] [--seed S] [--case K]``: ends with ``objects N, violations M``."""

# ruff: noqa: T201 - a command prints its results

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter
from functools import partial

from tests.fuzz.runner import Runner, Violation
from tests.fuzz.walk import walk

CASES = 57_500
"""Three cases send about five hostile objects: more than 100,000 in all."""
SHOWN = 20
"""Violations printed in full."""
PORTION = 2_500
"""Cases per task. Each case has a random seed of its own, so it does not matter which process plays it."""
STEP = 8
"""Progress is printed after this many tasks."""


def main() -> int:
    """Play all cases; 1 if there is a violation."""
    asked = _arguments()
    cases = range(asked.cases) if asked.case is None else range(asked.case, asked.case + 1)
    began, violations, kinds, played = time.monotonic(), 0, Counter[str](), Counter[str]()
    objects = 0
    with multiprocessing.get_context("fork").Pool(asked.processes) as pool:
        walking = pool.apply_async(walk) if asked.case is None else None
        portions = [cases[start : start + PORTION] for start in range(0, len(cases), PORTION)]
        for number, (found, counts, sent) in enumerate(pool.imap(partial(_play, asked.seed), portions), 1):
            played += counts
            objects += sent
            for violation in found:
                violations += 1
                kinds[f"{violation.family}: {violation.problem[:90]}"] += 1
                if violations <= asked.shown:
                    print(violation, flush=True)
            if number % STEP == 0:
                print(f"  {number * PORTION:,} of {len(cases):,} cases, {violations} violations", flush=True)
        if walking is not None:
            played["spec walk"], wrong = walking.get()
            objects += played["spec walk"]
            violations += len(wrong)
            print(*wrong[: asked.shown], sep="\n", end="\n" if wrong else "")
    for kind, count in kinds.most_common():
        print(f"{count:7} x {kind}")
    families = ", ".join(f"{name} {count}" for name, count in sorted(played.items()))
    print(f"cases: {families}; {time.monotonic() - began:.0f} s")
    print(f"objects {objects}, violations {violations}")
    return min(violations, 1)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=CASES, help="number of cases (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="random seed (default: 1)")
    parser.add_argument("--shown", type=int, default=SHOWN, help="violations printed in full (default: %(default)s)")
    parser.add_argument("--case", type=int, help="replay this case only")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="default: one per processor")
    return parser.parse_args()


def _play(seed: int, cases: range) -> tuple[list[Violation], Counter[str], int]:
    runner = Runner(seed)
    return list(runner.run(cases)), runner.played, runner.objects


if __name__ == "__main__":
    sys.exit(main())
