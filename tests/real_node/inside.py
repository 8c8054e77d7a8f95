"""The run inside its namespaces: make the ground, play the situations, print the table. Started by `__main__`."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console

from muster.local import tether
from tests.real import rows
from tests.real.ground import ROOT
from tests.real_node.ground import ground
from tests.real_node.images.build import Images
from tests.real_node.programs import Programs

WORKERS = 8
"""Situations at the same time: most of them wait for clocks."""
NOTHING_COLLECTED = 5
SECONDS_VARIABLE = "MUSTER_REAL_SECONDS"
SECONDS = 2400.0
"""For all situations. Each of them has a limit of its own, too."""


def say(line: str) -> None:
    print(line, flush=True)


def main(folder: Path, arguments: list[str]) -> int:
    console = Console(width=None if sys.stdout.isatty() else 180)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the first process of a namespace ignores it otherwise
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    began = time.monotonic()
    made = json.loads((folder / "made.json").read_text(encoding="utf-8"))
    with ground(folder, Programs(**made["programs"]), Images(**made["images"]), say) as (built, supervisor):
        if arguments[:1] == ["--"]:  # a shell on it, or any other command
            return subprocess.call(arguments[1:], env={**os.environ, "KUBECONFIG": built.admin})
        limit = time.monotonic() + float(os.environ.get(SECONDS_VARIABLE) or SECONDS)
        statuses = [
            tests("not alone", ("-n", str(WORKERS), "--maxschedchunk=1"), arguments, limit),
            tests("alone", (), arguments, limit),
        ]
        found = rows.load(Path(built.rows))
        rows.show(found, console)
        for text in supervisor.unexpected:
            say(text)
        bad = [row for row in found if row["verdict"] == "FAILED"]
        say(f"{len(found)} situations, {len(bad)} not as they should be, {time.monotonic() - began:.0f} s")
        ended_well = not supervisor.unexpected and all(status in (0, NOTHING_COLLECTED) for status in statuses)
        return 0 if ended_well and found else 1


def tests(marks: str, options: tuple[str, ...], arguments: list[str], limit: float) -> int:
    """Run the situations with, or without, the mark `alone`; at the limit they are killed."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-m", marks, *options, *arguments]
    where = [] if any(each.startswith("tests/real_node/") for each in arguments) else ["tests/real_node"]
    process = subprocess.Popen(tether.command([*command, *where]), cwd=ROOT, start_new_session=True)
    try:
        return process.wait(max(1.0, limit - time.monotonic()))
    except subprocess.TimeoutExpired:
        say(f"the situations did not end in the time they have ({SECONDS_VARIABLE} sets it)")
        return 2
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
