"""``python -m tests.fuzz [--cases N] [--seed S] [--case K]``: ends with ``cases N, violations M``."""

# ruff: noqa: T201 - a command speaks to whoever called it

import argparse
import sys
import time
from collections import Counter

from tests.fuzz.runner import Runner
from tests.fuzz.walk import walk

SHOWN = 20
"""Violations printed in full."""


def main() -> int:
    """Run; the number of violations decides the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000, help="how many (default: 100,000)")
    parser.add_argument("--seed", type=int, default=1, help="of the dice (default: 1)")
    parser.add_argument("--shown", type=int, default=SHOWN, help="violations printed in full")
    parser.add_argument("--case", type=int, help="play this one again")
    asked = parser.parse_args()
    runner = Runner(asked.seed)
    cases = range(asked.cases) if asked.case is None else range(asked.case, asked.case + 1)
    began, violations, kinds = time.process_time(), 0, Counter[str]()
    for violation in runner.run(cases):
        violations += 1
        kinds[f"{violation.family}: {violation.problem[:90]}"] += 1
        if violations <= asked.shown:
            print(violation)
    walked = 0
    if asked.case is None:
        walked, wrong = walk()
        violations += len(wrong)
        print(*wrong[: asked.shown], sep="\n", end="\n" if wrong else "")
    for kind, count in kinds.most_common():
        print(f"{count:7} x {kind}")
    played = ", ".join(f"{name} {count}" for name, count in sorted(runner.played.items()))
    print(f"{played}, spec walk {walked}; {time.process_time() - began:.0f} s CPU")
    print(f"cases {len(cases) + walked}, violations {violations}")
    return min(violations, 1)


if __name__ == "__main__":
    sys.exit(main())
