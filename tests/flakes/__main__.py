"""``python -m tests.flakes``: play each test that flaked too often ten times, and print how often it passed.

``python -m tests.flakes play -- PYTEST ARGUMENTS`` plays tests, and once more, alone, those that failed. Exit status: 0
if nothing blocks, 1 if something does or pytest could not run.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.flakes import record
from tests.flakes.play import ONCE_VARIABLE, play
from tests.outcomes.outcome import environment

TIMES = 10
REAL = {"tests/real/": "tests.real", "tests/real_node/": "tests.real_node"}
"""The module that plays the tests of a folder; pytest itself plays the others."""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.flakes", description=__doc__)
    parser.add_argument("command", nargs="?", choices=["play"], help="play tests; without it: those that flaked often")
    own, theirs = _split(arguments)
    if parser.parse_args(own).command == "play":
        return 0 if play(_marks(theirs), _pytest, [theirs], say).well else 1
    return _ten_times(record.often(record.load(record.path())))


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Our arguments, and those for pytest."""
    at = list(arguments).index("--") if "--" in arguments else len(arguments)
    return list(arguments[:at]), list(arguments[at + 1 :])


def _marks(arguments: Sequence[str]) -> str:
    """The value of pytest's option ``-m``, by which runs are distinguished."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("-m", default="")
    return str(parser.parse_known_args(list(arguments))[0].m)


def _pytest(arguments: Sequence[str], folder: Path) -> int:
    command = [sys.executable, "-m", "pytest", "--rootdir=.", *arguments]
    return subprocess.run(command, env=environment(folder), check=False).returncode


def _ten_times(tests: dict[str, int]) -> int:
    """Play each of the tests ten times; 1 if one did not pass each time."""
    if not tests:
        say(f"no test flaked {record.OFTEN} times in the last {record.RUNS} runs")
    passed = {test: sum(_passes(test) for _ in range(TIMES)) for test in tests}
    for test, times in passed.items():
        say(f"passed {times} of {TIMES} times: {test}")
    return 0 if all(times == TIMES for times in passed.values()) else 1


def _passes(test: str) -> bool:
    module = next((module for folder, module in REAL.items() if test.startswith(folder)), "pytest")
    command = [sys.executable, "-m", module, test]
    return subprocess.run(command, env={**os.environ, ONCE_VARIABLE: "1"}, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
