"""``python -m tests.skips FOLDER``: list what was skipped by the runs that wrote their outcomes into the folder.

Exit status 1 if a skip is not expected on this machine: see ``tests.skips.expected``.
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.outcomes.outcome import SKIPPED, Outcome, read
from tests.skips.expected import Machine, expected, this_machine


def main(folder: Path) -> int:
    skipped = read(folder).of(SKIPPED)
    wrong = unexpected(skipped, this_machine())
    for line in lines(skipped, {each.why for each in wrong}):
        sys.stdout.write(f"{line}\n")
    return 1 if wrong else 0


def unexpected(skipped: Iterable[Outcome], machine: Machine) -> list[Outcome]:
    """The skips that this machine does not account for."""
    return [each for each in skipped if not expected(each.why, machine)]


def lines(skipped: list[Outcome], wrong: set[str]) -> Iterator[str]:
    """How many were skipped for each reason; of an unexpected one also a test."""
    yield f"skipped: {len(skipped)} tests"
    for reason in sorted({each.why for each in skipped}):
        tests = [each.test for each in skipped if each.why == reason]
        first = " ".join(reason.split())[:200]
        yield f"  {len(tests)}: {first}"
        if reason in wrong:
            yield f"    NOT EXPECTED on this machine, first {tests[0]}: have what it names, or add a row to expected.py"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
