"""``python -m tests.planted``: is every planted bug caught, and by which plans?"""

import argparse
import os
import sys
import time
from collections.abc import Iterable, Sequence
from functools import cache
from multiprocessing.pool import Pool

from tests.planted import hunting
from tests.planted.bug import Bug, Hunt, Pair
from tests.planted.catalogue import BUGS, PAIRS
from tests.planted.hunting import Catch
from tests.simulation.command import say, with_fixed_hashes
from tests.simulation.plans.families import FAMILIES
from tests.simulation.runner import outcomes, pool

CLEAN = "the undamaged daemon"
PORTION = 8
"""Plans of the undamaged daemon per task."""
LIFETIME = 10
"""Tasks of one process: a hunt plays some ten plans, of a megabyte each."""

Case = Bug | Pair
CASES: tuple[Case, ...] = (*BUGS, *PAIRS)
Results = dict[str, list[Catch]]


def main() -> int:
    """Play the hunts that the command line asks for; 1 if a bug is not caught, or the undamaged daemon fails."""
    with_fixed_hashes("tests.planted")
    arguments = _arguments()
    cases = [case for case in CASES if not arguments.only or case.name in arguments.only]
    if arguments.pairs:
        cases = [case for case in cases if isinstance(case, Pair)]
    cases = cases[:: arguments.every]
    began = time.monotonic()
    for each in {hunt for case in cases for hunt in case.hunts}:
        _lines(each)  # fills the cache before the processes fork
    with pool(arguments.processes, LIFETIME) as players:
        results = _hunt(players, cases, arguments.enough)
        passed, failed = _play_undamaged(players, results)
    _show(results, detailed=bool(arguments.only))
    for line, found in failed:
        say(f"the undamaged daemon fails: python -m tests.simulation --replay '{line}'\n    {found}")
    escaped = [name for name, caught in results.items() if not any(each.violated for each in caught)]
    for name in escaped:
        say(f"NOT CAUGHT: {name}")
    say(f"{CLEAN}: {passed} plans, {len(failed)} violations; {time.monotonic() - began:.0f} s")
    say(f"bugs {len(results)}, caught {len(results) - len(escaped)}")
    return 1 if escaped or failed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.planted", description=__doc__)
    names = [case.name for case in CASES]
    parser.add_argument("--only", metavar="BUG", action="append", choices=names, help="only this bug; repeatable")
    parser.add_argument("--pairs", action="store_true", help="only the pairs")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth bug, as CI does")
    parser.add_argument("--enough", type=int, default=hunting.ENOUGH, help="violations per hunt (default: %(default)s)")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="default: one per processor")
    return parser.parse_args()


@cache
def _lines(hunt: Hunt) -> list[str]:
    return hunting.lines(hunt)


def _bugs(name: str) -> Sequence[Bug]:
    pair = next((pair for pair in PAIRS if pair.name == name), None)
    return (pair.first, pair.second) if pair else [bug for bug in BUGS if bug.name == name]


def _play_hunt(task: tuple[str, Hunt, int]) -> tuple[str, Catch]:
    name, hunt, enough = task
    return name, hunting.play_until_caught(_bugs(name), hunt, _lines(hunt), enough)


def _hunt(players: Pool, cases: Sequence[Case], enough: int) -> Results:
    tasks = [(case.name, hunt, enough) for case in cases for hunt in case.hunts]
    results: Results = {case.name: [] for case in cases}
    for name, caught in outcomes(players.imap(_play_hunt, tasks)):
        results[name].append(caught)
    return results


def _judge(lines: Sequence[str]) -> list[tuple[str, str]]:
    return [(line, found[0]) for line in lines if (found := hunting.violations_of((), line))]


def _play_undamaged(players: Pool, results: Results) -> tuple[int, list[tuple[str, str]]]:
    """Play the undamaged daemon on every plan that caught a bug: the number of plans, and those that it fails."""
    lines = sorted({line for caught in results.values() for each in caught for line, _ in each.violated})
    portions = [lines[start : start + PORTION] for start in range(0, len(lines), PORTION)]
    return len(lines), [each for found in outcomes(players.imap(_judge, portions)) for each in found]


def _show(results: Results, *, detailed: bool) -> None:
    """Print the matrix: violated plans of those played."""
    families = [name for name in FAMILIES if any(c.hunt.family == name for each in results.values() for c in each)]
    wide = max(map(len, results), default=0)
    say(f"{'violated/played':{wide}}  {_row(families)}")
    for name, caught in results.items():
        say(f"{name:{wide}}  {_row(_cell(family, caught) for family in families)}")
        for each in caught if detailed else ():
            for line, found in each.violated:
                say(f"    {line}\n        {found}")


def _cell(family: str, caught: Iterable[Catch]) -> str:
    ours = [each for each in caught if each.hunt.family == family]
    return f"{sum(len(c.violated) for c in ours)}/{sum(len(c.played) for c in ours)}" if ours else "."


def _row(cells: Iterable[str]) -> str:
    return " ".join(f"{cell:>11}" for cell in cells)


if __name__ == "__main__":
    sys.exit(main())
