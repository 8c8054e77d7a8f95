"""Fails when tests would not notice mistakes in the pure room: ``python tests/mutant_floor.py MUTMUT-STATS.json``.

The file is what ``mutmut export-cicd-stats`` writes. Mutants that survive and do not matter are in ``EXPLAINED``.
``.venv/bin/mutmut show NAME`` shows one, and ``.venv/bin/mutmut run 'muster.state.policies.deadline*'`` plays those of
some modules. Enumerations, fields and defaults of classes, properties and ``muster/kinds`` are not mutated.
"""

import json
import sys
from pathlib import Path

CEILING = 5.0
"""Per cent of the mutants of ``muster/state/``."""

NOTICED = ("killed", "timeout", "segfault")
"""A test failed, or would never have ended, or the interpreter died of it."""

EXPLAINED = (
    (
        "decide/machine.py",
        "_first",
        "generation=None",
        "the summary sets the generation in the same step, or the object is being deleted and nothing is written",
    ),
    (
        "decide/observe.py",
        "advance",
        "seen.record.resume_at or 1.0",
        "for a record without the time any second after 1970 will do",
    ),
    (
        "summary/history.py",
        "append",
        "len(lengthened) < STORY_LINES",
        "with exactly so many lines the first and the last of them are all of them",
    ),
    (
        "view/tally.py",
        "remove",
        "held.pop(pod.uid) without default",
        "what is removed is what was added (the view's contract), so it is there",
    ),
    ("policies/restart.py", "first_cause", 'float("INF")', "the same number"),
    ("policies/barrier.py", "sweep", 'kept = "XXXX" without a cause', 'a uid that no pod has, like ""'),
)
"""File below ``muster/state``, function, mutation, and why it does not matter."""


def surviving(stats: dict[str, int]) -> float:
    """Per cent of the mutants that no test notices. Those that no test reaches count, and so do those that a run which
    was cut short has not come to."""
    return 100.0 * (stats["total"] - sum(stats[each] for each in NOTICED)) / stats["total"]


def main() -> int:
    """Print the figure; 1 if it is above the ceiling."""
    stats = json.loads(Path(sys.argv[1]).read_text())
    share = surviving(stats)
    for file, function, mutation, why in EXPLAINED:
        sys.stdout.write(f"explained: {file} {function}: {mutation}: {why}\n")
    sys.stdout.write(f"muster/state/: {stats['total']} mutants, {share:.1f} % survive (ceiling {CEILING:.0f} %)\n")
    return 0 if share <= CEILING else 1


if __name__ == "__main__":
    sys.exit(main())
