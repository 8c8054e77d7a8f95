"""Fails when the branches of the pure rooms are not tested: ``python tests/coverage_floor.py COVERAGE.json``."""

import json
import sys
from pathlib import Path

FLOOR = 95.0
"""Per cent of the branches of both rooms together."""
ROOMS = ("muster/state/", "muster/kinds/")


def covered(report: dict[str, dict[str, dict[str, dict[str, int]]]]) -> float:
    """Per cent of the branches of the rooms that some test takes."""
    rooms = [each["summary"] for name, each in report["files"].items() if name.startswith(ROOMS)]
    branches = sum(each["num_branches"] for each in rooms)
    taken = sum(each["covered_branches"] for each in rooms)
    return 100.0 * taken / branches


def main() -> int:
    """Print the figure; 1 if it is below the floor."""
    share = covered(json.loads(Path(sys.argv[1]).read_text()))
    sys.stdout.write(f"{', '.join(ROOMS)}: {share:.2f} % of branches covered (floor {FLOOR:.0f} %)\n")
    return 0 if share >= FLOOR else 1


if __name__ == "__main__":
    sys.exit(main())
