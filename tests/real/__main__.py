"""``python -m tests.real [--idle only|without] [pytest arguments]``: make the ground, run the tests on it, print the
table and the rights.

Exit status: 0 if every row is as it should be, 1 if one is not or KUBECONFIG names a cluster that cannot be used, 3
without Go or its modules (and without a KUBECONFIG).
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console

from muster.local import tether
from tests.real import rights, rows
from tests.real.binaries import CANNOT_BUILD, CannotBuild
from tests.real.given import NotUsable
from tests.real.ground import ROOT, SYSTEM, Ground, ground
from tests.real.stopping import REVOKED

WORKERS = 6
"""Situations at the same time: most of them wait for clocks."""
NOTHING_COLLECTED = 5
INTERRUPTED = 2
UNFIT = 1
ALONE = {"": "alone", "only": "idle", "without": "alone and not idle"}
"""The marks of what is played one by one, by the value of ``--idle``: CI plays ``idle`` when all else has ended."""
SECONDS_VARIABLE = "MUSTER_REAL_SECONDS"
SECONDS = 3600.0
"""For all situations: eight minutes on 2 idle cores. Each of them has a limit of its own, too."""


def say(line: str) -> None:
    print(line, flush=True)


def main(arguments: list[str]) -> int:
    idle, arguments = _chosen(arguments)
    console = Console(width=None if sys.stdout.isatty() else 180)
    began = time.monotonic()
    try:
        with ground(say) as (built, supervisor):
            limit = time.monotonic() + float(os.environ.get(SECONDS_VARIABLE) or SECONDS)
            beside = [] if idle == "only" else [tests("not alone", ("-n", str(WORKERS)), arguments, limit)]
            statuses = [*beside, tests(ALONE[idle], (), arguments, limit)]
            found = rows.load(Path(built.rows))
            rows.show(found, console)
            for text in supervisor.unexpected:
                say(text)
            proper = _rights(built, whole=not arguments and idle != "only")
            bad = [row for row in found if row["verdict"] == "FAILED"]
            ended_well = (
                proper and not supervisor.unexpected and all(status in (0, NOTHING_COLLECTED) for status in statuses)
            )
            say(f"{len(found)} situations, {len(bad)} not as they should be, {time.monotonic() - began:.0f} s")
            return 0 if ended_well and found else 1
    except CannotBuild as missing:
        say(f"make real: {missing}")
        return CANNOT_BUILD
    except NotUsable as unfit:
        say(f"make real: KUBECONFIG cannot be used: {unfit}")
        return UNFIT


def _chosen(arguments: list[str]) -> tuple[str, list[str]]:
    """The value of ``--idle``, and the arguments that are left for pytest."""
    parser = argparse.ArgumentParser(prog="python -m tests.real", add_help=False, allow_abbrev=False)
    parser.add_argument("--idle", choices=[*ALONE], default="")
    chosen, left = parser.parse_known_args(arguments)
    return chosen.idle, left


def _rights(built: Ground, *, whole: bool) -> bool:
    """Print what the audit log says of musterd's rights; True if none was missing and in a whole run all were used."""
    if not built.own:
        say("rights: not measured, the audit log is that of another cluster")
        return True
    file = Path(built.folder) / REVOKED
    revoked = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    measured = rights.measure(Path(built.audit_log), rights.account(SYSTEM, "musterd"), rights.deployed(), revoked)
    for line in rights.lines(measured):
        say(line)
    return not measured.missing and not (whole and measured.unused)


def tests(marks: str, options: tuple[str, ...], arguments: list[str], limit: float) -> int:
    """Run the tests with, or without, the mark `alone`; at the limit they are killed, with all that they started."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-m", marks, *options]
    where = [] if any(each.startswith("tests/real/") for each in arguments) else ["tests/real"]
    whole = tether.command([*command, *arguments, *where])  # it ends when this process does
    process = subprocess.Popen(whole, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, start_new_session=True)
    try:
        return process.wait(max(1.0, limit - time.monotonic()))
    except subprocess.TimeoutExpired:
        say(f"the situations did not end in the time they have ({SECONDS_VARIABLE} sets it)")
        return INTERRUPTED
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
