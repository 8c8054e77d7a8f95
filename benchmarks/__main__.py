"""Measure everything against its budget: ``python -m benchmarks``, or ``make bench``.

The figures are CPU time and counts, so that other processes on the machine change them little. The table goes to
stdout, the progress to stderr, the figures to ``benchmarks/out.json``. The exit code is 1 if a budget does not hold.
"""

import argparse
import sys
import time
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from benchmarks.harness.report import Result, table, write

BENCHMARKS = (
    "decode",
    "decision",
    "fleet",
    "at_rest",
    "commands",
    "scrape",
    "page",
    "page_of_fleet",
    "incidents",
    "beside_training",
)
"""The modules with a ``run() -> list[Result]``, in the order they run."""

OUT = Path(__file__).with_name("out.json")


def measure(names: Iterable[str]) -> list[Result]:
    """Run the benchmarks of these names; print the progress to stderr."""
    results: list[Result] = []
    for name in names:
        print(f"{name} ...", end=" ", file=sys.stderr, flush=True)
        began = time.monotonic()
        found: list[Result] = import_module(f"benchmarks.{name}").run()
        over = sum(not result.ok for result in found)
        verdict = f"{over} over budget" if over else "ok"
        print(f"{time.monotonic() - began:.0f} s, {len(found)} figures, {verdict}", file=sys.stderr, flush=True)
        results += found
    return results


def main(arguments: list[str] | None = None) -> int:
    """Measure, print and write the figures; return 1 if a budget does not hold."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure Muster against its budgets.")
    parser.add_argument(
        "--only",
        choices=BENCHMARKS,
        action="append",
        metavar="NAME",
        help=f"run only this one: {', '.join(BENCHMARKS)}",
    )
    parser.add_argument("--out", type=Path, default=OUT, help="where the JSON goes (%(default)s)")
    chosen = parser.parse_args(arguments)
    results = measure(chosen.only or BENCHMARKS)
    write(results, chosen.out)
    print(table(results))
    return 0 if all(result.ok for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
