"""Fails when tests would not notice mistakes in the pure room: ``python tests/mutant_floor.py MUTMUT-STATS.json``.

The file is what ``mutmut export-cicd-stats`` writes. Every mutant that survives is explained in
``docs/surviving-mutants.md``.
"""

import json
import sys
from pathlib import Path

CEILING = 5.0
"""Per cent of the mutants of ``muster/state/``."""

NOTICED = ("killed", "timeout", "segfault")
"""A test failed, or would never have ended, or the interpreter died of it."""


def surviving(stats: dict[str, int]) -> float:
    """Per cent of the mutants that no test notices. Those that no test reaches count, and so do those that a run which
    was cut short has not come to."""
    return 100.0 * (stats["total"] - sum(stats[each] for each in NOTICED)) / stats["total"]


def main() -> int:
    """Print the figure; 1 if it is above the ceiling."""
    stats = json.loads(Path(sys.argv[1]).read_text())
    share = surviving(stats)
    sys.stdout.write(f"muster/state/: {stats['total']} mutants, {share:.1f} % survive (ceiling {CEILING:.0f} %)\n")
    return 0 if share <= CEILING else 1


if __name__ == "__main__":
    sys.exit(main())
