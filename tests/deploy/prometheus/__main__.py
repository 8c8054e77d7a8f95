"""``python -m tests.deploy.prometheus`` runs the cases through promtool and prints which situation fires which alert.

The seconds are those of the rule: from the scrape that shows the situation to the evaluation that fires. Up to one
scrape (5 s), one evaluation (5 s) and group_wait (5 s) are to be added, and before them the time in which musterd sees
the situation.
"""

import sys
import tempfile
from pathlib import Path

from tests.deploy.prometheus import promtool
from tests.deploy.prometheus.binaries import Unavailable
from tests.deploy.prometheus.cases import CASES


def main() -> int:
    """0 if every case holds."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            complaint = promtool.run(CASES, Path(folder))
        except Unavailable as reason:
            sys.stderr.write(f"{reason}\n")
            return 3
    if complaint:
        sys.stderr.write(complaint)
        return 1
    sys.stdout.write("| alert | situation | seconds |\n|---|---|---|\n")
    for case in CASES:
        fires = "never" if case.fires_after is None else str(case.fires_after) if case.at_once else "fires on"
        sys.stdout.write(f"| {case.alert} | {case.situation} | {fires} |\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
